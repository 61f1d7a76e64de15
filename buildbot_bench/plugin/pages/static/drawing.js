// What a chart has besides its axes, on uPlot's canvas: points, bands, changes, chosen points.
//
// All places are pixels of the canvas: a screen may have several for each of a page's.

import { placed } from "./annotations.js";

export const LANE = 17; // height of a row of names, in the page's pixels
export const DIAMOND = 6;
const FONT = "600 12px system-ui, sans-serif";
// From so many columns a pixel on, points lie beside each other.
const DENSE = 0.25;
const SHAPES = [
  (path, x, y, r) => { path.moveTo(x + r, y); path.arc(x, y, r, 0, 2 * Math.PI); },
  (path, x, y, r) => path.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
  (path, x, y, r) => { path.moveTo(x, y - 1.2 * r); path.lineTo(x + 1.1 * r, y + 0.8 * r); path.lineTo(x - 1.1 * r, y + 0.8 * r); path.closePath(); },
  (path, x, y, r) => { path.moveTo(x, y - 1.3 * r); path.lineTo(x + 1.3 * r, y); path.lineTo(x, y + 1.3 * r); path.lineTo(x - 1.3 * r, y); path.closePath(); },
];
const NAMES = "●■▲◆";

/** The sign of a series in a legend: the shape that its points have. */
export const signOf = (place) => NAMES[place % SHAPES.length];

/** The colours of the style sheet, as they are now. */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

/** Pixels of a canvas for each of the page's. */
export const pixelRatio = () => window.devicePixelRatio || 1;

const isDense = (u, found) => found.length > DENSE * (u.bbox.width / pixelRatio());

/** The lowest to highest boot of each column, as a path: beside each other they are a band. */
export function ranges(u, found, positions, thin) {
  const path = new Path2D();
  const ratio = pixelRatio();
  const half = (isDense(u, found) ? 0.55 : thin ? 0.75 : 1.5) * ratio;
  for (const { at, low, high } of found) {
    const x = u.valToPos(positions[at], "x", true);
    const top = u.valToPos(high, "y", true);
    path.rect(x - half, top, 2 * half, Math.max(u.valToPos(low, "y", true) - top, ratio));
  }
  return path;
}

/** The level in the middle of each column. */
export function levels(u, found, { positions, means }, place) {
  const path = new Path2D();
  const radius = (isDense(u, found) ? 1.25 : 3.5) * pixelRatio();
  for (const { at } of found) {
    SHAPES[place % SHAPES.length](path, u.valToPos(positions[at], "x", true), u.valToPos(means[at], "y", true), radius);
  }
  return path;
}

function clipped(u, draw) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx, bbox);
  ctx.restore();
}

/** The noise bands of levels that are settled, behind everything. */
export function bands(u, members, colour) {
  clipped(u, (ctx) => {
    ctx.fillStyle = colour("noise");
    for (const { arrays } of members) {
      for (const { first, last, low, high } of arrays.bands) {
        const [left, top] = [u.valToPos(first, "x", true), u.valToPos(high, "y", true)];
        ctx.fillRect(left, top, Math.max(u.valToPos(last, "x", true) - left, 1), u.valToPos(low, "y", true) - top);
      }
    }
  });
}

function upright(u, position, style, dash, top = u.bbox.top) {
  const { ctx, bbox } = u;
  const x = u.valToPos(position, "x", true);
  ctx.strokeStyle = style;
  ctx.lineWidth = 1.5 * pixelRatio();
  ctx.setLineDash(dash.map((one) => one * pixelRatio()));
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
  return x;
}

const isSeen = (u, position) => position >= u.scales.x.min && position <= u.scales.x.max;

/** Where the lab itself changed: samples before and after are not compared. */
export function epochs(u, members, colour) {
  u.ctx.save();
  for (const epoch of new Set(members.flatMap(({ arrays }) => arrays.epochs))) {
    if (isSeen(u, epoch)) upright(u, epoch, colour("faint"), [2, 4]);
  }
  u.ctx.restore();
}

/** Words that stay legible on lines. */
function written(ctx, text, x, y, style, back, ratio) {
  ctx.lineJoin = "round";
  ctx.lineWidth = 4 * ratio;
  ctx.strokeStyle = back;
  ctx.strokeText(text, x, y);
  ctx.fillStyle = style;
  ctx.fillText(text, x, y);
}

const scaled = (font, ratio) => font.replace(/\d+px/, (size) => `${Math.round(parseInt(size, 10) * ratio)}px`);

/** Changes of level: culprits as filled diamonds, alarms hollow; says how many have no name. */
export function changes(u, all, lanes, colour) {
  const { ctx, bbox } = u;
  const ratio = pixelRatio();
  const seen = all.filter(({ position }) => isSeen(u, position));
  ctx.save();
  ctx.font = scaled(FONT, ratio);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const seats = placed(seen, {
    x: (position) => u.valToPos(position, "x", true), width: (text) => ctx.measureText(text).width,
    left: 2 * ratio, right: ctx.canvas.width - 2 * ratio, lanes,
  });
  const foot = bbox.top - (DIAMOND + 2) * ratio;
  for (const { position, marks, lane, text } of seats) {
    const style = colour(marks.some((mark) => mark.worse) ? "worse" : "better");
    const top = foot - (DIAMOND + 3 + LANE * (lane + 0.5)) * ratio;
    const x = upright(u, position, style, [4, 3], text ? top - (LANE / 2 - 3) * ratio : foot);
    ctx.lineWidth = 1.5 * ratio;
    const diamond = new Path2D();
    SHAPES[3](diamond, x, foot, (DIAMOND - 1) * ratio);
    ctx.fillStyle = marks.some((mark) => mark.kind === "culprit") ? style : colour("back");
    ctx.fill(diamond);
    ctx.stroke(diamond);
  }
  for (const { marks, lane, text, left } of seats) {
    const y = foot - (DIAMOND + 3 + LANE * (lane + 0.5)) * ratio;
    if (text) written(ctx, text, left, y, colour(marks.some((mark) => mark.worse) ? "worse" : "better"), colour("back"), ratio);
  }
  ctx.restore();
  return seats.filter(({ text }) => text === null).length;
}

/** The points that somebody chose, as lines with a letter each. */
export function chosen(u, positions, colour) {
  const { ctx, bbox } = u;
  const ratio = pixelRatio();
  ctx.save();
  ctx.font = scaled(FONT, ratio);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  positions.forEach((position, i) => {
    if (position === null || !isSeen(u, position)) return;
    const line = upright(u, position, colour("link"), []);
    const beside = [line - 10 * ratio, line + 10 * ratio];
    const room = beside.map((at) => at > bbox.left + 8 * ratio && at < bbox.left + bbox.width - 8 * ratio);
    const x = beside[room[i] ? i : 1 - i];
    const y = bbox.top + bbox.height - 10 * ratio;
    ctx.fillStyle = colour("link");
    ctx.beginPath();
    ctx.arc(x, y, 9 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.fillStyle = colour("back");
    ctx.fillText("AB"[i], x, y);
  });
  ctx.restore();
}

/** What a chart shows and in which unit, above its axis. */
export function heading(u, words, colour) {
  const { ctx } = u;
  const ratio = pixelRatio();
  ctx.save();
  ctx.font = scaled("12px system-ui, sans-serif", ratio);
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  ctx.fillStyle = colour("faint");
  ctx.fillText(words, 2 * ratio, 2 * ratio);
  ctx.restore();
}
