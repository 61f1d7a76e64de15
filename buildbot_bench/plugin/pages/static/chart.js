// Series of one unit over their revisions, by uPlot: axes, zoom, cursor; it knows no REST path.

import { changesOf } from "./annotations.js";
import { columns, nearest, ticks, within } from "./columns.js";
import * as drawing from "./drawing.js";
import uPlot, { style } from "./library/chart.js";
import { day, figure, prefixOf, plain } from "./ui.js";

const { useEffect, useLayoutEffect, useRef } = window.React;

const FONT = "12px system-ui, sans-serif";
const LABEL_PX = 100; // room for a revision's name, or a day
const TICK_PX = 30;
const EDGE = 38; // half of a label, which is to stand within the picture
const HEAD = 22; // the unit above the axis
const POINT_PX = 6; // from a point's middle to its edge, and some air
const CLICK_PX = 6; // what moves the pointer less far is no drag
const NAMED = 14; // letters of a revision's name on the axis

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

const measure = document.createElement("canvas").getContext("2d");
const widest = (texts) => {
  measure.font = FONT;
  return Math.max(0, ...texts.map((text) => measure.measureText(text).width));
};

/** The first and the last position of some series; [0, 1] of none. */
export function extent(members) {
  const all = members.filter(({ arrays }) => arrays.positions.length > 0);
  if (all.length === 0) return [0, 1];
  const first = Math.min(...all.map(({ arrays }) => arrays.positions[0]));
  return [first, Math.max(...all.map(({ arrays }) => arrays.positions.at(-1)), first + 1)];
}

/** The lowest and highest value to be seen, with some air. */
function span(members, found, from, to) {
  let [low, high] = [Infinity, -Infinity];
  const seen = (a, b) => { low = Math.min(low, a); high = Math.max(high, b); };
  found.flat().forEach((column) => seen(column.low, column.high));
  for (const { arrays } of members) {
    for (const band of arrays.bands) if (band.last >= from && band.first <= to) seen(band.low, band.high);
  }
  if (low > high) return [0, 1];
  const air = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - air, high + air];
}

/** What is drawn now, and what of it changes with the view. */
class Drawn {
  constructor(box) {
    this.box = box;
    this.state = null;
    this.found = [];
    this.unnamed = 0;
  }

