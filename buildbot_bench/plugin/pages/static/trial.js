// One comparison of two variants: each boot as a dot, the verdict, and ministat's block.

import { control, isLoggedIn, usePolled } from "./api.js";
import { Cancel } from "./cancel.js";
import { change, count, duration, FlameGraphs, h, moment, Page, quantity, State } from "./ui.js";

const { useState } = window.React;
const { useParams } = window.ReactRouterDOM;

const LIVE_MS = 2000;
const [WIDTH, ROW, LEFT, RIGHT] = [760, 34, 60, 20];

/** The boots of both sides on one axis. */
function Dots({ lane }) {
  const { old: { values: base }, new: { values: changed } } = lane.contrast;
  const { unit } = lane.metric;
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

function Lane({ lane }) {
  const graphs = lane.flame_graphs;
  const interval = lane.low === null ? "" : ` (${change(lane.low)} to ${change(lane.high)})`;
  return h("section", { className: "lane" },
    h("h2", null, `${lane.testbed} · ${lane.workload}: `, lane.verdict,
      lane.effect !== null && `, ${change(lane.effect)}${interval}`),
    h(Dots, { lane }),
    lane.contrast.ministat && h("pre", { tabIndex: 0 }, lane.contrast.ministat),
    h(FlameGraphs, { of: graphs && [["base", graphs.base], ["new", graphs.new], ["their difference", graphs.difference]] }),
    lane.contrast.notes.map((note) => h("p", { key: note, className: "faint" }, note)));
}

/** Patches of somebody who may not have them run without asking. */
function Approval({ trial, path, again }) {
  const [trouble, setTrouble] = useState(null);
  const may = isLoggedIn();
  const decide = (decision) => h("button", { type: "button", disabled: !may,
    title: may ? "Takes the role approve." : "Log in first, top right.",
    onClick: () => control(path, decision).then(again, setTrouble) }, decision === "approve" ? "Approve" : "Reject");
  return h("section", { "aria-label": "Approval" },
    h("p", null, `${trial.requester} asks to build and run what follows. `, decide("approve"), " ", decide("reject"),
      trouble && h("span", { role: "alert", className: "trouble" }, " ", trouble.message)),
    trial.patches.map((patch) => h("section", { key: patch.digest },
      h("h2", null, patch.origin), h("pre", { tabIndex: 0 }, patch.text))));
}

export default function Trial() {
  const { trialid } = useParams();
  const [ended, setEnded] = useState(false);
  const path = `trials/${trialid}`;
  const { data, error, again } = usePolled(path, ended ? 0 : LIVE_MS);
  const [trial] = data ?? [];
  if (trial?.ended_at && !ended) setEnded(true);
  const aside = trial && h("span", null, h(State, { state: trial.state }), " ",
    trial.ended_at ? h("a", { href: `api/v2/bench/${path}` }, "JSON") : h(Cancel, { what: "comparison", path, again }));
  const facts = trial && [
    ["base", trial.base, "wide"], ["new", trial.new, "wide"],
    ["asked by", `${trial.requester}, ${moment(trial.created_at)}`],
    ["so far", `${trial.boots_done} of ${count(trial.boots, "boot")}`],
    trial.ended_at ? ["ended", `after ${duration(trial.ended_at - trial.created_at)}`] : ["now", trial.now],
    trial.ended_at && trial.now && ["why", trial.now],
  ].filter(Boolean);
  return h(Page, { title: trial ? `${trial.new} against ${trial.base}` : `Comparison ${trialid}`, aside, error },
    facts && h("dl", { className: "facts", "aria-live": "polite" }, facts.map(([name, words, kind]) =>
      h("div", { key: name, className: kind }, h("dt", null, name), h("dd", null, words)))),
    trial?.patches?.length > 0 && h(Approval, { trial, path, again }),
    trial?.report?.lanes.map((lane) => h(Lane, { key: `${lane.testbed}/${lane.workload}`, lane })));
}
