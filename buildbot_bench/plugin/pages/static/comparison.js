// One comparison of two to thirty-two variants: each boot as a mark, the table, and ministat's blocks.

import { act, isLoggedIn, usePolled } from "./api.js";
import { Cancel } from "./cancel.js";
import { change, count, duration, h, Links, moment, Page, quantity, State, Table } from "./ui.js";

const { useState } = window.React;
const { useParams } = window.ReactRouterDOM;

const LIVE_MS = 2000;
const NAMED = 32; // letters of a label that stands in a picture
const [LETTER, BESIDE, INDENT] = [8, [60, 260], 8]; // in pixels; the room for labels beside their rows
// Two drawings of the same: labels beside their rows, and above them where there is little room.
const SHAPES = {
  wide: { width: 760, row: 34, line: 17, right: 20, above: false },
  narrow: { width: 340, row: 44, line: 30, right: 8, above: true },
};

/** A label that fits beside or above its row. */
const short = (label) => (label.length > NAMED ? `${label.slice(0, NAMED - 1)}…` : label);

/** The boots of all variants on one axis, a row for each; the base's are circles. */
function Drawing({ series, labels, shape }) {
  const { unit } = series.metric;
  const values = series.samples.flatMap((sample) => sample.values);
  const { width, row: height, line, right, above } = SHAPES[shape];
  const [least, most] = BESIDE;
  const left = above ? INDENT : Math.min(Math.max(least, ...labels.map((label) => LETTER * short(label).length)), most);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const air = (high - low || high || 1) * 0.05;
  const x = (value) => left + ((value - low + air) / (high - low + 2 * air)) * (width - left - right);
  const end = series.samples.length * height;
  const place = (y) => (above ? { x: left, y: y + line - 14, textAnchor: "start" } : { x: left - 8, y: y + line + 4, textAnchor: "end" });
  const row = (sample, number) => h("g", { key: number, className: `side ${number === 0 ? "base" : "new"}` },
    h("text", place(number * height), short(labels[number]), h("title", null, labels[number])),
    h("line", { x1: left, x2: width - right, y1: number * height + line, y2: number * height + line }),
    sample.values.map((value, i) => (number === 0
      ? h("circle", { key: i, cx: x(value), cy: number * height + line, r: 5 })
      : h("path", { key: i, d: `M${x(value)} ${number * height + line - 6}l6 6l-6 6l-6 -6z` }))));
  const words = (sample, number) => `${labels[number]} ${sample.values.map((value) => quantity(value, unit)).join(", ") || "none yet"}`;
  return h("svg", { className: `dots ${shape}`, viewBox: `0 0 ${width} ${end + 20}`, role: "img", "aria-label": series.samples.map(words).join("; ") },
    series.samples.map(row),
    h("text", { x: x(low), y: end + 14, textAnchor: "start" }, quantity(low, unit)),
    high > low && h("text", { x: x(high), y: end + 14, textAnchor: "end" }, quantity(high, unit)));
}

function Dots({ series, labels, nouns }) {
  if (series.samples.every((sample) => sample.values.length === 0)) return null;
  return h("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": `Each ${nouns.iteration}` },
    Object.keys(SHAPES).map((shape) => h(Drawing, { key: shape, series, labels, shape })));
}

/** 0.00037 → "0.00037"; what is smaller than anybody reads is told as that. */
function probability(p) {
  if (p === null || p === undefined) return "";
  return p < 0.0001 ? "< 0.0001" : Number(p.toPrecision(2)).toString();
}

const GRAPHS = ["flame graphs", ({ flame_graphs: graphs }) => graphs && h(Links, {
  of: [["base", graphs.base], ["new", graphs.new], ["their difference", graphs.difference]] })];

function Changes({ series }) {
  const { unit } = series.metric;
  const mean = (changed, side) => (changed.comparison === null ? "" : quantity(changed.comparison[side].mean, unit));
  return h(Table, {
    caption: `${series.testbed} · ${series.workload}`, rows: series.changes, id: (changed) => changed.label,
    columns: [
      ["variant", (changed) => changed.label],
      ["base", (changed) => mean(changed, "reference"), "number"],
      ["new", (changed) => mean(changed, "other"), "number"],
      ["change", (changed) => change(changed.effect), "number"],
      ["interval", (changed) => changed.low !== null && `${change(changed.low)} to ${change(changed.high)}`, "number"],
      ["p", (changed) => probability(changed.p_value), "number"],
      ["p (Holm)", (changed) => probability(changed.p_corrected), "number"],
      ["verdict", ({ verdict, beyond_luck: { said } }) => [h(State, { key: verdict, state: verdict }), said.slice(verdict.length)]],
      ...(series.changes.some((changed) => changed.flame_graphs) ? [GRAPHS] : []),
    ],
  });
}

/** How many images and boots each variant has, and what each image gave; nothing where one is all. */
function Images({ series, labels, nouns }) {
  if (series.images.every((images) => images.length <= 1)) return null;
  const { unit } = series.metric;
  const boots = (images) => images.reduce((sum, image) => sum + image.boots, 0);
  return h("section", null,
    h(Table, {
      caption: "Images, each linked in another order", rows: series.images.map((images, place) => ({ images, place })), id: ({ place }) => place,
      columns: [
        ["variant", ({ place }) => labels[place]],
        ["images", ({ images }) => images.length, "number"],
        [`${nouns.iteration}s`, ({ images }) => boots(images), "number"],
        [`mean of each (${nouns.iteration}s)`, ({ images }) => images.map((one) => `${one.image}: ${quantity(one.level, unit)} (${one.boots})`).join(", ")],
      ],
    }),
    h("p", { className: "faint" }, `Student's t and ministat pool the ${nouns.iteration}s of all images of a variant.`));
}

