// One series over its revisions: level, spread, noise band, changes; it knows no REST path.

import { Marks } from "./marks.js";
import { Plot, ticks } from "./plot.js";
import { count, h, quantity } from "./ui.js";

const { useMemo } = window.React;

const LEFT = 84;
const TOP = 26;
const BOTTOM = 24;
const LABEL_PX = 110;

/** The index of the first position that is not below a value. */
function lowerBound(positions, value) {
  let [low, high] = [0, positions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the point nearest to a place on the axis. */
export function nearest(positions, value) {
  const after = Math.min(lowerBound(positions, value), positions.length - 1);
  const before = Math.max(after - 1, 0);
  return value - positions[before] < positions[after] - value ? before : after;
}

/** Points that would share a column of pixels, as one: thousands are drawn as what can be seen. */
function columns(series, scale) {
  const { positions, means, lows, highs } = series;
  const found = [];
  const end = Math.min(lowerBound(positions, scale.to) + 1, positions.length);
  for (let i = Math.max(lowerBound(positions, scale.from) - 1, 0); i < end; i += 1) {
    const x = Math.round(scale.x(positions[i]));
    const last = found.at(-1);
    if (last?.x === x) {
      last.low = Math.min(last.low, lows[i]);
      last.high = Math.max(last.high, highs[i]);
      last.sum += means[i];
      last.n += 1;
    } else {
      found.push({ x, low: lows[i], high: highs[i], sum: means[i], n: 1 });
    }
  }
  return found;
}

function span(series, seen) {
  const inside = series.bands.filter((band) => band.last >= seen.from && band.first <= seen.to);
  const low = Math.min(...seen.columns.map((c) => c.low), ...inside.map((band) => band.low));
  const high = Math.max(...seen.columns.map((c) => c.high), ...inside.map((band) => band.high));
  const air = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - air, high + air];
}

function Axes({ series, scale, y, low, high, height }) {
  const wanted = Math.max(Math.floor((scale.right - scale.left) / LABEL_PX), 2);
  const named = new Set(ticks(scale.from, scale.to, wanted).map((tick) => nearest(series.positions, tick)));
  return h("g", { className: "axes" },
    ticks(low, high, height > 250 ? 6 : 4).map((tick) => h("g", { key: tick },
      h("line", { x1: scale.left, x2: scale.right, y1: y(tick), y2: y(tick) }),
      h("text", { x: LEFT - 8, y: y(tick) + 4, textAnchor: "end" }, quantity(tick, series.unit)))),
    [...named].map((i) => [i, scale.x(series.positions[i])])
      .filter(([, x]) => x >= scale.left && x <= scale.right)
      .map(([i, x]) => h("text", { key: i, x, y: height - 6, textAnchor: x > scale.right - 30 ? "end" : "middle" }, series.labels[i])));
}

function Points({ seen, y }) {
  const dense = seen.columns.length > (seen.right - seen.left) / 4;
  return h("g", { className: dense ? "points dense" : "points" },
    h("path", { className: "spread", d: seen.columns.map((c) => `M${c.x} ${y(c.low)}V${y(c.high) - 0.1}`).join("") }),
    h("path", { className: "means", d: seen.columns.map((c) => `M${c.x} ${y(c.sum / c.n)}h0`).join("") }));
}

function Drawing({ series, scale, height, at }) {
  const seen = useMemo(() => ({ ...scale, columns: columns(series, scale) }),
    [series, scale.x]);
  const [low, high] = span(series, seen);
  const y = (value) => height - BOTTOM - ((value - low) / (high - low)) * (height - BOTTOM - TOP);
  const clip = (value) => Math.min(Math.max(scale.x(value), scale.left), scale.right);
  return h("g", null,
    series.bands.map((band) => h("rect", {
      key: `${band.first}-${band.last}`, className: "band", x: clip(band.first), y: y(band.high),
      width: Math.max(clip(band.last) - clip(band.first), 1), height: y(band.low) - y(band.high),
    })),
    h(Axes, { series, scale, y, low, high, height }),
    series.epochs.filter((e) => e >= scale.from && e <= scale.to).map((epoch) => h("line", {
      key: epoch, className: "epoch", x1: scale.x(epoch), x2: scale.x(epoch), y1: TOP, y2: height - BOTTOM,
    })),
    h(Points, { seen, y }),
    h(Marks, {
      marks: series.marks.map((mark) => ({ ...mark, at: mark.position })), scale,
      top: TOP, bottom: height - BOTTOM, higherIsBetter: series.higher_is_better,
    }),
    at !== null && h("g", { className: "cursor" },
      h("line", { x1: scale.x(series.positions[at]), x2: scale.x(series.positions[at]), y1: TOP, y2: height - BOTTOM }),
      h("circle", { cx: scale.x(series.positions[at]), cy: y(series.means[at]), r: 5 })));
}

/** What a point says: `r311849: 1.03 Mpps (1.02 Mpps to 1.04 Mpps, 5 iterations)`. */
export function pointText(series, at) {
  if (at === null) return "";
  const [mean, low, high] = [series.means, series.lows, series.highs].map((of) => quantity(of[at], series.unit));
  return `${series.labels[at]}: ${mean} (${low} to ${high}, ${count(series.counts[at], "iteration")})`;
}

/** The whole chart; `at` is an index into the series or null. */
export function Chart({ series, height, zoom, at, setAt }) {
  const { positions } = series;
  return h(Plot, {
    label: `${series.workload} on ${series.testbed} over its revisions`,
    height, left: LEFT, zoom,
    at: at === null ? null : positions[at],
    move: (value) => setAt(value === null ? null : nearest(positions, value)),
    next: (value, sign) => {
      const beside = lowerBound(positions, value) + (sign < 0 ? -1 : positions.includes(value) ? 1 : 0);
      return positions[Math.min(Math.max(beside, 0), positions.length - 1)];
    },
    says: pointText(series, at),
    draw: (scale) => h(Drawing, { series, scale, height, at }),
  });
}
