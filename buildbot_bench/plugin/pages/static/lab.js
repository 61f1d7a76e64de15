// Lab: what each testbed does now, whether it is well, and what waits for it.

import { usePolled } from "./api.js";
import { Control, Quarantine } from "./control.js";
import { Mirror } from "./mirror.js";
import { count, duration, h, moment, Page, SearchLink, State, Table } from "./ui.js";

const { Link } = window.ReactRouterDOM;

const LIVE_MS = 3000;
const SELDOM_MS = 60_000;

function presence(worker) {
  return h(State, { state: worker.paused ? "paused" : worker.connected ? "connected" : "missing" });
}

function WorkerLink({ worker }) {
  return worker.workerid ? h(Link, { to: `/workers/${worker.workerid}` }, worker.name) : worker.name;
}

function why(entry) {
  return entry.searchid ? h(SearchLink, { id: entry.searchid }) : entry.reason;
}

function doing(entry) {
  const words = entry.doing === "measuring" ? `measuring, ${entry.done} of ${entry.iterations}` : entry.waits_for || entry.doing;
  return entry.brid ? h(Link, { to: `/buildrequests/${entry.brid}` }, words) : words;
}

function starts(entry) {
  if (entry.doing === "measuring") return "now";
  return entry.doing.startsWith("held") ? "—" : duration(entry.starts_in_s);
}

/** What a gate holds back of one series, each with its reason. */
function Gate({ series }) {
  const title = `Behind ${series.gates.join(" and ")}: ${series.workload} on ${series.testbed}`;
  return h("div", { className: "gate" },
    h(Table, {
      caption: title, rows: series.held, id: (commit) => commit.label, empty: "No commit waits there.",
      columns: [
        ["revision", (commit) => h("b", null, commit.label)],
        ["why", (commit) => commit.why],
        ["subject", (commit) => commit.subject],
      ],
    }),
    series.more > 0 && h("p", { className: "faint" }, `and ${count(series.more, "older commit")}`));
}

function Testbed({ testbed, again, gates }) {
  const facts = [
    ["worker", h("span", null, h(WorkerLink, { worker: testbed.worker }), " ", presence(testbed.worker))],
    ["iteration", `${duration(testbed.boot_s)} ${testbed.nouns.iteration === "boot" ? "boot" : "set-up"}, ${duration(testbed.run_s)} run`],
    ["last ended", testbed.last_at ? moment(testbed.last_at) : "none yet"],
    ["failed recently", testbed.recent ? `${testbed.failed} of ${testbed.recent}` : "—"],
    testbed.last_failure && ["last failure", testbed.last_failure],
    testbed.trouble && ["last job ended early", testbed.trouble],
  ].filter(Boolean);
  return h("section", { className: "testbed" },
    h("h2", null, testbed.testbed, testbed.queue.length === 0 && h("span", { className: "faint" }, " idle")),
    h("dl", { className: "facts" }, facts.map(([name, words]) =>
      h("div", { key: name }, h("dt", null, name), h("dd", null, words)))),
    testbed.quarantine && h(Quarantine, { testbed, again }),
    testbed.control && h(Control, { testbed }),
    testbed.queue.length > 0 && h(Table, {
      caption: `Queue of ${testbed.testbed}`, rows: testbed.queue, id: (entry) => entry.probeid,
      columns: [
        ["revision", (entry) => h("b", null, entry.label, entry.image > 0 && ` (image ${entry.image})`)],
        ["workload", (entry) => entry.workload],
        ["doing", doing],
        ["iterations", (entry) => entry.iterations, "number"],
        ["asked by", why],
        ["priority", (entry) => entry.priority, "number"],
        ["starts in about", (entry) => starts(entry), "number"],
        ["since", (entry) => moment(entry.since), "number"],
      ],
    }),
    gates.map((series) => h(Gate, { key: series.workload, series })));
}

const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function Kernels({ nouns }) {
  const { data } = usePolled("kernels", SELDOM_MS);
  const [kept] = data ?? [];
  return kept && h("p", null, `${count(kept.count, nouns.built)} in ${kept.place}, ${mebibytes(kept.bytes)}; `,
    `${kept.needed} needed, ${kept.expired} to delete (${mebibytes(kept.expired_bytes)}).`);
}

/** The newest commits that nobody builds unless a person or a search asks. */
function NoOps() {
  const { data } = usePolled("noops", SELDOM_MS);
  return data && data.length > 0 && h(Table, {
    caption: "Presumed no-op changes", rows: data, id: (commit) => commit.label,
    columns: [
      ["revision", (commit) => h("b", null, commit.label)],
      ["why", (commit) => commit.why],
      ["subject", (commit) => commit.subject],
    ],
  });
}

function Builders({ lab }) {
  return h("section", { className: "testbed" },
    h("h2", null, "Builders"),
    h("dl", { className: "facts" }, lab.builders.map((worker) => h("div", { key: worker.name },
      h("dt", null, h(WorkerLink, { worker })), h("dd", null, presence(worker))))),
    h(Kernels, { nouns: lab.nouns }),
    lab.images.length > 0 && h(Table, {
      caption: lab.nouns.built === "kernel" ? "Kernels to be built" : "To be built", rows: lab.images, id: (image) => `${image.label}-${image.image}`,
      columns: [
        ["revision", (image) => h("b", null, image.label, image.image > 0 && ` (image ${image.image})`)],
        ["state", (image) => image.state],
        ["since", (image) => moment(image.since), "number"],
      ],
    }),
    h(NoOps));
}

/** Those of several masters that live; one master alone is not listed. */
function Masters({ masters }) {
  return h("section", { className: "testbed" },
    h("h2", null, "Masters"),
    h("dl", { className: "facts" }, masters.map((master) => h("div", { key: master.name },
      h("dt", null, master.name),
      h("dd", null, master.trouble
        ? h("b", null, `${master.trouble}: start crossbar, see docs/how-to/several-masters.md`)
        : master.runs_broker ? "runs the broker" : "stands by")))));
}

export default function Lab() {
  const { data, error, again } = usePolled("lab", LIVE_MS);
  const { data: gates } = usePolled("gates", SELDOM_MS);
  const [lab] = data ?? [];
  return h(Page, { title: lab ? `Lab of ${lab.farm}` : "Lab", error,
    aside: h("a", { href: "plugins/bench/metrics" }, "metrics") },
  h(Mirror),
  lab && lab.testbeds.map((testbed) => h(Testbed, { key: testbed.testbed, testbed, again,
    gates: (gates ?? []).filter((series) => series.testbed === testbed.testbed) })),
  lab && h(Builders, { lab }),
  lab && lab.masters.length > 0 && h(Masters, { masters: lab.masters }));
}
