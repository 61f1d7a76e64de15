// What is said of one measured point: its values, its commit, and where to read on.

import { branchQuery, seriesPath, useSettled } from "./api.js";
import { saidOf } from "./annotations.js";
import { change, CommitLink, count, day, h, Links, plain, quantity, SearchLink } from "./ui.js";

/** What a point says: `r311849: 1.03 Mpps (1.02 Mpps to 1.04 Mpps, 5 iterations)`. */
export function pointText(arrays, at) {
  const [mean, low, high] = [arrays.means, arrays.lows, arrays.highs].map((of) => quantity(of[at], arrays.unit));
  const counted = count(arrays.counts[at], ["size", "build"].includes(arrays.cost) ? "build" : "iteration");
  return `${plain(arrays.labels[at], 40)}: ${mean} (${low === high ? "" : `${low} to ${high}, `}${counted})`;
}

/** The commit of a point, once one has stood still on it; null before. */
export function useCommit(arrays, at) {
  const path = at === null ? null : `history/${seriesPath(arrays)}/${arrays.positions[at]}${branchQuery(arrays)}`;
  return (useSettled(path) ?? [null])[0];
}

/** `✎ noise — ann`: what a person said of a change. */
export function SaidOf({ mark }) {
  return h("span", { className: "said" }, h("b", null, saidOf([mark])),
    mark.by && h("span", { className: "faint" }, " — ", h("bdi", null, plain(mark.by, 40))));
}

/** The changes of level that are known at a point. */
function Changed({ arrays, at }) {
  const marks = arrays.marks.filter((mark) => mark.position === arrays.positions[at]);
  return marks.map((mark) => h("span", { key: mark.kind, className: "changed" },
    `${mark.kind} ${change(mark.effect)} `, mark.searchid && h(SearchLink, { id: mark.searchid }),
    mark.said && [" ", h(SaidOf, { key: "said", mark })]));
}

/** All of it; `commit` may be null. */
export function Point({ arrays, at, commit, title }) {
  const judged = !arrays.cost && commit;
  const pages = [["commit", commit?.links?.commit], ["diff", commit?.links?.diff]].filter(([, address]) => address);
  return h("div", { className: "point" },
    title && h("div", { className: "faint" }, title),
    h("div", null, h("b", null, pointText(arrays, at)), " ", h("span", { className: "faint" }, day(arrays.times[at]))),
    h(Changed, { arrays, at }),
    // A commit that a rewritten branch has left has no words any more.
    commit?.subject && h("div", { className: "commit" }, h("bdi", null, plain(commit.subject)),
      commit.author && h("span", { className: "faint" }, " — ", h("bdi", null, plain(commit.author)))),
    commit && h("div", null,
      judged && commit.contrast && h("span", null, `${change(commit.contrast.difference)} against ${plain(commit.contrast.old.label, 40)} · `),
      h(CommitLink, { revision: commit.sha }, "commit and ministat"),
      pages.length > 0 && h("span", null, " · in the repository: ", h(Links, { of: pages })),
      judged && commit.samples?.length > 0 && h("span", { className: "faint boots" }, " values: ",
        commit.samples.map((sample) => sample.values.map((value) => quantity(value, arrays.unit)).join(", ")).join(" | "))));
}
