// History: what each commit did to each testbed and workload.

import { branchesOf, branchQuery, historyPath, seriesPath, useAllPolled, usePolled } from "./api.js";
import { choice, Chosen, chosenOf } from "./chosen.js";
import { coloursOf, pixelRatio, signOf } from "./drawing.js";
import { asCsv, asPicture, save } from "./exports.js";
import { filtered, Filters } from "./filters.js";
import { Values } from "./heat.js";
import { Mirror } from "./mirror.js";
import { SaidOf } from "./point.js";
import { SeriesChart } from "./series.js";
import { change, CommitLink, day, h, Page, SearchLink, SeriesLink, Table } from "./ui.js";
import { COSTS, useView } from "./view.js";

const { useRef } = window.React;
const { Link, useParams } = window.ReactRouterDOM;

const NEWS_MS = 30_000;
const SELDOM_MS = 600_000;
const [TALL, LOW] = [{ height: 420, lanes: 3 }, { height: 270, lanes: 2 }];

const HINT = "Point at a revision, or walk along with the arrow keys. Click or press Enter on two of them to bisect or compare. Drag over a chart, or press + and −, to zoom.";

function Legend({ overlaid, cost }) {
  const part = (kind, words) => h("span", null, h("i", { className: kind, "aria-hidden": true }), words);
  return h("p", { className: "legend" },
    cost && "not judged: no alarm is raised by it",
    part("mean", "mean of a revision; where they are denser than pixels, of the revision in the middle"),
    part("spread", "lowest to highest"), !cost && !overlaid && part("noise", "noise band of the level"),
    !cost && part("culprit", "culprit of a search"), !cost && part("alarm", "alarm"), !cost && "✎ what people said of it");
}

function Changes({ arrays }) {
  const at = (mark) => arrays.positions.indexOf(mark.position);
  return h(Table, {
    caption: "Changes", rows: [...arrays.marks].reverse(), id: (mark) => mark.position,
    empty: "No known change of level.",
    columns: [
      ["revision", (mark) => (mark.sha ? h(CommitLink, { revision: mark.sha }, h("b", null, mark.label)) : h("b", null, mark.label))],
      ["date", (mark) => day(arrays.times[at(mark)]), "number"],
      ["effect", (mark) => change(mark.effect), "number"],
      ["what", (mark) => mark.kind],
      ["people said", (mark) => mark.said && h(SaidOf, { mark })],
      ["search", (mark) => mark.searchid && h(SearchLink, { id: mark.searchid })],
    ],
  });
}

/** Whether a series keeps its budget of false alarms. */
function Kept({ of: { testbed, workload, branch } }) {
  const { data } = usePolled("calibration", SELDOM_MS);
  const own = (data?.[0].budgets ?? []).find((one) =>
    one.testbed === testbed && one.workload === workload && one.branch === branch);
  return own?.words ? h("p", { className: own.kept ? "record" : "record trouble" }, own.words) : null;
}

/** Which branch is shown; nothing to choose on a farm of one. */
function BranchChoice({ branches, branch, choose }) {
  if (branches.length < 2) return null;
  return h("label", { className: "branch" }, "branch ",
    h("select", { "aria-label": "branch", value: branch, onChange: (event) => choose(event.target.value) },
      branches.map((name) => h("option", { key: name, value: name }, name))));
}

/** The series by the chart that shows them: each its own, or those of a unit together. */
function grouped(members, overlaid) {
  const groups = new Map();
  for (const member of members) {
    const key = overlaid ? member.arrays.unit : seriesPath(member.series);
    groups.set(key, [...(groups.get(key) ?? []), member]);
  }
  return [...groups];
}

function Names({ members }) {
  return h("span", { className: "names" }, members.map(({ series, place }) =>
    h("span", { key: seriesPath(series) }, h("i", { className: `sign series-${place % 8}`, "aria-hidden": true }, signOf(place)), " ", h(SeriesLink, { series }))));
}

function Waiting({ series, told, alone }) {
  const title = h("h2", null, alone ? null : h(SeriesLink, { series }));
  if (told?.error) return h("section", null, title, h("p", { role: "alert" }, told.error.message));
  if (!told?.data) return h("section", { className: "loading" }, title);
  return h("section", null, title, h("p", { className: "faint" }, "No measurement yet."));
}