  /** Columns of what is seen; uPlot gets a row for each place, with gaps where a series has none. */
  table() {
    const { members, zoom } = this.state;
    const pixels = this.u ? this.u.bbox.width / drawing.pixelRatio() : this.box.clientWidth - 80;
    this.found = members.map(({ arrays }) => columns(arrays, zoom.from, zoom.to, Math.max(pixels, 1)));
    const tables = members.map(({ arrays }, i) => [
      this.found[i].map(({ at }) => arrays.positions[at]), this.found[i].map(({ high }) => high),
      this.found[i].map(({ at }) => arrays.means[at])]);
    // A revision that two epochs measured has two points at one place: uPlot takes one of them.
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

  /** What the axis spans: the points at its ends are seen whole. */
  wide() {
    const { from, to } = this.state.zoom;
    const air = ((to - from) * POINT_PX) / Math.max(this.box.clientWidth - 90, 100);
    return [from - air, to + air];
  }

  named(from, to) {
    const { arrays } = this.state.members.reduce((a, b) => (b.arrays.positions.length > a.arrays.positions.length ? b : a));
    const [first, end] = within(arrays.positions, from, to);
    if (first === end) return [];
    const most = Math.max(Math.floor((this.box.clientWidth - 90) / LABEL_PX), 1);
    const near = ticks(from, to, most).map((tick) => Math.min(Math.max(nearest(arrays.positions, tick), first), end - 1));
    this.labels = new Map(near.map((i) => [arrays.positions[i], `${plain(arrays.labels[i], NAMED)}\n${day(arrays.times[i])}`]));
    const apart = (LABEL_PX * 0.8 * (to - from)) / Math.max(this.box.clientWidth - 90, 1);
    let last = -Infinity;
    return [...this.labels.keys()].filter((place) => (place - last >= apart ? ((last = place), true) : false));
  }

  options(height) {
    const { members, lanes, colour } = this.state;
    const { unit } = members[0].arrays;
    const scaleOf = (u) => prefixOf(Math.max(Math.abs(u.scales.y.max), Math.abs(u.scales.y.min)), unit);
    const text = (u, values) => values.map((value) => figure(value / scaleOf(u)[0]));
    const axis = { stroke: () => colour("faint"), font: FONT, ticks: { show: false }, grid: { stroke: () => colour("line"), width: 1 } };
    const series = members.flatMap(({ place }, i) => [
      { paths: (u) => ({ fill: drawing.ranges(u, this.found[i], this.state.members[i].arrays.positions, members.length > 1) }),
        fill: () => colour(members.length > 1 ? `series-${place % 8}-faint` : "spread"), width: 0, points: { show: false } },
      { paths: (u) => ({ fill: drawing.levels(u, this.found[i], this.state.members[i].arrays, members.length > 1 ? place : 0) }),
        fill: () => colour(members.length > 1 ? `series-${place % 8}` : "level"), width: 0, points: { show: false } }]);
    return {
      width: this.box.clientWidth, height, series: [{}, ...series], legend: { show: false },
      padding: [HEAD + (lanes ? lanes * drawing.LANE + 2 * drawing.DIAMOND + 4 - (HEAD - 12) : 0), EDGE, 0, 4],
      scales: {
        x: { time: false, range: () => this.wide() },
        y: { range: () => span(this.state.members, this.found, this.state.zoom.from, this.state.zoom.to) },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 44, gap: 4, splits: () => this.named(this.state.zoom.from, this.state.zoom.to),
          values: (u, places) => places.map((place) => this.labels.get(place)) },
        { ...axis, gap: 6, splits: (u, i, low, high) => ticks(low, high, Math.max(Math.floor(u.bbox.height / drawing.pixelRatio() / TICK_PX), 2)),
          values: text, size: (u, values) => Math.ceil(widest(values ?? [])) + 14 },
      ],
      cursor: {
        x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: CLICK_PX },
        bind: { dblclick: () => () => { this.state.zoom.all(); return null; } },
      },
      hooks: {
        // Behind the grid; beside others a series' band would hide theirs.
        drawClear: [(u) => { if (members.length === 1) drawing.bands(u, this.state.members, colour); }],
        drawAxes: [(u) => drawing.epochs(u, this.state.members, colour)],
        draw: [(u) => this.finish(u)],
        setCursor: [(u) => this.moved(u)],
        setSelect: [(u) => this.selected(u)],
      },
    };
  }

  finish(u) {
    const { members, lanes, colour, pins } = this.state;
    const { unit } = members[0].arrays;
    const [, prefix] = prefixOf(Math.max(Math.abs(u.scales.y.max), Math.abs(u.scales.y.min)), unit);
    drawing.heading(u, `${prefix}${unit}`, colour);
    const unnamed = drawing.changes(u, changesOf(members), lanes, colour);
    drawing.chosen(u, pins, colour);
    this.box.dataset.drawn = this.found.reduce((sum, one) => sum + one.length, 0);
    this.box.dataset.unnamed = unnamed;
    this.state.onDrawn(u, unnamed);
  }

  /** The pointer moved: the nearest measured point of the nearest series. */
  moved(u) {
    const { left, top } = u.cursor;
    if (left < 0 || !this.state) {
      if (this.pointed) this.state.setAt(null);
      this.pointed = false;
      return;
    }
    const value = u.posToVal(left, "x");
    const { members } = this.state;
    const near = members.map(({ arrays }, member) => ({ member, index: nearest(arrays.positions, value) }));
    const far = ({ member, index }) => {
      const { arrays } = members[member];
      return Math.hypot(u.valToPos(arrays.positions[index], "x") - left,
        members.length > 1 ? u.valToPos(arrays.means[index], "y") - top : 0);
    };
    this.pointed = true;
    this.state.setAt(near.reduce((a, b) => (far(b) < far(a) ? b : a)));
  }

  selected(u) {
    const { left, width } = u.select;
    if (width <= CLICK_PX) return;
    const [from, to] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.state.zoom.show(from, to);
  }
}

/**
 * The picture. `members` are { arrays, series, place }, of one unit; `pins` the positions of chosen
 * points; `setAt` is told { member, index } of what is pointed at, `pick` that it was clicked.
 */
export function Canvas({ members, zoom, height, lanes, pins, setAt, pick, onDrawn }) {
  const box = useRef(null);
  const kept = useRef(null);
  const state = { members, zoom, lanes, pins, setAt, pick, onDrawn };
  useLayoutEffect(() => {
    const drawn = new Drawn(box.current);
    kept.current = drawn;
    drawn.state = { ...state, colour: drawing.coloursOf(box.current) };
    drawn.u = null;
    const u = new uPlot(drawn.options(height), drawn.table(), box.current);
    drawn.u = u;
    let down = 0;
    u.over.addEventListener("mousedown", (event) => { down = event.clientX; });
    u.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - down) <= CLICK_PX) drawn.state.pick();
    });
    const again = () => { u.setData(drawn.table(), true); };
    const resized = new ResizeObserver(() => {
      if (box.current.clientWidth > 0 && box.current.clientWidth !== u.width) {
        u.setSize({ width: box.current.clientWidth, height });
        again();
      }
    });
    resized.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const coloured = () => u.redraw(true);
    dark.addEventListener("change", coloured);
    drawn.again = again;
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", coloured);
      u.destroy();
    };
  }, [members.length, height, lanes, members.map(({ place }) => place).join()]);
  useEffect(() => {
    const drawn = kept.current;
    drawn.state = { ...state, colour: drawn.state.colour };
  });
  useEffect(() => { kept.current.again(); }, [members, zoom.from, zoom.to, pins.join()]);
  return window.React.createElement("div", { ref: box, className: "canvas" });
}
