// What somebody said of a report or a verdict, and the form to say it; the farm keeps it.

import { act, isLoggedIn } from "./api.js";
import { count, h, moment } from "./ui.js";

const { useState } = window.React;

// What a person reads, by what the farm calls it.
const WORDS = { expected: "expected", noise: "noise", fixed: "fixed", again: "measure again", withdrawn: "take back" };

/** `noise, ann`: the last word. */
export function Said({ mark }) {
  if (!mark || mark.kind === "withdrawn") return null;
  const words = mark.kind === "fixed" ? `fixed by ${mark.fixed_by}` : WORDS[mark.kind] ?? mark.kind;
  return h("span", { className: "said", title: moment(mark.at) }, h("b", null, words), h("span", { className: "faint" }, ` ${mark.author}`));
}

/** The last word and, for who may speak, the next one. `of` says of what, for who hears the page. */
export function Marking({ of, path, mark, again }) {
  const [kind, setKind] = useState("");
  const [revision, setRevision] = useState("");
  const [trouble, setTrouble] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await act(path, "mark", { mark: kind, ...(kind === "fixed" && { revision: revision.trim() }) });
      setKind("");
      setTrouble(null);
      again();
    } catch (error) {
      setTrouble(error.message);
    }
  };
  return h("form", { className: "marking", onSubmit: submit },
    h(Said, { mark }),
    isLoggedIn() && h("select", { "aria-label": `mark ${of}`, value: kind, onChange: (e) => setKind(e.target.value) },
      h("option", { value: "" }, "mark as"),
      Object.entries(WORDS).map(([value, words]) => h("option", { key: value, value }, words))),
    kind === "fixed" && h("input", { "aria-label": "the revision that fixed it", placeholder: "r313448", required: true, size: 12,
      autoComplete: "off", spellCheck: false, value: revision, onChange: (e) => setRevision(e.target.value) }),
    kind && h("button", { className: "main" }, "Mark"),
    trouble && h("span", { role: "alert", className: "trouble" }, trouble));
}

/** How often the farm was right so far, in a sentence. */
export function Record({ record }) {
  const judged = record.right + record.wrong;
  const share = (figure) => `${(100 * figure).toFixed(0)} %`;
  return h("p", { className: "record" }, judged === 0
    ? "No report of this farm has been reviewed yet. Mark the reports below."
    : [`People reviewed ${count(judged, "report")} of this farm: `, h("b", { key: "share" }, `${record.right} right`),
      `: ${share(record.precision)}, 95 % interval ${share(record.low)} to ${share(record.high)}.`]);
}