/** All charts, by the series that they show; of those that are not there yet their place. */
function Charts({ allSeries, told, members, view, alone, charts, pathOf }) {
  const drawn = new Set(members.map(({ series }) => seriesPath(series)));
  const titleOf = (of) => of.map(({ name }) => name).join(", ");
  const heading = (of) => {
    if (view.cost && !COSTS[view.cost].each) return `${COSTS[view.cost].words} of ${of[0].arrays.positions.length} revisions`;
    if (view.overlaid && of.length > 1) return h(Names, { members: of });
    return alone ? `${of[0].arrays.positions.length} revisions`
      : h("span", null, h(SeriesLink, { series: of[0].series }), of[0].series.gone && h("span", { className: "faint" }, ` ${of[0].series.gone}`));
  };
  const pinsOf = (of) => {
    const chosen = of.find(({ series }) => seriesPath(series) === view.of);
    return chosen ? chosenOf(chosen.arrays, view).map((index) => (index === null ? null : chosen.arrays.positions[index])) : [null, null];
  };
  return h("div", null,
    grouped(members, view.overlaid).map(([key, of]) => h(SeriesChart, {
      key, members: of, view, title: heading(of), pins: pinsOf(of), ...(alone || of.length > 1 ? TALL : LOW),
      choose: ({ series, arrays }, index) => view.change(choice(view, seriesPath(series), arrays.positions[index])),
      keep: (u) => charts.set(key, { u, title: titleOf(of) }),
    })),
    allSeries.filter((series) => !drawn.has(seriesPath(series))).map((series) =>
      h(Waiting, { key: seriesPath(series), series, told: told[pathOf(series)], alone })));
}

export default function History() {
  const { testbed, workload } = useParams();
  const view = useView();
  const charts = useRef(new Map());
  const alone = testbed !== undefined;
  const { data, error } = usePolled("series", 0);
  const branches = branchesOf(data ?? []);
  const branch = view.branch ?? branches[0];
  const there = (data ?? []).filter((series) => series.branch === branch);
  const known = there.find((series) => series.testbed === testbed && series.workload === workload);
  const offered = alone ? [{ testbed, workload, gone: known?.gone, branch: view.branch }] : there;
  const all = alone ? offered : filtered(offered, view);
  // A build is of no testbed: any of a branch's series leads to it.
  const allSeries = view.cost && !COSTS[view.cost].each ? all.slice(0, 1) : all;
  const value = alone && !view.cost ? view.value : null;
  const pathOf = (series) => historyPath(series, { cost: view.cost, value });
  const told = useAllPolled(allSeries.map(pathOf), NEWS_MS);
  const members = allSeries.map((series) => ({
    series, arrays: told[pathOf(series)]?.data?.[0], place: offered.indexOf(series), name: `${series.testbed} · ${series.workload}`,
  })).filter(({ arrays }) => arrays?.positions.length > 0);
  const chosen = members.find(({ series }) => seriesPath(series) === view.of);
  const saveCsv = () => save(new Blob([asCsv(members, view.from, view.to)], { type: "text/csv" }), "history.csv");
  const savePicture = () => {
    const all = [...charts.current.values()].filter(({ u }) => u.root.isConnected);
    if (all.length === 0) return;
    asPicture(all.map(({ u, title }) => ({ canvas: u.ctx.canvas, title })), pixelRatio(), coloursOf(all[0].u.root))
      .toBlob((blob) => save(blob, "history.png"));
  };
  const aside = h("span", null,
    h(BranchChoice, { branches, branch, choose: (name) => view.change({ branch: name, from: null, to: null, of: null, first: null, second: null }) }),
    alone && h(Link, { to: `/bench/history${branchQuery({ branch: view.branch })}` }, "all series"), alone && " · ",
    alone && h("a", { href: `api/v2/bench/samples/${seriesPath({ testbed, workload })}/csv${branchQuery({ branch: view.branch })}` }, "CSV of all values"));
  return h(Page, { title: alone ? [testbed, workload, value].filter(Boolean).join(" · ") : "History", aside, error },
    h(Mirror),
    data && h(Filters, { allSeries: offered, view, saveCsv, savePicture, busy: members.length === 0 }),
    members.length > 0 && h("p", { className: "hint faint" }, HINT),
    h(Charts, { allSeries, told, members, view, alone, charts: charts.current, pathOf }),
    alone && !view.cost && h(Values, { series: allSeries[0], view }),
    chosen && !value && h(Chosen, { arrays: chosen.arrays, view, name: chosen.name }),
    members.length > 0 && h(Legend, { overlaid: view.overlaid && members.length > 1, cost: view.cost }),
    alone && !view.cost && members.length > 0 && h(Kept, { of: { testbed, workload, branch } }),
    alone && !view.cost && members.length > 0 && h(Changes, { arrays: members[0].arrays }));
}
