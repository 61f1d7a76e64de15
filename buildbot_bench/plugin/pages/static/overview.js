// Overview: what is open, whether the lab is well, what is searched, and what was measured last.

import { usePolled } from "./api.js";
import { Incidents } from "./incidents.js";
import { Mirror } from "./mirror.js";
import { called, CommitLink, count, duration, h, moment, Page, quantity, SearchLink, SeriesLink, State, Table } from "./ui.js";

const { Link } = window.ReactRouterDOM;

const NEWS_MS = 10_000;
const SELDOM_MS = 30_000;
// What is left of a search is worked out at each look: so many searches are asked for it.
const MOST_FORECASTS = 5;
const REASONS = { commit: "each commit", control: "the control image", ab_test: "a comparison" };

function health({ worker, quarantine }) {
  if (quarantine) return "quarantined";
  return worker.paused ? "paused" : worker.connected ? "connected" : "missing";
}

function Health({ testbeds }) {
  return h(Table, {
    caption: "Lab", rows: testbeds, id: (one) => one.testbed, empty: "No testbed is declared.",
    columns: [
      ["testbed", (one) => h(Link, { to: "/bench/lab" }, one.testbed)],
      ["state", (one) => h(State, { state: health(one) })],
      ["failed of late", (one) => (one.recent ? `${one.failed} of ${one.recent}` : ""), "number"],
      [`last ${called(testbeds)}`, (one) => moment(one.last_at), "number"],
      ["trouble", (one) => one.quarantine?.reason ?? (one.failed > 0 ? one.last_failure : "")],
    ],
  });
}

/** What a running search still takes, as its own page says it. */
function Left({ id, nouns }) {
  const { data } = usePolled(`searches/${id}/strip`, SELDOM_MS);
  const left = data?.[0]?.left;
  if (!left) return null;
  return left.over ? `nothing more to ${nouns.iteration}`
    : `about ${count(left.iterations, "iteration")}, ${duration(3600 * left.hours)}`;
}

function Running({ searches, running }) {
  const forecast = new Set(searches.slice(0, MOST_FORECASTS).map((one) => one.searchid));
  return h("div", null,
    h(Table, {
      caption: "Running searches", rows: searches, id: (one) => one.searchid, empty: "No search runs.",
      columns: [
        ["range", (one) => h(SearchLink, { id: one.searchid }, `${one.old.label} to ${one.new.label}`)],
        ["series", (one) => h(SeriesLink, { series: one })],
        ["state", (one) => h(State, { state: one.state })],
        ["so far", (one) => `${count(one.iterations_done, "iteration")}, ${count(one.images_built, "image")}`],
        ["left", (one) => forecast.has(one.searchid) && h(Left, { id: one.searchid, nouns: one.nouns })],
        ["waits for", (one) => one.waits_for],
        ["since", (one) => moment(one.created_at), "number"],
      ],
    }),
    running > searches.length && h("p", { className: "faint" }, `and ${running - searches.length} more`));
}

function Measured({ measured }) {
  return h(Table, {
    caption: "Measured last", rows: measured, id: (one) => one.probeid, empty: "No measurement yet.",
    columns: [
      ["revision", (one) => h(CommitLink, { revision: one.sha }, h("b", null, one.label, one.image > 0 && ` (image ${one.image})`))],
      ["series", (one) => h(SeriesLink, { series: one })],
      ["values", (one) => one.values.map((value) => quantity(value, one.unit)).join(" · ")],
      ["for", (one) => (one.searchid ? h(SearchLink, { id: one.searchid }) : REASONS[one.reason] ?? one.reason)],
      ["at", (one) => moment(one.at), "number"],
    ],
  });
}

export default function Overview() {
  const { data, error, again } = usePolled("overview", NEWS_MS);
  const [farm] = data ?? [];
  return h(Page, { title: farm ? farm.farm : "Overview", error },
    h(Mirror),
    farm && h(Incidents, { caption: "Open regressions", incidents: farm.incidents, again, empty: "None is open." }),
    farm && farm.open > farm.incidents.length && h("p", { className: "faint" },
      `and ${farm.open - farm.incidents.length} older, on `, h(Link, { to: "/bench/reports" }, "Reports")),
    farm && h(Running, { searches: farm.searches, running: farm.running }),
    farm && h(Health, { testbeds: farm.testbeds }),
    farm && h(Measured, { measured: farm.measured }));
}
