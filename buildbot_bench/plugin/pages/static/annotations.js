// Where the names of changes stand above a chart; it draws nothing.

import { change, plain } from "./ui.js";

const BESIDE = 7; // pixels between a change's line and its name
const NAMED = 24; // letters of a label

/** What people said of a change: "✎ noise"; of several at one commit each once. */
export function saidOf(marks) {
  const words = [...new Set(marks.map((mark) => mark.said).filter(Boolean))];
  return words.length > 0 ? `✎ ${words.map((said) => plain(said, NAMED)).join(", ")}` : "";
}

/**
 * What is said of a change: "r311849 −26.5 % ✎ expected"; of several at one commit all effects.
 * What people said stays longest where there is no room.
 */
export function wordsOf(marks) {
  const effects = [...new Set(marks.map((mark) => change(mark.effect)).filter(Boolean))];
  const said = saidOf(marks);
  const label = plain(marks[0].label, NAMED);
  return [[label, effects.join(", "), said], [effects.join(", "), said], [effects[0], said], [said]]
    .map((words) => words.filter(Boolean).join(" ")).filter(Boolean);
}

/** The changes of some series, those at one position together, by position. */
export function changesOf(members) {
  const found = new Map();
  for (const { arrays } of members) {
    for (const mark of arrays.marks) {
      const worse = (mark.effect ?? 0) < 0 === arrays.higher_is_better;
      found.set(mark.position, [...(found.get(mark.position) ?? []), { ...mark, worse }]);
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([position, marks]) => ({ position, marks }));
}

/**
 * The changes with `lane`, `text` and `left`, where a name stands: the largest effects take their
 * places first. `text` is null where there is no room in any lane.
 */
export function placed(changes, { x, width, left, right, lanes }) {
  const taken = Array.from({ length: lanes }, () => []);
  const size = ({ marks }) => Math.max(...marks.map((mark) => Math.abs(mark.effect ?? 0)));
  const free = (lane, low, high) => low >= left && high <= right
    && taken[lane].every(([a, b]) => high + BESIDE <= a || low - BESIDE >= b);
  const seat = (change) => {
    const at = x(change.position);
    for (const text of wordsOf(change.marks)) {
      const wide = width(text);
      for (let lane = 0; lane < lanes; lane += 1) {
        for (const low of [at + BESIDE, at - BESIDE - wide]) {
          if (free(lane, low, low + wide)) {
            taken[lane].push([low, low + wide]);
            return { lane, text, left: low };
          }
        }
      }
    }
    return { lane: 0, text: null, left: at };
  };
  const seats = new Map([...changes].sort((a, b) => size(b) - size(a)).map((one) => [one, seat(one)]));
  return changes.map((one) => ({ ...one, at: x(one.position), ...seats.get(one) }));
}
