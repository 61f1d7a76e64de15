// What the History shows, as a file: values as CSV, the picture as PNG; it asks nothing.

import { within } from "./columns.js";

const COLUMNS = ["testbed", "workload", "branch", "position", "label", "committed_at", "unit", "mean", "low", "high", "boots"];
// Spreadsheets take a cell that begins so for a formula.
const FORMULA = /^[=+\-@\t\r]/;

const cell = (value) => {
  if (typeof value === "number") return String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** The points of some series from a position to another, null and null: all; RFC 4180. */
export function asCsv(members, from, to) {
  const lines = [COLUMNS];
  for (const { arrays } of members) {
    const [first, end] = from === null ? [0, arrays.positions.length] : within(arrays.positions, from, to);
    for (let i = first; i < end; i += 1) {
      const at = arrays.times[i] ? new Date(1000 * arrays.times[i]).toISOString() : "";
      lines.push([arrays.testbed, arrays.workload, arrays.branch, arrays.positions[i], arrays.labels[i], at, arrays.unit,
        arrays.means[i], arrays.lows[i], arrays.highs[i], arrays.counts[i]]);
    }
  }
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

const [TITLE, MARGIN] = [26, 12];

/** The charts below each other, each under its title; `charts` are { canvas, title }. */
export function asPicture(charts, ratio, colour) {
  const picture = document.createElement("canvas");
  picture.width = Math.max(...charts.map(({ canvas }) => canvas.width)) + 2 * MARGIN * ratio;
  picture.height = charts.reduce((sum, { canvas }) => sum + canvas.height + (TITLE + MARGIN) * ratio, MARGIN * ratio);
  const ctx = picture.getContext("2d");
  ctx.fillStyle = colour("back");
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.font = `600 ${Math.round(14 * ratio)}px system-ui, sans-serif`;
  ctx.fillStyle = colour("text");
  ctx.textBaseline = "middle";
  let top = MARGIN * ratio;
  for (const { canvas, title } of charts) {
    ctx.fillText(title, MARGIN * ratio, top + (TITLE * ratio) / 2, picture.width - 2 * MARGIN * ratio);
    ctx.drawImage(canvas, MARGIN * ratio, top + TITLE * ratio);
    top += canvas.height + (TITLE + MARGIN) * ratio;
  }
  return picture;
}

/** Give the reader a file. */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
