// The words and parts that all pages share; they ask the master nothing.
//
// Whatever comes from a commit is a stranger's text: it goes through React, as text, only.

import { branchQuery, seriesPath, useBranches } from "./api.js";

const { createElement } = window.React;
const { Link } = window.ReactRouterDOM;

export const h = createElement;

const NUMBER = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** 1411000 "pps" → "1.411 Mpps". */
export function quantity(value, unit) {
  const [factor, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return `${NUMBER.format(value / factor)} ${prefix}${unit}`;
}

/** -0.256 → "−25.6 %". */
export function change(fraction) {
  if (fraction === null || fraction === undefined) return "";
  const sign = fraction < 0 ? "−" : "+";
  return `${sign}${Math.abs(100 * fraction).toFixed(1)} %`;
}

export function percent(fraction) {
  const figure = 100 * fraction;
  return `${figure >= 99.5 && figure < 100 ? figure.toFixed(1) : figure.toFixed(0)} %`;
}

/** Seconds since the epoch → the reader's own time. */
export function moment(seconds) {
  if (!seconds) return "";
  const date = new Date(1000 * seconds - 60_000 * new Date(1000 * seconds).getTimezoneOffset());
  return date.toISOString().slice(0, 16).replace("T", " ");
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} d`;
}

export function count(number, word) {
  return `${NUMBER.format(Math.round(number))} ${word}${Math.round(number) === 1 ? "" : "s"}`;
}

/** The frame of every page. */
export function Page({ title, aside, error, children }) {
  return h("main", { className: "bench" },
    h("header", null, h("h1", null, title), h("div", { className: "aside" }, aside)),
    error && h("p", { role: "alert", className: "trouble" }, `${error.message ?? error} (will try again)`),
    children);
}

/**
 * A table; `columns` are [heading, row → cell, className?], `id` names a row. Where it is narrow
 * the style sheet writes a row's cells below each other, which would take it its roles.
 */
export function Table({ caption, columns, rows, id, empty = "Nothing." }) {
  if (rows.length === 0) return h("section", null, h("h2", null, caption), h("p", { className: "faint" }, empty));
  return h("section", null,
    h("h2", null, caption),
    h("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": caption },
      h("table", { role: "table" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(([heading, , kind]) =>
          h("th", { key: heading, scope: "col", role: "columnheader", className: kind }, heading)))),
        h("tbody", { role: "rowgroup" }, rows.map((row) =>
          h("tr", { key: id(row), role: "row" }, columns.map(([heading, cell, kind]) =>
            h("td", { key: heading, role: "cell", className: kind, "data-heading": heading },
              h("span", null, cell(row))))))))));
}

// Shapes as well as colours, for who does not see the colours.
const SHAPES = {
  found: "◆", done: "◆", regression: "▼", improvement: "▲", suspicion: "?", running: "●", measuring: "●",
  inconclusive: "~", failed: "✕", unfit: "✕", untestable: "✕", cancelled: "–", cancelling: "–",
  "not-reproduced": "○", slope: "◢", connected: "●", missing: "✕", paused: "‖",
  better: "▲", worse: "▼", quarantined: "✕", "in control": "●", learning: "…",
};

export function State({ state }) {
  return h("span", { className: `state ${state.replaceAll(/[^a-z-]/g, "")}` },
    h("span", { "aria-hidden": true }, SHAPES[state] ?? "·"), " ", state);
}

/** A revision: its name, and what its commit says. */
export function Revision({ revision }) {
  return h("span", { className: "revision", title: revision.sha },
    h("b", null, revision.label), " ", h("span", { className: "subject" }, revision.subject),
    revision.author && h("span", { className: "faint" }, ` — ${revision.author.replace(/ <.*/, "")}`));
}

/** Links to flame graphs, as pairs of a name and an address; nothing where one has no address. */
export function FlameGraphs({ of }) {
  if (!of?.every(([, address]) => address)) return null;
  return h("p", null, "Flame graphs: ", h(Links, { of }));
}

/** Pairs of a name and an address, beside each other. */
export function Links({ of }) {
  return h("span", null, of.flatMap(([name, address], i) => [
    i > 0 && ", ", h("a", { key: address, href: address }, name)]));
}

/** A commit's own page, where it is held against the one before it. */
export function CommitLink({ revision, children }) {
  return h(Link, { to: `/bench/commits/${encodeURIComponent(revision)}` }, children);
}

export function SearchLink({ id, children }) {
  return h(Link, { to: `/bench/searches/${id}` }, children ?? `search ${id}`);
}

export function ComparisonLink({ id, children }) {
  return h(Link, { to: `/bench/comparisons/${id}` }, children);
}

/** A series; on a farm of several branches it says which one it is of. */
export function SeriesLink({ series }) {
  const several = useBranches().length > 1;
  const on = several && series.branch ? `${series.branch} · ` : "";
  if (!series.testbed) return `${on}all testbeds`; // a build is of no one
  return h(Link, { to: `/bench/history/${seriesPath(series)}${several ? branchQuery(series) : ""}` },
    `${on}${series.testbed} · ${series.workload}`);
}

/** The commit with which an incident ended, or the stretch that it lies in. */
export function ended({ old, new: last }) {
  return last.position - old.position === 1 ? last.label : `(${old.label}, ${last.label}]`;
}
