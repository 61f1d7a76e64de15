// Incidents: one row for each culprit, whatever number of searches and series it has.

import { isLoggedIn } from "./api.js";
import { Marking } from "./marking.js";
import { change, CommitLink, ended, h, Links, moment, Revision, SearchLink, SeriesLink, Table } from "./ui.js";

const MOST = 6;

/** What a series without a change of level has instead; testbeds of commands run, and boot nothing. */
function without(kind, nouns) {
  return { build: "does not build", boot: `does not ${nouns.iteration}`, slope: "little by little" }[kind];
}

function Culprit({ incident }) {
  const { culprit, links, commits } = incident;
  const name = h(Revision, { revision: culprit });
  const known = [["commit", links.commit], ["diff", links.diff]].filter(([, address]) => address);
  return h("span", null,
    culprit.sha ? h(CommitLink, { revision: culprit.sha }, name) : name,
    commits > 1 && h("span", { className: "faint" }, ` or one of ${commits - 1} before it`),
    known.length > 0 && [" ", h(Links, { key: "links", of: known })]);
}

/** Each series with its change; a reader sees a few, and how many more there are. */
function Changes({ incident }) {
  const { series, kind, nouns } = incident;
  const more = series.length - MOST;
  return [
    ...series.slice(0, MOST).map((one) => h("span", { key: `${one.testbed} ${one.workload}`, className: "affected" },
      h("b", { className: one.worse ? "worse" : "better" }, one.effect === null ? without(kind, nouns) : change(one.effect)), " ",
      h(SeriesLink, { series: one }))),
    more > 0 && h("span", { key: "more", className: "faint" }, `and ${more} more`),
  ];
}

function Searches({ incident }) {
  return h("span", null, incident.searches.slice(0, MOST).flatMap((id, i) => [
    i > 0 && ", ", h(SearchLink, { key: id, id }, `${id}`)]),
  incident.searches.length > MOST && ` and ${incident.searches.length - MOST} more`);
}

/** `again` is called when a mark is made, which marks all searches of the incident. */
export function Incidents({ caption, incidents, empty, again }) {
  return h(Table, {
    caption, rows: incidents, id: (one) => one.incidentid, empty,
    columns: [
      ["culprit", (one) => h(Culprit, { incident: one })],
      ["change", (one) => h(Changes, { incident: one })],
      ["searches", (one) => h(Searches, { incident: one })],
      ["found", (one) => moment(one.at), "number"],
      ["marked", (one) => (isLoggedIn() || one.mark || one.recovery) && h("span", null,
        h(Marking, { of: `incident ${one.incidentid}`, path: `incidents/${one.incidentid}`, mark: one.mark, again }),
        one.mark && one.unmarked > 0 && h("span", { className: "faint" }, ` not of ${one.unmarked} later`),
        one.recovery && h("span", { className: "faint" }, ` back since ${ended(one.recovery)}`))],
    ],
  });
}
