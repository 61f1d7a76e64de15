// One commit: on each series what it gave against the commit that was measured before it.

import { usePolled } from "./api.js";
import { Marking } from "./marking.js";
import { change, count, figure, h, Page, plain, Revision, SearchLink, SeriesLink, State, Table } from "./ui.js";

const { useParams } = window.ReactRouterDOM;

const NEWS_MS = 30_000;
const MOST_VALUES = 50;

/** "−9.1 % (−9.8 % to −8.4 %, Student's t at 95 %)". */
function difference({ difference: by, low, high, confidence }) {
  if (by === null) return "";
  return low === null ? change(by) : `${change(by)} (${change(low)} to ${change(high)}, Student's t at ${confidence} %)`;
}

const side = ({ label, values, images }, nouns) => `${label}: ${count(values.length, nouns.iteration)} of ${count(images, "image")}`;

const exact = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
const mean = ({ values }) => `${figure(values.reduce((sum, value) => sum + value, 0) / values.length)} s`;

/** What it costs besides, which no alarm goes by. */
function Costs({ costs: { old, rows }, label }) {
  if (rows.length === 0) return null;
  const by = ({ old: before, new: after, unit }) => {
    if (before === null || after === null || before === after) return "";
    return `${after < before ? "−" : "+"}${exact(Math.abs(after - before))} ${unit}${before ? ` (${change(after / before - 1, 2)})` : ""}`;
  };
  const value = (of) => (row) => row[of] !== null && `${exact(row[of])} ${row.unit}`;
  return h(Table, { caption: "What it costs", rows, id: (row) => row.name, columns: [
    ["what", (row) => plain(row.name, 60)], old && [old, value("old"), "number"], [label, value("new"), "number"], old && ["difference", by, "number"]].filter(Boolean) });
}

/** Of many values of a run those that differ most; all are in the JSON. */
function Values({ values }) {
  if (values.length === 0) return null;
  return h(Table, { caption: `The ${Math.min(values.length, MOST_VALUES)} of ${count(values.length, "value")} that differ most`,
    rows: values.slice(0, MOST_VALUES), id: (row) => row.name, columns: [
      ["value", (row) => plain(row.name, 100)], ["mean", (row) => `${figure(row.value)} ${row.unit}`, "number"],
      ["difference", (row) => row.difference !== null && change(row.difference), "number"]] });
}

/** What the judge made of it, and what people said of that. */
function Verdict({ verdict, label, again }) {
  return h("span", null, h(State, { state: verdict.state }), " ",
    verdict.effect !== null && `${change(verdict.effect)} (${change(verdict.low)} to ${change(verdict.high)}) `,
    verdict.searchid && h(SearchLink, { id: verdict.searchid }), " ",
    h("span", { className: "faint" }, verdict.reason), " ",
    h(Marking, { of: `the verdict on ${label}`, path: `judgements/${verdict.judgementid}`, mark: verdict.mark, again }));
}

function OnSeries({ series, label, again }) {
  const { contrast, verdict } = series;
  const facts = [
    contrast && ["difference", difference(contrast)],
    contrast && ["predecessor", side(contrast.old, series.nouns)],
    contrast && ["this commit", side(contrast.new, series.nouns)],
    series.boot && ["time to boot", `${mean(series.boot.old)} → ${mean(series.boot.new)}, ${difference(series.boot)}`],
    verdict && ["verdict", h(Verdict, { verdict, label, again }), "wide"],
  ].filter(Boolean);
  return h("section", { className: "series" },
    h("h2", null, h(SeriesLink, { series }), series.gone && h("span", { className: "faint" }, ` ${series.gone}`)),
    h("dl", { className: "facts" }, facts.map(([name, words, kind]) =>
      h("div", { key: name, className: kind }, h("dt", null, name), h("dd", null, words)))),
    !contrast && h("p", { className: "faint" }, "This epoch of the lab has no other sample to compare it with."),
    contrast?.ministat && h("pre", { tabIndex: 0 }, contrast.ministat),
    h(Values, { values: series.values }),
    series.marked.map((line) => h("p", { key: line }, line)),
    contrast?.notes.map((note) => h("p", { key: note, className: "faint" }, note)));
}

export default function Commit() {
  const { revision } = useParams();
  const path = `commits/${encodeURIComponent(revision)}`;
  const { data, error, again } = usePolled(path, NEWS_MS);
  const [commit] = data ?? [];
  const aside = commit && h("a", { href: `api/v2/bench/${path}` }, "JSON");
  return h(Page, { title: commit ? commit.label : revision, aside, error },
    commit && h("p", null, h(Revision, { revision: commit }), " ", h("code", { className: "faint" }, commit.sha)),
    commit?.warnings.map((line) => h("p", { key: line, className: "trouble" }, line)),
    commit?.failure && h("p", { className: "trouble" }, commit.failure),
    commit && h(Costs, { costs: commit.costs, label: commit.label }),
    commit?.series.length === 0 && h("p", { className: "faint" }, "It was not measured."),
    commit?.series.map((series) => h(OnSeries, { key: `${series.testbed}/${series.workload}`, series, label: commit.label, again })));
}