function SeriesReport({ series, labels, nouns }) {
  return h("section", { className: "series" },
    h(Changes, { series }),
    series.factors && h("div", null,
      h("ul", null, series.factors.sentences.map((line) => h("li", { key: line }, line))),
      h("p", { className: "faint" }, series.factors.method)),
    h(Images, { series, labels, nouns }),
    h(Dots, { series, labels, nouns }),
    series.ministat.map((block) => h("pre", { key: block, tabIndex: 0 }, block)),
    series.notes.map((note) => h("p", { key: note, className: "faint" }, note)));
}

function Report({ report, nouns }) {
  const labels = report.variants.map((variant) => variant.label);
  return h("div", null,
    h("p", { className: "faint order" }, report.order, " ", report.drift,
      report.tests > 1 && ` p (Holm) is corrected for ${report.tests} tests.`),
    report.series.map((series) => h(SeriesReport, { key: `${series.testbed}/${series.workload}`, series, labels, nouns })));
}

/** The base and the new variants, each with what it is where its label does not say so. */
function variantFacts(variants) {
  const named = ({ label, variant }) => (label === variant ? label : `${label}: ${variant}`);
  const [base, ...others] = variants;
  return [["base", named(base), "wide"],
    ["new", others.map((variant) => h("div", { key: variant.label }, named(variant))), "wide"]];
}

/** What the lab told of the boots: in what the variants differ, and all else folded away. */
function SetUp({ setUp }) {
  const differing = setUp.facts.filter((fact) => fact.differs);
  const alike = setUp.facts.filter((fact) => !fact.differs);
  if (setUp.facts.length === 0) return null;
  const key = (fact) => `${fact.name}/${fact.workload}`;
  const first = [["fact", (fact) => fact.name], ["workload", (fact) => fact.workload || "all"]];
  const ofEach = setUp.variants.map((label, place) => [label, (fact) => fact.values[place] ?? ""]);
  const shared = ["all variants", (fact) => fact.values.find((value) => value !== null)];
  return h("section", { className: "set-up", "aria-label": `Set-up of ${setUp.testbed}` },
    differing.length > 0
      ? h(Table, { caption: `Set-up of ${setUp.testbed}: the differences`, rows: differing, id: key, columns: [...first, ...ofEach] })
      : h("h2", null, `Set-up of ${setUp.testbed}: no difference`),
    alike.length > 0 && h("details", null,
      h("summary", null, `${count(alike.length, "fact")} shared by the variants`),
      h(Table, { caption: "Shared facts", rows: alike, id: key, columns: [...first, shared] })));
}

/** Patches of somebody who may not have them run without asking. */
function Approval({ comparison, path, again }) {
  const [trouble, setTrouble] = useState(null);
  const may = isLoggedIn();
  const decide = (decision) => h("button", { type: "button", disabled: !may,
    title: may ? "You need the role approve." : "Log in first, top right.",
    onClick: () => act(path, decision).then(again, setTrouble) }, decision === "approve" ? "Approve" : "Reject");
  return h("section", { "aria-label": "Approval" },
    h("p", null, `${comparison.requester} asks to build and run these patches. `, decide("approve"), " ", decide("reject"),
      trouble && h("span", { role: "alert", className: "trouble" }, " ", trouble.message)),
    comparison.patches.map((patch) => h("section", { key: patch.digest },
      h("h2", null, patch.origin), h("pre", { tabIndex: 0 }, patch.text))));
}

export default function Comparison() {
  const { comparisonid } = useParams();
  const [ended, setEnded] = useState(false);
  const path = `comparisons/${comparisonid}`;
  const { data, error, again } = usePolled(path, ended ? 0 : LIVE_MS);
  const [comparison] = data ?? [];
  if (comparison?.ended_at && !ended) setEnded(true);
  const aside = comparison && h("span", null, h(State, { state: comparison.state }), " ",
    comparison.ended_at ? h("a", { href: `api/v2/bench/${path}` }, "JSON") : h(Cancel, { what: "comparison", path, again }));
  const facts = comparison && [
    ...variantFacts(comparison.variants),
    ["asked by", `${comparison.requester}, ${moment(comparison.created_at)}`],
    ["so far", `${comparison.boots_done} of ${count(comparison.boots, comparison.nouns.iteration)}`],
    comparison.ended_at ? ["ended", `after ${duration(comparison.ended_at - comparison.created_at)}`] : ["now", comparison.now],
    comparison.ended_at && comparison.now && ["why", comparison.now],
  ].filter(Boolean);
  return h(Page, { title: comparison ? comparison.title : `Comparison ${comparisonid}`, aside, error },
    facts && h("dl", { className: "facts", "aria-live": "polite" }, facts.map(([name, words, kind]) =>
      h("div", { key: name, className: kind }, h("dt", null, name), h("dd", null, words)))),
    comparison?.patches?.length > 0 && h(Approval, { comparison, path, again }),
    comparison?.report && h(Report, { report: comparison.report, nouns: comparison.nouns }),
    comparison?.set_ups?.map((setUp) => h(SetUp, { key: setUp.testbed, setUp })));
}
