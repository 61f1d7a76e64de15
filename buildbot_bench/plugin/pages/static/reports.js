// Reports: searches, comparisons and verdicts with what came of them, and the forms for new ones.

import { usePolled } from "./api.js";
import { Marking, Record } from "./marking.js";
import { Mirror } from "./mirror.js";
import { StartForms } from "./start.js";
import { change, CommitLink, count, ended, h, SeriesLink, Links, moment, Page, percent, Revision, SearchLink, State, Table, ComparisonLink } from "./ui.js";

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
      recovery && ` (well again since ${ended(recovery)})`);
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
    `Nobody there was told: ${error}. This was given up until the master is started again: look at notify in bench.yml and at the token.`));
}

function Searches({ searches, again }) {
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
      ["marked", (search) => search.ended_at && h(Marking, {
        of: `search ${search.searchid}`, path: `searches/${search.searchid}`, mark: search.marks.at(-1), again,
      })],
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
      ["boots", (comparison) => `${comparison.boots_done} of ${comparison.boots}`, "number"],
      ["asked by", (comparison) => comparison.requester],
      ["started", (comparison) => moment(comparison.created_at), "number"],
    ],
  });
}

function Verdicts({ verdicts, again }) {
  return h(Table, {
    caption: "Verdicts", rows: verdicts, id: (verdict) => verdict.judgementid,
    empty: "No sample differed from its history.",
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
  const comparisons = usePolled("comparisons", NEWS_MS);
  const verdicts = usePolled("verdicts", NEWS_MS);
  const record = usePolled("record", NEWS_MS);
  const marked = (news) => () => { news.again(); record.again(); };
  return h(Page, { title: "Reports", error: searches.error ?? comparisons.error ?? verdicts.error },
    h(Mirror),
    h(StartForms),
    record.data && h(Record, { record: record.data[0] }),
    searches.data && h(GivenUp, { searches: searches.data }),
    searches.data && h(Searches, { searches: searches.data, again: marked(searches) }),
    comparisons.data && h(Comparisons, { comparisons: comparisons.data }),
    verdicts.data && h(Verdicts, { verdicts: verdicts.data, again: marked(verdicts) }));
}
