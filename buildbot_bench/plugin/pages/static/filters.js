// Which series the History shows and how, and its files; it draws no chart.

import { h } from "./ui.js";
import { COSTS } from "./view.js";

function Toggle({ on, children, ...more }) {
  return h("button", { type: "button", className: "toggle", "aria-pressed": on, ...more }, children);
}

/** A button for each testbed, or each workload, of a farm that has several. */
function Choices({ what, all, view }) {
  if (all.length < 2) return null;
  const without = view.without[what];
  const flip = (name) => {
    const next = without.includes(name) ? without.filter((one) => one !== name) : [...without, name];
    view.change({ [`without-${what}`]: next.length < all.length ? next : [] });
  };
  return h("span", { className: "choices", role: "group", "aria-label": `${what}s` }, h("span", { className: "faint" }, what),
    all.map((name) => h(Toggle, { key: name, on: !without.includes(name), onClick: () => flip(name) }, name)));
}

/** Those of the series that the view does not leave out. */
export function filtered(allSeries, view) {
  const left = allSeries.filter((series) => ["testbed", "workload"].every((what) => !view.without[what].includes(series[what])));
  return left.length > 0 ? left : allSeries;
}

/** Whether the charts show what is measured, or what a commit costs besides. */
function Metrics({ view }) {
  const toggle = (cost, words) => h(Toggle, {
    key: words, on: view.cost === cost, onClick: () => view.change({ cost, of: null, first: null, second: null }) }, words);
  return h("span", { className: "choices", role: "group", "aria-label": "metrics" }, toggle(null, "measured"),
    Object.entries(COSTS).map(([cost, { words }]) => toggle(cost, words)));
}

const names = (allSeries, what) => [...new Set(allSeries.map((series) => series[what]))];

export function Filters({ allSeries, view, saveCsv, savePicture, busy }) {
  const several = allSeries.length > 1;
  return h("div", { className: "filters" },
    several && h(Choices, { what: "testbed", all: names(allSeries, "testbed"), view }),
    several && h(Choices, { what: "workload", all: names(allSeries, "workload"), view }),
    several && h("span", { className: "choices", role: "group", "aria-label": "charts" },
      h(Toggle, { on: !view.overlaid, onClick: () => view.change({ overlaid: null }) }, "one each"),
      h(Toggle, { on: view.overlaid, onClick: () => view.change({ overlaid: true }), title: "Series of one unit share a chart" }, "overlaid")),
    h(Metrics, { view }),
    h("span", { className: "choices", role: "group", "aria-label": "files of what is shown" }, h("span", { className: "faint" }, "save"),
      h("button", { type: "button", disabled: busy, onClick: saveCsv }, "CSV"),
      h("button", { type: "button", disabled: busy, onClick: savePicture }, "PNG")));
}
