// What of the History is looked at, kept in the page's address; it asks the master nothing.

const { useMemo } = window.React;
const { useSearchParams } = window.ReactRouterDOM;

/** What commits cost besides, see core/metric.py: `each` is of its own on each testbed. */
export const COSTS = { size: { words: "size" }, build: { words: "build time" }, boot: { words: "boot time", each: true } };

/** A whole number of an address; null where there is none. */
const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

/**
 * The view: `from` and `to` are the positions that a zoom shows, null for all; `first` and
 * `second` those of the chosen points, of the series `of`; `testbeds` and `workloads` what is
 * left out; `overlaid` whether series of a unit share a chart. `change` takes those that are to be
 * otherwise. `cost` names what of a commit's costs is shown in place of its series, null for none,
 * and `value` which of many values of a run.
 */
export function useView() {
  const [asked, ask] = useSearchParams();
  return useMemo(() => {
    const list = (name) => asked.getAll(name);
    const [from, to] = [whole(asked.get("from")), whole(asked.get("to"))];
    const isZoom = from !== null && to !== null && from < to;
    const change = (wanted) => ask((now) => {
      const next = new URLSearchParams(now);
      for (const [name, value] of Object.entries(wanted)) {
        next.delete(name);
        for (const one of [value].flat()) if (one !== null && one !== false) next.append(name, one === true ? "1" : one);
      }
      return next;
    }, { replace: true });
    return {
      branch: asked.get("branch"), cost: Object.hasOwn(COSTS, asked.get("cost")) ? asked.get("cost") : null,
      from: isZoom ? from : null, to: isZoom ? to : null,
      first: whole(asked.get("first")), second: whole(asked.get("second")), of: asked.get("of"),
      without: { testbed: list("without-testbed"), workload: list("without-workload") },
      overlaid: asked.get("overlaid") === "1", value: asked.get("value"),
      change,
    };
  }, [asked, ask]);
}

/** The zoom of a chart over [first, last]: which part is seen, and how to change it. */
export function zoomOf(view, first, last) {
  const least = 2;
  const isOver = view.from !== null && view.from < last && view.to > first;
  const [from, to] = isOver ? [Math.max(view.from, first), Math.min(view.to, last)] : [first, last];
  const all = () => view.change({ from: null, to: null });
  const show = (a, b) => {
    const [low, high] = [Math.max(first, Math.round(Math.min(a, b))), Math.min(last, Math.round(Math.max(a, b)))];
    if (low <= first && high >= last) all();
    else if (high - low >= least) view.change({ from: low, to: high });
  };
  const around = (centre, factor) => {
    const half = Math.max(((to - from) * factor) / 2, 1);
    const [low, high] = [first + half, last - half];
    const middle = Math.min(Math.max(centre ?? (from + to) / 2, low), Math.max(high, low));
    show(middle - half, middle + half);
  };
  /** Move along so far that a place is seen. */
  const reach = (place) => {
    if (place < from) show(place, place + to - from);
    else if (place > to) show(place - (to - from), place);
  };
  return { from, to, show, around, all, reach, zoomed: isOver };
}
