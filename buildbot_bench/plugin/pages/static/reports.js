// Reports: searches, comparisons and verdicts with what came of them, and the forms for new ones.

import { usePolled } from "./api.js";
import { Incidents } from "./incidents.js";
import { Marking, Record, Said } from "./marking.js";
import { Mirror } from "./mirror.js";
import { StartForms } from "./start.js";
import { called, change, CommitLink, count, ended, h, SeriesLink, Links, moment, Page, percent, Revision, SearchLink, State, Table, ComparisonLink } from "./ui.js";

const { Link } = window.ReactRouterDOM;

const NEWS_MS = 10_000;

function outcome(search) {
  if (search.culprits.length > 0) {
    return search.culprits.map((culprit) => h("span", { key: culprit.position, className: "step" },
      h("b", null, culprit.label), ` ${change(culprit.effect)} `,
      search.recovery && `(back since ${ended(search.recovery)}) `));
  }
  const { breakage, recovery } = search;
  if (breakage?.ending === "broken") {
    return h("span", null, "does not ", search.kind, " since ", h("b", null, breakage.broken), `: ${breakage.reason}`,
      recovery && ` (works again since ${ended(recovery)})`);
  }
  return search.ended_at ? search.detail : `${count(search.iterations_done, "iteration")} so far`;
}

/** Who was told of it, and how that went. */
function told(search) {
  const notices = search.notices.map(({ kind, target, state }) => `${kind.split("-")[0]} ${target.slice(0, 10)} ${state.replace("-", " ")}`);
  return [search.mail && `mail ${search.mail}`, ...new Set(notices)].filter(Boolean).join(", ");
}

/** What no other site takes until somebody sees to it, each reason once. */
function GivenUp({ searches }) {
  const given = searches.flatMap((search) => search.notices).filter(({ state }) => state === "given-up");
  return [...new Set(given.map(({ error }) => error))].map((error) => h("p", { key: error, role: "status", className: "trouble givenup" },
    `The site did not get it: ${error}. The farm tries again when the master restarts. Check notify in bench.yml and the token.`));
}

/** The mark of a search; an incident's is made in the incident's row, for all its searches. */
function Mark({ search, incidents, again }) {
  if (!search.ended_at) return null;
  const mark = search.marks.at(-1);
  const incident = incidents.find((one) => one.searches.includes(search.searchid));
  if (incident) return h(Said, { mark });
  return h(Marking, { of: `search ${search.searchid}`, path: `searches/${search.searchid}`, mark, again });
}

function Searches({ searches, incidents, again }) {
  return h(Table, {
    caption: "Searches", rows: searches, id: (search) => search.searchid, empty: "None yet.",
    columns: [
      ["#", (search) => h(SearchLink, { id: search.searchid }, search.searchid), "number"],
      ["state", (search) => h(State, { state: search.state })],
      ["range", (search) => h(SearchLink, { id: search.searchid }, `${search.old.label} to ${search.new.label}`)],
      ["series", (search) => h(SeriesLink, { series: search })],
      ["outcome", outcome],
      ["flame graphs", ({ flame_graphs: graphs }) => graphs && h(Links, {
        of: [["before", graphs.old], ["after", graphs.new], ["difference", graphs.difference]] })],
      ["asked by", (search) => (search.reason === "alarm" ? "an alarm" : search.requester)],
      ["told", told],
      ["marked", (search) => h(Mark, { search, incidents, again })],
      ["started", (search) => moment(search.created_at), "number"],
    ],
  });
}

function Comparisons({ comparisons }) {
  return h(Table, {
    caption: "Comparisons", rows: comparisons, id: (comparison) => comparison.comparisonid, empty: "None yet.",
    columns: [
      ["#", (comparison) => h(ComparisonLink, { id: comparison.comparisonid }, comparison.comparisonid), "number"],
      ["state", (comparison) => h(State, { state: comparison.state })],
      ["variants", (comparison) => h(ComparisonLink, { id: comparison.comparisonid }, comparison.title)],
      ["series", (comparison) => comparison.series.map(([testbed, workload]) => `${testbed} · ${workload}`).join(", ")],
      ["outcome", (comparison) => comparison.outcome || ""],
      [`${called(comparisons)}s`, (comparison) => `${comparison.boots_done} of ${comparison.boots}`, "number"],
      ["asked by", (comparison) => comparison.requester],
      ["started", (comparison) => moment(comparison.created_at), "number"],
    ],
  });
}

function Verdicts({ verdicts, again }) {
  return h(Table, {
    caption: "Verdicts", rows: verdicts, id: (verdict) => verdict.judgementid,
    empty: "No sample differs from its history.",
    columns: [
      ["verdict", (verdict) => h(State, { state: verdict.state })],
      ["revision", (verdict) => h(CommitLink, { revision: verdict.new.sha }, h(Revision, { revision: verdict.new }))],
      ["series", (verdict) => h(SeriesLink, { series: verdict })],
      ["effect", (verdict) => change(verdict.effect), "number"],
      ["probability", (verdict) => verdict.probability !== null && percent(verdict.probability), "number"],
      ["why", (verdict) => verdict.reason],
      ["search", (verdict) => verdict.searchid && h(SearchLink, { id: verdict.searchid })],
      ["marked", (verdict) => h(Marking, {
        of: `the verdict on ${verdict.new.label}`, path: `judgements/${verdict.judgementid}`, mark: verdict.mark, again,
      })],
      ["at", (verdict) => moment(verdict.at), "number"],
    ],
  });
}

export default function Reports() {
  const searches = usePolled("reports", NEWS_MS);
  const incidents = usePolled("incidents", NEWS_MS);
  const comparisons = usePolled("comparisons", NEWS_MS);
  const verdicts = usePolled("verdicts", NEWS_MS);
  const record = usePolled("record", NEWS_MS);
  const marked = (...news) => () => [...news, record].forEach((one) => one.again());
  return h(Page, { title: "Reports", aside: h(Link, { to: "/bench/calibration" }, "calibration"),
    error: searches.error ?? incidents.error ?? comparisons.error ?? verdicts.error },
    h(Mirror),
    h(StartForms),
    record.data && h(Record, { record: record.data[0] }),
    searches.data && h(GivenUp, { searches: searches.data }),
    incidents.data?.length > 0 && h(Incidents, { caption: "Incidents", incidents: incidents.data, again: marked(incidents, searches) }),
    searches.data && incidents.data && h(Searches, { searches: searches.data, incidents: incidents.data, again: marked(searches) }),
    comparisons.data && h(Comparisons, { comparisons: comparisons.data }),
    verdicts.data && h(Verdicts, { verdicts: verdicts.data, again: marked(verdicts) }));
}
