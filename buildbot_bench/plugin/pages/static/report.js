// The report of a search that has ended: its card, what people say of it, and sections that open.
//
// The master writes the HTML by the template of the mail, which escapes all that strangers wrote.

import { act, isLoggedIn, usePolled } from "./api.js";
import { Marking } from "./marking.js";
import { h } from "./ui.js";

const { useState } = window.React;
const { useNavigate } = window.ReactRouterDOM;

function Html({ name, html }) {
  return h("div", { className: `report ${name}`, dangerouslySetInnerHTML: { __html: html } });
}

/** Search the same range again; what is measured already counts. */
function Again({ search }) {
  const [trouble, setTrouble] = useState(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const start = async () => {
    setBusy(true);
    try {
      const { testbed, workload, report } = search;
      const { min_effect, error } = report.setting;
      const begun = await act("searches", "start", {
        old: search.old.sha, new: search.new.sha, testbed, workload, min_effect, error });
      navigate(`/bench/searches/${begun.searchid}`);
    } catch (error) {
      setTrouble(error.message);
      setBusy(false);
    }
  };
  return h("span", null,
    h("button", { type: "button", disabled: busy || !isLoggedIn(), onClick: start,
      title: isLoggedIn() ? "Search the same range again" : "Log in to search again" }, "Bisect again"),
    trouble && h("span", { role: "alert", className: "trouble" }, ` ${trouble}`));
}

/** `again` is called when the report was marked. */
export function Report({ search, again }) {
  const path = `searches/${search.searchid}`;
  const { data, again: newer } = usePolled(`${path}/report`, 0);
  const [parts] = data ?? [];
  const marked = () => { again(); newer(); };
  return h("section", { className: "whole-report" },
    parts && h(Html, { name: "card", html: parts.card }),
    h("div", { className: "actions" },
      h(Marking, { of: "this report", path, mark: search.marks.at(-1), again: marked }),
      search.report?.setting && h(Again, { search })),
    parts?.sections ? h(Html, { name: "sections", html: parts.sections })
      : search.text && parts && h("pre", { tabIndex: 0 }, search.text));
}
