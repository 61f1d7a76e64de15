// One commit: on each series what it gave against the commit that was measured before it.

import { usePolled } from "./api.js";
import { Marking } from "./marking.js";
import { change, count, h, Page, Revision, SearchLink, SeriesLink, State } from "./ui.js";

const { useParams } = window.ReactRouterDOM;

const NEWS_MS = 30_000;

/** "−9.1 % (−9.8 % to −8.4 %, Student's t at 95 %)". */
function difference({ difference: by, low, high, confidence }) {
  if (by === null) return "";
  return low === null ? change(by) : `${change(by)} (${change(low)} to ${change(high)}, Student's t at ${confidence} %)`;
}

const side = ({ label, values, images }, nouns) => `${label}: ${count(values.length, nouns.iteration)} of ${count(images, "image")}`;

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
    verdict && ["verdict", h(Verdict, { verdict, label, again }), "wide"],
  ].filter(Boolean);
  return h("section", { className: "series" },
    h("h2", null, h(SeriesLink, { series }), series.gone && h("span", { className: "faint" }, ` ${series.gone}`)),
    h("dl", { className: "facts" }, facts.map(([name, words, kind]) =>
      h("div", { key: name, className: kind }, h("dt", null, name), h("dd", null, words)))),
    !contrast && h("p", { className: "faint" }, "This epoch of the lab has no other sample to compare it with."),
    contrast?.ministat && h("pre", { tabIndex: 0 }, contrast.ministat),
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
    commit?.series.length === 0 && h("p", { className: "faint" }, "It was not measured."),
    commit?.series.map((series) => h(OnSeries, { key: `${series.testbed}/${series.workload}`, series, label: commit.label, again })));
}
