// The range of a search as a strip: what was measured, and what is known of each commit.

import { ticks } from "./columns.js";
import { Marks } from "./marks.js";
import { Plot, useZoom, ZoomButtons } from "./plot.js";
import { useSettled } from "./api.js";
import { figure, h, percent, prefixOf, quantity } from "./ui.js";

const { useEffect, useState } = window.React;

const LEFT = 150;
const VALUES = 190;
const ROW = 24;
const TOP = 22;

// Each row by its place and its shape; the colours only repeat that. A name is made of what the
// farm calls an image.
const ROWS = [
  ["measured", () => "measured", (strip) => strip.measured.map((m) => m.at)],
  ["works", () => "works", (strip) => strip.works],
  ["built", () => "built", (strip) => strip.built],
  ["building", () => "being built", (strip) => strip.building],
  ["untestable", () => "untestable", (strip) => strip.untestable],
  ["folded", (nouns) => `identical ${nouns.built}`, (strip) => strip.folded],
];
const HEIGHT = TOP + VALUES + 10 + (ROWS.length + 1) * ROW + 4;

const rowY = (row) => TOP + VALUES + 10 + row * ROW;

function Values({ strip, scale }) {
  const seen = strip.measured.filter((m) => m.at >= scale.from && m.at <= scale.to);
  if (seen.length === 0) return h("text", { x: scale.left + 8, y: TOP + VALUES / 2 }, "nothing measured here yet");
  const [least, most] = [Math.min(...seen.map((m) => m.low)), Math.max(...seen.map((m) => m.high))];
  const air = (most - least || most) * 0.08;
  const [low, high] = [least - air, most + air];
  const [factor, prefix] = prefixOf(high, strip.unit);
  const y = (value) => TOP + VALUES - ((value - low) / (high - low)) * VALUES;
  return h("g", null,
    h("g", { className: "axes" }, ticks(low, high, 5).map((tick) => h("g", { key: tick },
      h("line", { x1: scale.left, x2: scale.right, y1: y(tick), y2: y(tick) }),
      h("text", { x: LEFT - 8, y: y(tick) + 4, textAnchor: "end" }, figure(tick / factor)))),
      h("text", { x: LEFT - 8, y: TOP - 8, textAnchor: "end" }, `${prefix}${strip.unit}`)),
    h("g", { className: "points" },
      h("path", { className: "spread", d: seen.map((m) => `M${scale.x(m.at)} ${y(m.low)}V${y(m.high) - 0.1}`).join("") }),
      h("path", { className: "means", d: seen.map((m) => `M${scale.x(m.at)} ${y(m.mean)}h0`).join("") })));
}

/** Ticks of one row, wide enough to be seen and narrow enough to be ticks. */
function Row({ kind, name, offsets, row, scale }) {
  const y = rowY(row);
  const width = Math.min(Math.max(scale.x(1) - scale.x(0) - 1, 2.5), 9);
  const seen = offsets.filter((offset) => offset >= scale.from && offset <= scale.to);
  const ticked = seen.map((offset) => `M${scale.x(offset) - width / 2} ${y + 4}h${width}v${ROW - 10}h${-width}z`);
  return h("g", { className: `track ${kind}` },
    h("text", { x: LEFT - 8, y: y + 15, textAnchor: "end" }, `${name} ${offsets.length}`),
    h("line", { x1: scale.left, x2: scale.right, y1: y + ROW - 5, y2: y + ROW - 5 }),
    h("path", { d: ticked.join("") }));
}

/** Where a step may lie, higher where it is likelier. */
function Suspects({ strip, scale }) {
  const y = rowY(ROWS.length);
  const clip = (value) => Math.min(Math.max(value, scale.left), scale.right);
  return h("g", { className: "track suspect" },
    h("text", { x: LEFT - 8, y: y + 15, textAnchor: "end" }, "suspected"),
    h("line", { x1: scale.left, x2: scale.right, y1: y + ROW - 5, y2: y + ROW - 5 }),
    strip.suspects.map(({ old, new: last, probability }) => {
      const [a, b] = [clip(scale.x(old + 0.5)), clip(scale.x(last + 0.5))];
      const tall = Math.max((ROW - 8) * Math.sqrt(probability), 2);
      return h("rect", { key: `${old}-${last}`, x: a, width: Math.max(b - a, 2.5), y: y + ROW - 5 - tall, height: tall });
    }));
}

/** What is known of one commit, in words. */
function said(strip, at, nouns) {
  const measured = strip.measured.find((m) => m.at === at);
  const words = ROWS.slice(1).filter(([, , of]) => of(strip).includes(at)).map(([, name]) => name(nouns));
  if (measured) words.unshift(`${quantity(measured.mean, strip.unit)} (n = ${measured.n})`);
  const share = strip.suspects.filter((s) => at > s.old && at <= s.new)
    .reduce((sum, s) => sum + s.probability / (s.new - s.old), 0);
  if (share > 0.0005) words.push(`suspected by ${percent(share)}`);
  return words.join(", ") || "not measured yet";
}

/** `pick` is told the label of the commit that was pointed at last. */
export function Strip({ strip, pick, nouns }) {
  const [at, setAt] = useState(null);
  const zoom = useZoom(0, strip.commits);
  const [commit] = useSettled(at === null ? null : `searches/${strip.searchid}/commits/${at}`) ?? [];
  const within = (value) => Math.min(Math.max(Math.round(value), 0), strip.commits);
  const words = at === null ? "" : said(strip, at, nouns);
  const label = commit?.label;
  useEffect(() => { if (label) pick(label); }, [label, pick]);
  return h("section", { className: "strip", "data-measured": strip.measured.length },
    h("div", { className: "head" }, h("h2", null, "Range"), h(ZoomButtons, { zoom, at })),
    h(Plot, {
      label: "The commits of the range", height: HEIGHT, left: LEFT, zoom, at, says: words,
      move: (value) => setAt(value === null ? null : within(value)),
      next: (value, sign) => within(value + sign),
      draw: (scale) => h("g", null,
        h(Values, { strip, scale }),
        ROWS.map(([kind, name, of], row) => h(Row, { key: kind, kind, name: name(nouns), offsets: of(strip), row, scale })),
        h(Suspects, { strip, scale }),
        h(Marks, { marks: strip.culprits.map((c) => ({ ...c, kind: "culprit" })), scale, top: TOP, bottom: HEIGHT,
          higherIsBetter: strip.higher_is_better }),
        at !== null && h("g", { className: "cursor" },
          h("line", { x1: scale.x(at), x2: scale.x(at), y1: TOP, y2: HEIGHT }))),
    }),
    h("p", { className: "readout" },
      at === null ? h("span", { className: "faint" }, "Point at a commit, or walk along with the arrow keys; + and − zoom.")
        : h("span", null, h("b", null, commit?.label ?? `commit ${at} of ${strip.commits}`), `: ${words}. `,
          commit && `${commit.subject} — ${commit.author}`)));
}
