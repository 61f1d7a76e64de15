// The two points that somebody chose, and what to do with them: bisect, or compare.

import { act, isLoggedIn } from "./api.js";
import { Point, useCommit } from "./point.js";
import { change, count, h, quantity } from "./ui.js";

const { useState } = window.React;
const { useNavigate } = window.ReactRouterDOM;

// As many boots and images as the form of a comparison proposes.
const [BOOTS, IMAGES] = [5, 16];

/** The chosen points as indices, the older first: null where the series has none there. */
export function chosenOf(arrays, view) {
  const found = [view.first, view.second].map((place) => {
    const index = place === null ? -1 : arrays.positions.indexOf(place);
    return index < 0 ? null : index;
  });
  return found[0] !== null && found[1] !== null && found[0] > found[1] ? found.reverse() : found;
}

/** What a view is after another point was chosen: a third one begins anew. */
export function choice(view, of, place) {
  if (view.of !== of || view.first === null || view.second !== null) return { of, first: place, second: null };
  return view.first === place ? { of: null, first: null, second: null } : { of, second: place };
}

function Difference({ arrays, old, last }) {
  const { means, positions, unit } = arrays;
  return h("p", null, h("b", null, change(means[last] / means[old] - 1)), ` from A to B: ${quantity(means[old], unit)} → ${quantity(means[last], unit)}, `,
    `${count(positions[last] - positions[old], "commit")} apart.`);
}

/** `arrays` is the series that the points are of. */
export function Chosen({ arrays, view, name }) {
  const [told, setTold] = useState(null);
  const navigate = useNavigate();
  const [old, last] = chosenOf(arrays, view);
  const commits = [useCommit(arrays, old), useCommit(arrays, last)];
  const series = { testbed: arrays.testbed, workload: arrays.workload };
  const start = async (path, question, where) => {
    setTold(h("p", { role: "status" }, "Asked for…"));
    try {
      navigate(where(await act(path, "start", question)));
    } catch (error) {
      setTold(h("p", { role: "alert", className: "trouble" }, error.message));
    }
  };
  const shas = commits.map((commit) => commit?.sha);
  const bisect = () => start("searches", { old: shas[0], new: shas[1], ...series }, (a) => `/bench/searches/${a.searchid}`);
  const compare = () => start("comparisons", { variants: shas, testbeds: [series.testbed], workloads: [series.workload], iterations: BOOTS, images: IMAGES },
    (a) => `/bench/comparisons/${a.comparisonid}`);
  if (old === null && last === null) return null;
  const both = old !== null && last !== null;
  const ready = both && shas.every(Boolean) && isLoggedIn();
  const why = isLoggedIn() ? "" : "Log in first, top right.";
  return h("section", { className: "chosen", "aria-label": "Chosen points" },
    h("h2", null, `Chosen on ${name}`),
    h("div", { className: "pair" }, [old, last].map((index, i) => h("div", { key: "AB"[i] },
      h("i", { "aria-hidden": true }, "AB"[i]),
      index === null ? h("p", { className: "faint" }, "Click another point, or press Enter on it.") : h(Point, { arrays, at: index, commit: commits[i] })))),
    both && h(Difference, { arrays, old, last }),
    h("p", { className: "acts" },
      h("button", { type: "button", className: "main", disabled: !ready, title: why, onClick: bisect }, "Bisect A to B"),
      h("button", { type: "button", disabled: !ready, title: why, onClick: compare }, "Compare A and B"),
      h("button", { type: "button", onClick: () => view.change({ of: null, first: null, second: null }) }, "Choose anew"),
      both && !isLoggedIn() && h("span", { className: "faint" }, " Log in (top right) to start one.")),
    told);
}
