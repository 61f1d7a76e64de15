// The words and parts that all pages share; they ask the master nothing.
//
// Whatever comes from a commit is a stranger's text: it goes through React, as text, only.

import { branchQuery, seriesPath, useBranches, useIsLoading } from "./api.js";

const { createElement, useEffect } = window.React;
const { Link } = window.ReactRouterDOM;

export const h = createElement;

const NUMBER = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const FIGURE = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
// Units that are symbols: before words, as in instructions/packet, nobody writes a prefix.
const SYMBOLS = new Set(["", "pps", "bps", "bit/s", "B", "B/s", "Hz"]);

/** The power of ten that a value of a unit is shown in, and what stands before the unit. */
export function prefixOf(value, unit) {
  return (SYMBOLS.has(unit) && PREFIXES.find(([least]) => Math.abs(value) >= least)) || [1, ""];
}

/** 254373.4 → "254,373". */
export const figure = (value) => FIGURE.format(value);

/** 1411000 "pps" → "1.411 Mpps", 12345 "instructions/packet" → "12,345 instructions/packet". */
export function quantity(value, unit) {
  const [factor, prefix] = prefixOf(value, unit);
  return `${SYMBOLS.has(unit) ? NUMBER.format(value / factor) : figure(value)} ${prefix}${unit}`;
}

/** Seconds since the epoch → "2016-12-01" in UTC; nothing for a commit without a date. */
export function day(seconds) {
  return seconds ? new Date(1000 * seconds).toISOString().slice(0, 10) : "";
}

const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A stranger's text on one line: what is not seen, or turns what follows it round, is named. */
export function plain(text, most = 200) {
  const cut = [...String(text).slice(0, 4 * most)].slice(0, most).join("");
  const code = (letter) => `<U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;
  return cut.replaceAll(UNSEEN, (letter) => (letter === "\n" || letter === "\t" ? " " : code(letter)))
    + (cut.length < text.length ? " […]" : "");
}

/** -0.256 → "−25.6 %", with so many decimals. */
export function change(fraction, decimals = 1) {
  if (fraction === null || fraction === undefined) return "";
  const sign = fraction < 0 ? "−" : "+";
  return `${sign}${Math.abs(100 * fraction).toFixed(decimals)} %`;
}

/** A probability as reports state it (core/figures.py): rounded down, and never above 99 %. */
export function percent(probability) {
  const whole = Math.min(99, Math.floor(100 * probability + 1e-9));
  return whole >= 1 ? `${whole} %` : "< 1 %";
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
  return `${Math.round(number).toLocaleString("en")} ${word}${Math.round(number) === 1 ? "" : "s"}`;
}

/** What measurements are called that stand in one column: "boot" unless all are runs. */
export const called = (rows) => {
  const words = new Set(rows.map((row) => row.nouns.iteration));
  return words.size === 1 ? [...words][0] : "boot";
};

/** The frame of every page, which also names the browser's tab. */
export function Page({ title, aside, error, children }) {
  useEffect(() => {
    const before = document.title;
    document.title = `${title} · Bench`;
    return () => { document.title = before; };
  }, [title]);
  const isLoading = useIsLoading();
  return h("main", { className: "bench", "aria-busy": isLoading },
    h("header", null, h("h1", null, title), h("div", { className: "aside" }, aside)),
    error && h("p", { role: "alert", className: "trouble" }, `${error.message ?? error} (will try again)`),
    children,
    isLoading && h("p", { role: "status", className: "faint wait" }, "Loading"),
    h("footer", { className: "faint" }, h("a", { href: "plugins/bench/glossary.html" }, "What the words mean")));
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
