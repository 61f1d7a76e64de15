// One search: its range, what it suspects, what it has had measured, and its report at the end.

import { usePolled } from "./api.js";
import { MoreBoots } from "./boots.js";
import { Cancel } from "./cancel.js";
import { Report } from "./report.js";
import { Strip } from "./strip.js";
import { change, count, duration, ended, h, SeriesLink, moment, Page, percent, plain, quantity, Revision, State, Table } from "./ui.js";

const { useState } = window.React;
const { useParams } = window.ReactRouterDOM;

const LIVE_MS = 2000;
const MOST_SUSPECTS = 10;

function Facts({ search, strip }) {
  const left = strip?.left;
  const facts = [
    ["from", h(Revision, { revision: search.old }), "wide"],
    ["to", h(Revision, { revision: search.new }), "wide"],
    ["on", h(SeriesLink, { series: search })],
    search.tunables && ["with", search.tunables],
    search.kind !== "effect" && ["looks for", `what does not ${search.kind === "boot" ? search.nouns.iteration : search.kind}`],
    !search.report && search.breakage?.reason && ["it says", plain(search.breakage.reason), "wide"],
    search.recovery && ["closed", `works again since ${ended(search.recovery)}, ${moment(search.recovery.at)}`],
    ["asked by", `${search.requester || "the farm"}, ${moment(search.created_at)}`],
    ["so far", `${count(search.iterations_done, "iteration")}, ${count(search.images_built, "image")}`],
    search.ended_at ? ["ended", `${moment(search.ended_at)}, after ${duration(search.ended_at - search.created_at)}`]
      : ["now", search.now],
    strip && !left && !search.ended_at && search.kind === "effect" && ["left", "forecast follows"],
    left && ["left", left.over ? `nothing more to ${search.nouns.iteration}`
      : `about ${count(left.iterations, "iteration")}, ${count(left.images, "image")}, ${duration(3600 * left.hours)}`],
  ].filter(Boolean);
  return h("dl", { className: "facts", "aria-live": "polite" },
    facts.map(([name, words, kind]) => h("div", { key: name, className: kind }, h("dt", null, name), h("dd", null, words))));
}

function Suspects({ strip }) {
  return h(Table, {
    caption: "Suspects", rows: strip.suspects.slice(0, MOST_SUSPECTS), id: (s) => `${s.old}-${s.new}`,
    empty: "None until both ends are measured.",
    columns: [
      ["after", (s) => s.after],
      ["up to", (s) => h("b", null, s.label)],
      ["commits", (s) => s.new - s.old, "number"],
      ["probability", (s) => percent(s.probability), "number"],
      ["expected effect", (s) => change(s.effect), "number"],
    ],
  });
}

function Incident({ series, nouns }) {
  return h(Table, {
    caption: "One incident", rows: series, id: (one) => `${one.testbed} ${one.workload}`, empty: "",
    columns: [
      ["series", (one) => h(SeriesLink, { series: one })],
      ["change", (one) => one.effect !== null && change(one.effect), "number"],
      [`${nouns.iteration}s`, (one) => one.boots, "number"],
      ["standing", (one) => one.searched ? `searched: ${one.standing}` : one.standing],
      ["why", (one) => h("span", null, one.reason, " ", !one.searched && one.searchid !== null
        && h("a", { href: `#/bench/searches/${one.searchid}` }, `search ${one.searchid}`))],
    ],
  });
}

function doing(probe, nouns) {
  if (!["new", "issued"].includes(probe.state)) return probe.state;
  return probe.image_state === "built" ? "measuring" : `waiting for its ${nouns.built}`;
}

function Probes({ id, period, nouns }) {
  const { data } = usePolled(`searches/${id}/probes`, period);
  return data && h(Table, {
    caption: "Probes", rows: [...data].reverse(), id: (probe) => probe.probeid, empty: "None yet.",
    columns: [
      ["#", (probe) => probe.serial, "number"],
      ["revision", (probe) => h("b", null, probe.label, probe.image > 0 && ` (image ${probe.image})`)],
      ["state", (probe) => doing(probe, nouns)],
      ["values", (probe) => probe.failure ?? probe.values.map((value) => quantity(value, probe.unit)).join(" · ")],
      ["at", (probe) => moment(probe.at), "number"],
    ],
  });
}

export default function Search() {
  const [picked, setPicked] = useState(null);
  const [asked, setAsked] = useState(false);
  const { searchid } = useParams();
  const [ended, setEnded] = useState(false);
  const period = ended && !asked ? 0 : LIVE_MS;
  const { data, error, again } = usePolled(`searches/${searchid}`, period);
  const strips = usePolled(`searches/${searchid}/strip`, period);
  const [search] = data ?? [];
  const [strip] = strips.data ?? [];
  // The strip is asked for apart: only when both have seen the end is there nothing more to ask.
  if (search?.ended_at && strip && !["running", "cancelling"].includes(strip.state) && !ended) setEnded(true);
  const look = () => { again(); strips.again(); setAsked(true); };
  const aside = search && h("span", null, h(State, { state: search.state }), " ",
    !search.ended_at && h(Cancel, { what: "search", path: `searches/${searchid}`, again }),
    search.ended_at && h("a", { href: `api/v2/bench/searches/${searchid}` }, "JSON"));
  const title = search ? `${search.old.label} to ${search.new.label}: ${count(search.commits, "commit")}` : `Search ${searchid}`;
  return h(Page, { title, aside, error },
    search?.ended_at && h(Report, { search, again }),
    search && h(Facts, { search, strip }),
    search && strip && strip.commits > 0 && h(Strip, { strip, pick: setPicked, nouns: search.nouns }),
    search && search.kind !== "build" && h(MoreBoots, { path: `searches/${searchid}`, picked, again: look }),
    search && !search.ended_at && strip && h(Suspects, { strip }),
    search?.incident.length > 0 && h(Incident, { series: search.incident, nouns: search.nouns }),
    search && h(Probes, { id: searchid, period, nouns: search.nouns }));
}
