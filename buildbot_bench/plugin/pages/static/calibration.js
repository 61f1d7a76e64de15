// Calibration: of what was stated at a probability, how much was right; the budgets of the series.

import { usePolled } from "./api.js";
import { h, Page, SeriesLink, Table } from "./ui.js";

const SELDOM_MS = 60_000;
const NAMES = { culprit: "culprits", alarm: "alarms", comparison: "comparisons" };
const WAYS = [["fix", "a fix that landed"], ["boots", "later boots"], ["person", "a person"]];

const whole = (share) => `${(100 * share).toFixed(0)} %`;

function stated({ least, below }) {
  if (below === 1) return `${whole(least)} or more`;
  return least === 0 ? `below ${whole(below)}` : `${(100 * least).toFixed(0)} to ${whole(below)}`;
}

/** `97 %, 91 to 100 %`: the share of those that were right, with its 95 % interval. */
function share({ record, too_sure }) {
  const checked = record.right + record.wrong;
  if (checked === 0) return "none checked";
  const words = `${whole(record.right / checked)} (${whole(record.interval[0])} to ${whole(record.interval[1])})`;
  return too_sure ? h("b", { className: "trouble" }, `${words}, fewer than stated`) : words;
}

function Rows({ rows }) {
  return h(Table, {
    caption: "Verdicts by what was stated", rows, id: (row) => `${row.kind}-${row.least}`, empty: "No verdict yet.",
    columns: [
      ["verdict", (row) => NAMES[row.kind]],
      ["stated", stated],
      ["verdicts", (row) => row.stated, "number"],
      ["checked", (row) => row.record.right + row.record.wrong, "number"],
      ["right", (row) => row.record.right, "number"],
      ["share, 95 % interval", share],
      ["checked by", (row) => WAYS.filter(([way]) => row.by[way] > 0).map(([way, words]) => `${words}: ${row.by[way]}`).join(", ")],
    ],
  });
}

/** What each series may raise of false alarms, and what happened. */
function Budgets({ budgets }) {
  return h(Table, {
    caption: "False alarms, by series", rows: budgets, id: (one) => `${one.branch}/${one.testbed}/${one.workload}`,
    empty: "No series was judged yet.",
    columns: [
      ["series", (one) => h(SeriesLink, { series: one })],
      ["judged", (one) => one.judged, "number"],
      ["alarms", (one) => one.alarms, "number"],
      ["checked", (one) => one.checked, "number"],
      ["denied", (one) => one.denied, "number"],
      ["allowed", (one) => one.expected.toFixed(2), "number"],
      ["in words", (one) => (one.kept ? one.words : h("b", { className: "trouble" }, one.words))],
    ],
  });
}

export default function Calibration() {
  const { data, error } = usePolled("calibration", SELDOM_MS);
  const [found] = data ?? [];
  return h(Page, { title: "Calibration", error },
    found && h("p", { className: "record" }, found.words),
    found && h(Rows, { rows: found.rows }),
    found && h(Budgets, { budgets: found.budgets }));
}
