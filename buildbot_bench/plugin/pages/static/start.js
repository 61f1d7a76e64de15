// The forms that start a search or a comparison, and say beforehand what a search would cost.

import { act, isLoggedIn, usePolled } from "./api.js";
import { count, duration, h } from "./ui.js";

const { useState } = window.React;
const { useNavigate } = window.ReactRouterDOM;

const WAIT_MS = 1000;

function seriesPicked(fields) {
  const [testbed, workload] = JSON.parse(fields.get("series"));
  return { testbed, workload };
}

/** What the form of a search says, as the actions want it. */
function searchAsked(fields) {
  const effect = Number(fields.get("min_effect"));
  return {
    old: fields.get("old").trim(), new: fields.get("new").trim(), ...seriesPicked(fields),
    ...(effect > 0 && { min_effect: effect / 100 }),
  };
}

function comparisonAsked(fields) {
  const { testbed, workload } = seriesPicked(fields);
  return {
    variants: [fields.get("base").trim(), ...fields.get("new").trim().split(/\s+/)],
    testbeds: [testbed], workloads: [workload], iterations: Number(fields.get("iterations")),
    images: Number(fields.get("images")),
  };
}

function Cost({ cost }) {
  const of = (what, word) => count(cost[what].median, word);
  return h("p", { role: "status" },
    `${count(cost.commits, "commit")}: about ${of("iterations", "iteration")} and ${of("images", "image")}, `,
    `${duration(3600 * cost.hours.median)}. 9 of 10 such searches take less than ${duration(3600 * cost.hours.p90)}. `,
    cost.known_iterations > 0 && `${count(cost.known_iterations, "iteration")} are known already.`);
}

function Field({ name, label, ...more }) {
  return h("label", null, label, h("input", { name, autoComplete: "off", spellCheck: false, ...more }));
}

function SeriesChoice({ allSeries }) {
  return h("label", null, "testbed · workload", h("select", { name: "series" }, (allSeries ?? []).map((series) =>
    h("option", { key: `${series.testbed}/${series.workload}`, value: JSON.stringify([series.testbed, series.workload]) },
      `${series.testbed} · ${series.workload}`))));
}

/** What a call gives, however long the master says that it is not yet able to. */
async function patiently(call, tell) {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!error.isNotYet) throw error;
      tell(error.message);
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  }
}

/** A form whose buttons are actions of `path`; `start` leads to what it started. */
function Form({ title, path, asked, started, children }) {
  const [told, setTold] = useState(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const submit = async (event) => {
    event.preventDefault();
    const method = event.nativeEvent.submitter?.value ?? "start";
    const question = asked(new FormData(event.currentTarget));
    setBusy(true);
    try {
      const answer = await patiently(() => act(path, method, question),
        (words) => setTold(h("p", { role: "status" }, `${words}. This waits for it.`)));
      if (method === "start") navigate(started(answer));
      else setTold(h(Cost, { cost: answer }));
    } catch (error) {
      setTold(h("p", { role: "alert", className: "trouble" }, error.message));
    }
    setBusy(false);
  };
  return h("form", { className: "start", onSubmit: submit },
    h("h2", null, title), h("fieldset", { disabled: busy || !isLoggedIn() }, children), told);
}

export function StartForms() {
  const { data } = usePolled("series", 0);
  const allSeries = data?.filter((series) => !series.gone && series.branch === data[0].branch);
  return h("section", { className: "starts" },
    h(Form, { title: "Search a range", path: "searches", asked: searchAsked, started: (a) => `/bench/searches/${a.searchid}` },
      h(Field, { name: "old", label: "old end", placeholder: "r311848", required: true }),
      h(Field, { name: "new", label: "new end", placeholder: "r313448, a hash, main, stable/14~3", required: true }),
      h(SeriesChoice, { allSeries }),
      h(Field, { name: "min_effect", label: "least effect, %", placeholder: "default", type: "number", min: 0.1, max: 90, step: 0.1 }),
      h("button", { value: "forecast" }, "Show the cost"),
      h("button", { value: "start", className: "main" }, "Start")),
    h(Form, { title: "Compare variants", path: "comparisons", asked: comparisonAsked, started: (a) => `/bench/comparisons/${a.comparisonid}` },
      h(Field, { name: "base", label: "base", placeholder: "r317849", required: true }),
      h(Field, { name: "new", label: "new: one or more, separated by spaces", placeholder: "r317849+VIMAGE", required: true }),
      h(SeriesChoice, { allSeries }),
      h(Field, { name: "iterations", label: "iterations of each one's first image", type: "number", min: 3, max: 100, defaultValue: 5, required: true }),
      h(Field, { name: "images", label: "images of each at most", type: "number", min: 1, max: 24, defaultValue: 16, required: true }),
      h("button", { value: "start", className: "main" }, "Compare")),
    !isLoggedIn() && h("p", { className: "faint" }, "Log in, top right, to start one. You can read all pages without."));
}
