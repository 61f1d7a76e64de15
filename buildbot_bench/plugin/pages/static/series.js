// One chart with what is pointed at in it, by pointer or keys; it asks for no series.

import { signOf } from "./drawing.js";
import { Canvas, extent } from "./chart.js";
import { lowerBound } from "./columns.js";
import { Point, pointText, useCommit } from "./point.js";
import { count, h } from "./ui.js";
import { zoomOf } from "./view.js";

const { useRef, useState } = window.React;

const NARROW_PX = 620; // from here on words beside a point would hide the chart
const ASIDE_PX = 16;

/** The index of the point beside a place: of two at one place each. */
function beside(positions, index, sign) {
  return Math.min(Math.max(index + sign, 0), positions.length - 1);
}

/** The nearest point of another series to the place of one. */
function across(members, at, sign) {
  const member = (at.member + sign + members.length) % members.length;
  const { positions } = members[member].arrays;
  const place = members[at.member].arrays.positions[at.index];
  return { member, index: Math.min(lowerBound(positions, place), positions.length - 1) };
}

/** What keys do; the keys are those of KeyboardEvent.key. */
function keysOf({ members, at, setAt, zoom, pick }) {
  const now = at ?? { member: 0, index: lowerBound(members[0].arrays.positions, zoom.from) - 1 };
  const { positions } = members[now.member].arrays;
  const go = (index) => {
    setAt({ member: now.member, index });
    zoom.reach(positions[index]);
  };
  const place = at && positions[at.index];
  return {
    ArrowLeft: () => go(beside(positions, at ? at.index : lowerBound(positions, zoom.to) + 1, -1)),
    ArrowRight: () => go(beside(positions, now.index, 1)),
    ...(members.length > 1 && at && {
      ArrowUp: () => setAt(across(members, at, -1)), ArrowDown: () => setAt(across(members, at, 1)) }),
    Home: () => go(beside(positions, lowerBound(positions, zoom.from), 0)),
    End: () => go(beside(positions, lowerBound(positions, zoom.to + 1) - 1, 0)),
    Enter: pick, " ": pick,
    "+": () => zoom.around(place, 0.5), "-": () => zoom.around(place, 2),
    Escape: () => { zoom.all(); setAt(null); },
  };
}

function ZoomButtons({ zoom, place }) {
  const button = (words, act, title, disabled = false) => h("button", { type: "button", onClick: act, title, disabled }, words);
  return h("span", { className: "zoom" },
    button("Zoom in", () => zoom.around(place, 0.5), "or drag over the chart, or press +"),
    button("Zoom out", () => zoom.around(place, 2), "or press −", !zoom.zoomed),
    button("All", zoom.all, "or double-click, or press Escape", !zoom.zoomed));
}

/** A ring round the point, and what it says beside it or, where it is narrow, below the chart. */
function Pointed({ u, members, at }) {
  const { arrays, name } = members[at.member];
  const commit = useCommit(arrays, at.index);
  const title = members.length > 1 && `${signOf(members[at.member].place)} ${name}`;
  const words = h(Point, { arrays, at: at.index, commit, title });
  const [x, y] = [u.valToPos(arrays.positions[at.index], "x"), u.valToPos(arrays.means[at.index], "y")];
  const [left, top] = [x + u.over.offsetLeft, y + u.over.offsetTop];
  const isNarrow = u.width < NARROW_PX;
  const side = left > u.width / 2 ? { right: u.width - left + ASIDE_PX } : { left: left + ASIDE_PX };
  return [
    h("div", { key: "line", className: "cursor-line", style: { left, top: u.over.offsetTop, height: u.over.offsetHeight } }),
    h("div", { key: "ring", className: "cursor-ring", style: { left, top } }),
    h("div", { key: "tip", className: `readout ${isNarrow ? "below" : "tip"}`, style: isNarrow ? {} : { ...side, top: u.over.offsetTop } }, words)];
}

/**
 * Series of one unit. `members` are { arrays, series, name, place }; `view` is the page's;
 * `choose` is told which point was picked; `keep` gets the canvas for an export.
 */
export function SeriesChart({ members, view, title, height, choose, pins, keep, lanes }) {
  const [pointed, setAt] = useState(null);
  const [unnamed, setUnnamed] = useState(0);
  const [, setWidth] = useState(0);
  const chart = useRef(null);
  const [first, last] = extent(members);
  const zoom = zoomOf(view, first, last);
  const there = pointed && pointed.member < members.length && pointed.index < members[pointed.member].arrays.positions.length;
  const at = there ? pointed : null;
  const pick = () => { if (at) choose(members[at.member], at.index); };
  const place = at && members[at.member].arrays.positions[at.index];
  const inside = at && place >= zoom.from && place <= zoom.to;
  const pressed = (event) => {
    const act = keysOf({ members, at, setAt, zoom, pick })[event.key];
    if (!act || event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  const onDrawn = (u, names) => {
    chart.current = u;
    keep(u);
    setWidth(u.width);
    setUnnamed(names);
  };
  return h("section", { className: "series", "data-points": members.reduce((sum, { arrays }) => sum + arrays.positions.length, 0) },
    h("div", { className: "head" }, h("h2", null, title), h(ZoomButtons, { zoom, place })),
    h("div", {
      className: "plot chart", tabIndex: 0, role: "slider", onKeyDown: pressed, onMouseLeave: () => setAt(null),
      "aria-label": `${members.map(({ name }) => name).join(", ")} over revisions`,
      "aria-valuemin": Math.round(zoom.from), "aria-valuemax": Math.round(zoom.to), "aria-valuenow": Math.round(place ?? zoom.from),
      "aria-valuetext": at ? pointText(members[at.member].arrays, at.index) : "no revision",
    },
    h(Canvas, { members, zoom, height, lanes: members.some(({ arrays }) => arrays.marks.length > 0) ? lanes : 0, pins, setAt, pick, onDrawn }),
    inside && chart.current?.over.isConnected && h(Pointed, { u: chart.current, members, at })),
    unnamed > 0 && h("p", { className: "hint faint" }, `Zoom in for the names of ${count(unnamed, "more change")}.`));
}
