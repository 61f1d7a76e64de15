// A testbed's control chart, and the quarantine that it led to; it polls nothing.

import { act, isLoggedIn } from "./api.js";
import { ticks } from "./columns.js";
import { Plot, useZoom } from "./plot.js";
import { change, count, duration, h, moment, quantity, State } from "./ui.js";

const { useState } = window.React;

const LEFT = 64;
const TOP = 8;
const BOTTOM = 22;
const HEIGHT = 150;
const LABEL_PX = 120;

function Axes({ points, scale, y, most }) {
  const wanted = Math.max(Math.floor((scale.right - scale.left) / LABEL_PX), 2);
  const named = ticks(scale.from, scale.to, wanted).filter(Number.isInteger);
  return h("g", { className: "axes" },
    ticks(-most, most, 4).map((tick) => h("g", { key: tick },
      h("line", { x1: scale.left, x2: scale.right, y1: y(tick), y2: y(tick) }),
      h("text", { x: LEFT - 8, y: y(tick) + 4, textAnchor: "end" }, change(tick)))),
    named.map((n) => [n, scale.x(n)]).filter(([, x]) => x <= scale.right - 40)
      .map(([n, x]) => h("text", { key: n, x, y: HEIGHT - 5, textAnchor: n === 0 ? "start" : "middle" },
        moment(points[n].at).slice(0, 10))));
}

/** The line of averages, which begins anew after rounds that were out of control. */
function averages(known, scale, y) {
  const good = (point) => point && !point.bad;
  return known.map((p, i) => (good(p) ? `${good(known[i - 1]) ? "L" : "M"}${scale.x(p.n)} ${y(p.average)}` : "")).join("");
}

function Drawing({ points, limit, scale, at }) {
  const inside = points.map((point, n) => ({ ...point, n }))
    .filter(({ n }) => n >= scale.from && n <= scale.to);
  const most = 1.15 * Math.max(limit, ...inside.map((p) => Math.max(Math.abs(p.deviation ?? 0), p.limit)));
  const y = (off) => TOP + ((most - off) / (2 * most)) * (HEIGHT - TOP - BOTTOM);
  const known = inside.filter((point) => point.deviation !== null);
  const edge = (sign, row) => row.map((p) => `${scale.x(p.n)} ${y(sign * p.limit)}`);
  return h("g", null,
    known.length > 1 && h("path", {
      className: "band", d: `M${[...edge(1, known), ...edge(-1, [...known].reverse())].join("L")}Z`,
    }),
    h(Axes, { points, scale, y, most }),
    h("line", { className: "level", x1: scale.left, x2: scale.right, y1: y(0), y2: y(0) }),
    h("path", { className: "average", d: averages(known, scale, y) }),
    inside.map((p) => {
      const [x, top] = [scale.x(p.n), y(p.deviation ?? 0)];
      if (p.deviation === null) return h("path", { key: p.n, className: "silent", d: `M${x - 4} ${top - 4}l8 8m0 -8l-8 8` });
      return p.bad ? h("path", { key: p.n, className: "round bad", d: `M${x} ${top - 6}l6 6l-6 6l-6 -6z` })
        : h("circle", { key: p.n, className: "round", cx: x, cy: top, r: 3.5 });
    }),
    at !== null && h("g", { className: "cursor" },
      h("line", { x1: scale.x(at), x2: scale.x(at), y1: TOP, y2: HEIGHT - BOTTOM }),
      h("circle", { cx: scale.x(at), cy: y(points[at].deviation ?? 0), r: 7 })));
}

function pointText({ points, unit }, at) {
  if (at === null) return "";
  const { at: when, values, deviation, failure } = points[at];
  const said = failure || `${change(deviation)}: ${values.map((value) => quantity(value, "")).join(" ")} ${unit}`;
  return `${moment(when)}: ${said}${points[at].bad ? " (out of control)" : ""}`;
}

function Chart({ chart, label }) {
  const [at, setAt] = useState(null);
  const last = chart.points.length - 1;
  const zoom = useZoom(0, Math.max(last, 1));
  const shown = at !== null && at <= last ? at : null;
  const near = (value) => Math.min(Math.max(Math.round(value), 0), last);
  return h("div", { className: "control" },
    h(Plot, {
      label, height: HEIGHT, left: LEFT, zoom, at: shown,
      move: (value) => setAt(value === null ? null : near(value)),
      next: (value, sign) => near(sign < 0 ? Math.ceil(value) - 1 : Math.floor(value) + 1),
      says: pointText(chart, shown),
      draw: (scale) => h(Drawing, { points: chart.points, limit: chart.average_limit, scale, at: shown }),
    }),
    h("p", { className: "readout" }, shown === null
      ? h("span", { className: "faint" }, "Each dot is a round of the control image. The line is their moving average. A good round lies within the band.")
      : pointText(chart, shown)));
}

/** How well a testbed is by its control image. */
export function Control({ testbed }) {
  const { control } = testbed;
  const facts = [
    ["control image", h("span", null, h("b", null, control.label), ` ${control.workload} `, h(State, { state: control.state }))],
    ["level", control.reference === null ? "not known yet" : quantity(control.reference, control.unit)],
    ["last good round", control.last_good_at ? moment(control.last_good_at) : "none yet"],
    ["measured", `every ${duration(control.every_s)}`],
    control.trouble && ["trouble", control.trouble],
  ].filter(Boolean);
  return h("div", null,
    h("dl", { className: "facts" }, facts.map(([name, words]) =>
      h("div", { key: name }, h("dt", null, name), h("dd", null, words)))),
    control.points.length > 0 && h(Chart, { chart: control, label: `Control chart of ${testbed.testbed}` }));
}

/** What is held and why, and the two ways in which a person ends it; each takes two presses. */
export function Quarantine({ testbed, again }) {
  const [asked, setAsked] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const { reason, begun_at: begun, since, iterations, images } = testbed.quarantine;
  const may = isLoggedIn();
  const release = (falseAlarm) => act(`testbeds/${encodeURIComponent(testbed.testbed)}`, "release",
    { false_alarm: falseAlarm }).then(again, setTrouble);
  const button = (words, really, falseAlarm, title) => h("button", {
    type: "button", disabled: !may, title: may ? title : "Log in first, top right.",
    onClick: () => (asked === falseAlarm ? release(falseAlarm) : setAsked(falseAlarm)),
  }, asked === falseAlarm ? really : words);
  return h("div", { className: "quarantine" },
    h("p", null, h(State, { state: "quarantined" }), ` since ${moment(begun)}: ${reason}.`),
    h("p", { className: "faint" },
      `${count(iterations, "iteration")} of ${count(images, "image")} since ${moment(since)} are in doubt. They are not used. `,
      "Until it ends, the testbed measures its control image only. Two good rounds in a row end it."),
    h("p", null,
      button("Release", "Really release it", false, "The fault is fixed. The measurements in doubt stay unused."),
      button("False alarm", "Really a false alarm", true, "Nothing was wrong. The measurements in doubt count."),
      trouble && h("span", { role: "alert", className: "trouble" }, " ", trouble.message)));
}
