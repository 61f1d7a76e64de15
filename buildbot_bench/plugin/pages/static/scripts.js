// Tells Buildbot's UI of our menu and pages; a page's own module is loaded when it is opened.
//
// Buildbot loads this file as a classic script. What it offers plugins are globals: React,
// ReactRouterDOM, BuildbotPluginSupport.
"use strict";

(() => {
  const { createElement, lazy, Suspense } = window.React;

  const GAUGE = "M8 3a6 6 0 0 0-6 6c0 1.5.5 2.8 1.4 3.9l1.1-.9A4.6 4.6 0 1 1 12.6 9c0 1.1-.4 2.2-1.1 3l1.1.9A6 6 0 0 0 8 3zm2.6 3.2L7.3 8.5a1 1 0 1 0 1.2 1.3z";
  const icon = createElement(
    "svg",
    { viewBox: "0 0 16 16", width: "1em", height: "1em", fill: "currentColor", "aria-hidden": true },
    createElement("path", { d: GAUGE }),
  );

  // Who begins with History has it fetched while Buildbot waits for its other plugins.
  if (/^#\/bench\/history(\?|$)/.test(location.hash)) {
    for (const part of ["api", "ahead", "library/chart", "history", "series", "chart", "drawing", "ui"]) {
      import(`./${part}.js`).catch(() => {});
    }
  }

  const page = (load) => {
    const Page = lazy(load);
    return () =>
      createElement(Suspense, { fallback: createElement("p", null, "Loading…") }, createElement(Page));
  };
  const overview = page(() => import("./overview.js"));
  const history = page(() => import("./history.js"));
  const commit = page(() => import("./commit.js"));
  const search = page(() => import("./search.js"));
  const reports = page(() => import("./reports.js"));
  const comparison = page(() => import("./comparison.js"));
  const calibration = page(() => import("./calibration.js"));
  const lab = page(() => import("./lab.js"));

  window.BuildbotPluginSupport.buildbotSetupPlugin((registrar) => {
    registrar.registerMenuGroup({
      name: "bench", caption: "Bench", icon, order: 2, route: null, parentName: null,
    });
    for (const [name, caption] of [["overview", "Overview"], ["history", "History"], ["reports", "Reports"], ["lab", "Lab"]]) {
      registrar.registerMenuGroup({
        name: `bench-${name}`, caption, order: null, parentName: "bench",
        route: name === "overview" ? "/bench" : `/bench/${name}`,
      });
    }
    for (const [route, group, element] of [
      ["/bench", "bench-overview", overview],
      ["/bench/history", "bench-history", history],
      ["/bench/history/:testbed/:workload", "bench-history", history],
      ["/bench/commits/:revision", "bench-history", commit],
      ["/bench/reports", "bench-reports", reports],
      ["/bench/searches/:searchid", "bench-reports", search],
      ["/bench/comparisons/:comparisonid", "bench-reports", comparison],
      ["/bench/calibration", "bench-reports", calibration],
      ["/bench/lab", "bench-lab", lab],
    ]) {
      registrar.registerRoute({ route, group, element });
    }
  });
})();
