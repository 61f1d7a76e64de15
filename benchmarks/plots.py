"""`python -m benchmarks plots`: draw the figures in benchmarks/out/ as SVG beside them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from buildbot_bench.render.plots.canvas import BAND, INK, MUTED, NEW, OLD, Format, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT = Path(__file__).parent / "out"
OURS, LEARNER, GENIE, JUDGE = "ours", "learner", "genie", "the judge"
# Ways that are told what no search is told, for comparison with ours alone.
TOLD_MORE = {LEARNER, GENIE}
NO_PEERS = {OURS, *TOLD_MORE}
LENGTHS = (256, 1600)
# A way that is wrong more often than this bought its few iterations with wrong answers.
WRONG_TOO_OFTEN = 0.05
DARK = 40  # percent wrong from which a cell's colour wants white figures

Json = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Draw what there are figures for, and say what was drawn."""
    parser = argparse.ArgumentParser(prog="benchmarks plots", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures are")
    options = parser.parse_args(argv)
    for name, picture in pictures(options.out).items():
        (options.out / name).write_bytes(picture)
        print(f"  {options.out.name}/{name}")
    return 0


def pictures(out: Path) -> dict[str, bytes]:
    """Each picture by its file's name; none for a benchmark that did not run."""
    drawn: list[tuple[str, str, float, Callable[[Axes], None]]] = []
    if search := _figures(out / "search.json"):
        rows = search["rows"]
        for n in LENGTHS:
            if cells := [row for row in rows if row["n"] == n and _is_plain(row)]:
                title = f"Iterations of a search over {n} commits (hollow: more than 5 % wrong)"
                drawn.append((f"search-{n}", title, 4.2, partial(_iterations, cells)))
        if any(row["policy"] not in NO_PEERS for row in rows):
            title = "Wrong answers in percent"
            height_in = 1.5 + 0.22 * len(_compared(rows))
            drawn.append(("search-wrong", title, height_in, partial(_wrong, rows)))
        title = "Of the steps that were said to be so sure, so many are right"
        drawn.append(("search-calibration", title, 3.6, partial(_calibration, search)))
    if years := _figures(out / "judge.json").get("years"):
        title = "Alarms on the recorded years: lines are changes that stayed"
        drawn.append(("judge-years", title, 1 + 0.9 * len(years), partial(_years, years)))
    return {
        f"{name}.svg": draw(paint, form=Format.SVG, title=title, height_in=height_in)
        for name, title, height_in, paint in drawn
    }


def _figures(path: Path) -> Json:
    figures: Json = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return figures


def _is_plain(row: Json) -> bool:
    """Whether a row is one of a clean step, with nothing known before."""
    return row["d"] is not None and "known" not in row["case"]


def _iterations(rows: list[Json], axes: Axes) -> None:
    ways = dict.fromkeys(row["policy"] for row in rows)
    for number, way in enumerate(ways):
        cells = sorted((row for row in rows if row["policy"] == way), key=lambda row: row["d"])
        sizes = np.array([row["d"] for row in cells])
        iterations = np.array([max(row["iterations"], 1e-9) for row in cells])
        is_wrong = np.array([row["wrong"] > WRONG_TOO_OFTEN for row in cells])
        style: Json = {"lw": 0.8, "color": f"C{number}", "marker": "o", "markersize": 4}
        if way in NO_PEERS:
            style = {"lw": 2, "color": OLD if way == OURS else MUTED, "marker": "o"}
            style["ls"] = ":" if way == LEARNER else "-"
        axes.plot(sizes, iterations, label=way, markevery=list(np.flatnonzero(~is_wrong)), **style)
        style |= {"markerfacecolor": "white", "lw": 0}
        axes.plot(sizes[is_wrong], iterations[is_wrong], **style)
    bounds = sorted({(row["d"], row["bound"]) for row in rows})
    axes.plot(*zip(*bounds, strict=True), color=INK, lw=1.5, ls="--", label="bound")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(ticks := [d for d, _ in bounds], [f"{d:g}" for d in ticks])
    axes.set_xlabel("size of the step, in deviations between boots")
    axes.set_ylabel("iterations")
    axes.legend(loc="upper right", ncols=2, fontsize=7)


def _compared(rows: list[Json]) -> list[str]:
    """The cases on which others were tried."""
    return list(dict.fromkeys(row["case"] for row in rows if row["policy"] not in NO_PEERS))


def _wrong(rows: list[Json], axes: Axes) -> None:
    cases = _compared(rows)
    ways = [w for w in dict.fromkeys(row["policy"] for row in rows) if w not in TOLD_MORE]
    wrong = {(row["case"], row["policy"]): 100 * row["wrong"] for row in rows}
    table = np.array([[wrong.get((case, way), np.nan) for way in ways] for case in cases])
    axes.imshow(np.sqrt(table), cmap="Oranges", vmin=0, vmax=10, aspect="auto")
    axes.grid(visible=False)
    for y, line in enumerate(table):
        for x, share in enumerate(line):
            if np.isfinite(share):
                ink = "white" if share > DARK else INK
                axes.text(x, y, f"{share:.3g}", ha="center", va="center", fontsize=7, color=ink)
    axes.set_xticks(range(len(ways)), ways, rotation=30, ha="right", fontsize=7)
    axes.set_yticks(range(len(cases)), cases, fontsize=7)


def _calibration(search: Json, axes: Axes) -> None:
    """Clopper and Pearson's 95 % intervals about the shares that were right."""
    table = [line for line in search["calibration"] if "said" in line and line["steps"]]
    for x, line in enumerate(table):
        steps = int(line["steps"])
        right = round(line["right"] * steps)
        low, high = stats.binomtest(right, steps).proportion_ci(0.95, method="exact")
        axes.plot([x, x], [100 * low, 100 * high], color=BAND, lw=5, solid_capstyle="butt")
        axes.plot(x, 100 * line["right"], "o", color=OLD)
        axes.plot(x, 100 * line["said"], "_", color=NEW, markersize=16)
    labels = [f"≥ {100 * line['said']:g} %\n{line['steps']} steps" for line in table]
    axes.set_xticks(range(len(table)), labels)
    axes.set_ylabel("percent (dash: as said)")
    axes.margins(x=0.15)


def _years(years: list[Json], axes: Axes) -> None:
    """A strip a year: means of the builds, known changes, Student's alarms below, ours above."""
    for number, year in enumerate(reversed(years)):
        means = np.array(year["means"])
        x = np.arange(len(means))
        y = number + 0.25 + 0.45 * (means - means.min()) / max(float(np.ptp(means)), 1e-9)
        axes.vlines(year["changes"], number + 0.05, number + 0.85, color=MUTED, lw=1)
        axes.plot(x, y, ".-", color=OLD, lw=0.6, markersize=3)
        alarms = dict(year["alarms"])
        axes.plot(ours := alarms.pop(JUDGE), [number + 0.82] * len(ours), "v", color=NEW)
        student = next(iter(alarms.values()))
        axes.plot(student, [number + 0.1] * len(student), "|", color=INK, markersize=4)
    axes.set_yticks(
        np.arange(len(years)) + 0.45, [year["name"] for year in reversed(years)], fontsize=7
    )
    axes.set_xlabel("build of the year; triangles: the judge; ticks: Student's t at 95 %")


if __name__ == "__main__":
    sys.exit(main())
