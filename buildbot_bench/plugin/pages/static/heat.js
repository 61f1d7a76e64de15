// The named values of a workload's runs: a search box, and a map of how far each lies from its median.

import { historyPath, usePolled } from "./api.js";
import { coloursOf } from "./drawing.js";
import { h } from "./ui.js";

const { useEffect, useRef, useState } = window.React;

const SELDOM_MS = 60_000;
const [ROW, WIDTH, FULL] = [4, 1000, 100]; // pixels, and the thousandths of a full colour
const LISTED = 100;

const words = (thousandths) => (thousandths === null ? "no value" : `${thousandths < 0 ? "−" : "+"}${(Math.abs(thousandths) / 10).toFixed(1)} %`);

/** The values whose names hold a text, those first that lie farthest off at the newest commit. */
function fitting(heat, text) {
  const off = (row) => Math.abs(heat.cells[row].at(-1) ?? 0);
  return heat.names.map((_, row) => row).filter((row) => heat.names[row].toLowerCase().includes(text.toLowerCase()))
    .sort((one, other) => off(other) - off(one) || one - other);
}

function paint(canvas, heat, rows) {
  const context = canvas.getContext("2d");
  const style = coloursOf(canvas);
  const width = WIDTH / heat.labels.length;
  context.clearRect(0, 0, canvas.width, canvas.height);
  rows.forEach((row, line) => heat.cells[row].forEach((cell, column) => {
    if (!cell) return;
    context.globalAlpha = Math.min(Math.abs(cell) / FULL, 1);
    context.fillStyle = (cell > 0) === heat.better[row] ? style("better") : style("worse");
    context.fillRect(column * width, line * ROW, Math.ceil(width), ROW);
  }));
}

export function Values({ series, view }) {
  const [text, setText] = useState("");
  const [pointed, point] = useState(null);
  const canvas = useRef(null);
  const { data } = usePolled(historyPath(series, { heat: "1" }), SELDOM_MS);
  const heat = data?.[0];
  const rows = heat ? fitting(heat, text) : [];
  useEffect(() => {
    if (canvas.current && heat) paint(canvas.current, heat, rows);
  }, [heat, text]);
  if (!heat || heat.names.length === 0) return null;
  const choose = (value) => view.change({ value, of: null, first: null, second: null });
  const at = ({ nativeEvent: { offsetX, offsetY }, target }) => [
    rows[Math.floor((offsetY / target.clientHeight) * rows.length)],
    Math.floor((offsetX / target.clientWidth) * heat.labels.length)];
  const told = ([row, column]) => `${heat.names[row]}: ${words(heat.cells[row][column])} at ${heat.labels[column]}`;
  return h("section", { className: "values" },
    h("h2", null, `${heat.names.length} values of a run`),
    h("p", null, h("label", null, "value ", h("input", {
      type: "search", list: "value-names", value: text, placeholder: "a part of its name",
      onChange: (event) => { setText(event.target.value); if (heat.names.includes(event.target.value)) choose(event.target.value); } })),
      h("datalist", { id: "value-names" }, rows.slice(0, LISTED).map((row) => h("option", { key: heat.names[row], value: heat.names[row] }))),
      view.value && h("button", { type: "button", onClick: () => choose(null) }, "all together")),
    h("p", { className: "faint" }, pointed && pointed[0] !== undefined ? told(pointed)
      : `Each line is a value, each column one of the last ${heat.labels.length} revisions measured; full colour is 10 % off its median. Click on a line to see its history.`),
    h("div", { className: "heat", tabIndex: 0 }, h("canvas", {
      ref: canvas, width: WIDTH, height: Math.max(rows.length, 1) * ROW, role: "img",
      "aria-label": `how far ${rows.length} values lie from their medians`,
      onMouseMove: (event) => point(at(event)), onMouseLeave: () => point(null),
      onClick: (event) => { const [row] = at(event); if (row !== undefined) choose(heat.names[row]); } })));
}
