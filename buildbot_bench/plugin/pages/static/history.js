// History: what each commit did to each testbed and workload.

import { branchesOf, branchQuery, historyPath, seriesPath, usePolled, useSettled } from "./api.js";
import { Chart, pointText } from "./chart.js";
import { Mirror } from "./mirror.js";
import { useZoom, ZoomButtons } from "./plot.js";
import { change, CommitLink, h, SeriesLink, Page, quantity, SearchLink, Table } from "./ui.js";

const { useState } = window.React;
const { Link, useParams, useSearchParams } = window.ReactRouterDOM;

const NEWS_MS = 30_000;

function Readout({ arrays, at }) {
  const path = at === null ? null : `history/${seriesPath(arrays)}/${arrays.positions[at]}${branchQuery(arrays)}`;
  const [commit] = useSettled(path) ?? [];
  return h("p", { className: "readout" },
    at === null ? h("span", { className: "faint" }, "Point at a revision, or walk along with the arrow keys; + and − zoom.")
      : h("b", null, pointText(arrays, at)),
    commit && h("span", null, " ", commit.subject, commit.author && ` — ${commit.author}`, " ",
      commit.contrast && h("span", null, `${change(commit.contrast.difference)} against ${commit.contrast.old.label} `),
      h(CommitLink, { revision: commit.sha }, "ministat"),
      commit.samples?.length > 0 && h("span", { className: "faint" }, " · ",
        commit.samples.map((sample) => sample.values.map((v) => quantity(v, "")).join(" ")).join(" | "))));
}

function Legend() {
  const part = (kind, words) => h("span", null, h("i", { className: kind, "aria-hidden": true }), words);
  return h("p", { className: "legend" },
    part("mean", "mean of a revision"), part("spread", "its lowest to highest iteration"),
    part("noise", "noise band of the level"), part("culprit", "culprit of a search"), part("alarm", "alarm"));
}

function Changes({ arrays }) {
  return h(Table, {
    caption: "Changes", rows: [...arrays.marks].reverse(), id: (mark) => mark.position,
    empty: "No change of level is known.",
    columns: [
      ["revision", (mark) => (mark.sha ? h(CommitLink, { revision: mark.sha }, h("b", null, mark.label)) : h("b", null, mark.label))],
      ["effect", (mark) => change(mark.effect), "number"],
      ["what", (mark) => mark.kind],
      ["search", (mark) => mark.searchid && h(SearchLink, { id: mark.searchid })],
    ],
  });
}

function SeriesChart({ series, alone }) {
  const { data, error } = usePolled(historyPath(series), NEWS_MS);
  const title = h("h2", null, alone ? null : h(SeriesLink, { series }));
  if (error && !data) return h("section", null, title, h("p", { role: "alert" }, error.message));
  if (!data) return h("section", { className: "loading" }, title);
  const [arrays] = data;
  if (arrays.positions.length === 0) return h("section", null, title, h("p", { className: "faint" }, "Nothing was measured yet."));
  return h(Drawn, { arrays, series, alone });
}

function Drawn({ arrays, series, alone }) {
  const [at, setAt] = useState(null);
  const first = arrays.positions[0];
  const zoom = useZoom(first, Math.max(arrays.positions.at(-1), first + 1));
  const shown = at !== null && at < arrays.positions.length ? at : null;
  return h("section", { className: "series", "data-points": arrays.positions.length },
    h("div", { className: "head" },
      h("h2", null, alone ? `${arrays.positions.length} revisions` : h(SeriesLink, { series }),
        series.gone && h("span", { className: "faint" }, ` ${series.gone}`)),
      h(ZoomButtons, { zoom, at: shown === null ? null : arrays.positions[shown] })),
    h(Chart, { series: arrays, height: alone ? 380 : 210, zoom, at: shown, setAt }),
    h(Readout, { arrays, at: shown }),
    alone && h(Changes, { arrays }));
}

/** Which branch is shown; nothing to choose on a farm of one. */
function BranchChoice({ branches, branch, choose }) {
  if (branches.length < 2) return null;
  return h("label", { className: "branch" }, "branch ",
    h("select", { "aria-label": "branch", value: branch, onChange: (event) => choose(event.target.value) },
      branches.map((name) => h("option", { key: name, value: name }, name))));
}

export default function History() {
  const { testbed, workload } = useParams();
  const [asked, ask] = useSearchParams();
  const alone = testbed !== undefined;
  const { data, error } = usePolled("series", 0);
  const branches = branchesOf(data ?? []);
  const named = asked.get("branch");
  const branch = named ?? branches[0];
  const there = (data ?? []).filter((series) => series.branch === branch);
  const known = there.find((series) => series.testbed === testbed && series.workload === workload);
  const allSeries = alone ? [{ testbed, workload, gone: known?.gone, branch: named }] : there;
  const aside = h("span", null,
    h(BranchChoice, { branches, branch, choose: (name) => ask({ branch: name }) }),
    alone && h(Link, { to: `/bench/history${branchQuery({ branch: named })}` }, "all series"), alone && " · ",
    alone && h("a", { href: `api/v2/bench/samples/${seriesPath({ testbed, workload })}/csv${branchQuery({ branch: named })}` }, "CSV"));
  return h(Page, { title: alone ? `${testbed} · ${workload}` : "History", aside, error },
    h(Mirror),
    h(Legend),
    allSeries.map((series) => h(SeriesChart, { key: `${series.branch} ${seriesPath(series)}`, series, alone })));
}
