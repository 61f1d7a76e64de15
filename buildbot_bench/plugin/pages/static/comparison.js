// One comparison of two variants: each boot as a dot, the verdict, and ministat's block.

import { act, isLoggedIn, usePolled } from "./api.js";
import { Cancel } from "./cancel.js";
import { change, count, duration, FlameGraphs, h, moment, Page, quantity, State } from "./ui.js";

const { useState } = window.React;
const { useParams } = window.ReactRouterDOM;

const LIVE_MS = 2000;
const [WIDTH, ROW, LEFT, RIGHT] = [760, 34, 60, 20];

/** The boots of both sides on one axis. */
function Dots({ series }) {
  const { old: { values: base }, new: { values: changed } } = series.contrast;
  const { unit } = series.metric;
  const values = [...base, ...changed];
  if (values.length === 0) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const air = (high - low || high || 1) * 0.05;
  const x = (value) => LEFT + ((value - low + air) / (high - low + 2 * air)) * (WIDTH - LEFT - RIGHT);
  const side = (name, of, row) => h("g", { className: `side ${name}` },
    h("text", { x: LEFT - 8, y: row * ROW + 21, textAnchor: "end" }, name),
    h("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: row * ROW + 17, y2: row * ROW + 17 }),
    of.map((value, i) => (name === "base"
      ? h("circle", { key: i, cx: x(value), cy: row * ROW + 17, r: 5 })
      : h("path", { key: i, d: `M${x(value)} ${row * ROW + 11}l6 6l-6 6l-6 -6z` }))));
  const words = (name, of) => `${name} ${of.map((value) => quantity(value, unit)).join(", ") || "none yet"}`;
  return h("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "Boots" }, h("svg", { className: "dots", viewBox: `0 0 ${WIDTH} ${2 * ROW + 20}`, role: "img",
    "aria-label": `${words("base", base)}; ${words("new", changed)}` },
  side("base", base, 0), side("new", changed, 1),
  h("text", { x: x(low), y: 2 * ROW + 14, textAnchor: "start" }, quantity(low, unit)),
  high > low && h("text", { x: x(high), y: 2 * ROW + 14, textAnchor: "end" }, quantity(high, unit))));
}

function SeriesReport({ series }) {
  const graphs = series.flame_graphs;
  const interval = series.low === null ? "" : ` (${change(series.low)} to ${change(series.high)})`;
  return h("section", { className: "series" },
    h("h2", null, `${series.testbed} · ${series.workload}: `, series.verdict,
      series.effect !== null && `, ${change(series.effect)}${interval}`),
    h(Dots, { series }),
    series.contrast.ministat && h("pre", { tabIndex: 0 }, series.contrast.ministat),
    h(FlameGraphs, { of: graphs && [["base", graphs.base], ["new", graphs.new], ["their difference", graphs.difference]] }),
    series.contrast.notes.map((note) => h("p", { key: note, className: "faint" }, note)));
}

/** What the lab told of the boots: in what the variants differ, and all else folded away. */
function SetUp({ setUp }) {
  const table = (facts) => h("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "Facts" },
    h("table", null, h("tbody", null, facts.map((fact) => h("tr", { key: `${fact.name}/${fact.of}` },
      h("th", { scope: "row" }, fact.name), h("td", null, fact.of || "all"), h("td", null, fact.value))))));
  const differing = setUp.facts.filter((fact) => fact.differs);
  const alike = setUp.facts.filter((fact) => !fact.differs);
  if (setUp.facts.length === 0) return null;
  return h("section", { className: "set-up", "aria-label": `Set-up of ${setUp.testbed}` },
    h("h2", null, `Set-up of ${setUp.testbed}: `, differing.length > 0 ? "what differs" : "nothing differs"),
    differing.length > 0 && table(differing),
    alike.length > 0 && h("details", null,
      h("summary", null, `${count(alike.length, "fact")} that the variants share`), table(alike)));
}

/** Patches of somebody who may not have them run without asking. */
function Approval({ comparison, path, again }) {
  const [trouble, setTrouble] = useState(null);
  const may = isLoggedIn();
  const decide = (decision) => h("button", { type: "button", disabled: !may,
    title: may ? "Takes the role approve." : "Log in first, top right.",
    onClick: () => act(path, decision).then(again, setTrouble) }, decision === "approve" ? "Approve" : "Reject");
  return h("section", { "aria-label": "Approval" },
    h("p", null, `${comparison.requester} asks to build and run what follows. `, decide("approve"), " ", decide("reject"),
      trouble && h("span", { role: "alert", className: "trouble" }, " ", trouble.message)),
    comparison.patches.map((patch) => h("section", { key: patch.digest },
      h("h2", null, patch.origin), h("pre", { tabIndex: 0 }, patch.text))));
}

export default function Comparison() {
  const { comparisonid } = useParams();
  const [ended, setEnded] = useState(false);
  const path = `comparisons/${comparisonid}`;
  const { data, error, again } = usePolled(path, ended ? 0 : LIVE_MS);
  const [comparison] = data ?? [];
  if (comparison?.ended_at && !ended) setEnded(true);
  const aside = comparison && h("span", null, h(State, { state: comparison.state }), " ",
    comparison.ended_at ? h("a", { href: `api/v2/bench/${path}` }, "JSON") : h(Cancel, { what: "comparison", path, again }));
  const facts = comparison && [
    ["base", comparison.base, "wide"], ["new", comparison.new, "wide"],
    ["asked by", `${comparison.requester}, ${moment(comparison.created_at)}`],
    ["so far", `${comparison.boots_done} of ${count(comparison.boots, "boot")}`],
    comparison.ended_at ? ["ended", `after ${duration(comparison.ended_at - comparison.created_at)}`] : ["now", comparison.now],
    comparison.ended_at && comparison.now && ["why", comparison.now],
  ].filter(Boolean);
  return h(Page, { title: comparison ? `${comparison.new} against ${comparison.base}` : `Comparison ${comparisonid}`, aside, error },
    facts && h("dl", { className: "facts", "aria-live": "polite" }, facts.map(([name, words, kind]) =>
      h("div", { key: name, className: kind }, h("dt", null, name), h("dd", null, words)))),
    comparison?.patches?.length > 0 && h(Approval, { comparison, path, again }),
    comparison?.report?.series.map((series) => h(SeriesReport, { key: `${series.testbed}/${series.workload}`, series })),
    comparison?.set_ups?.map((setUp) => h(SetUp, { key: setUp.testbed, setUp })));
}
