"""The rows of docs/explanation/why-believe-it.md: what measures each, and how its figure reads."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.search_runs import OURS

Json = Any
Read = Callable[[Mapping[str, Json]], "Figure"]
ALL = ("-m", "benchmarks")
BIMODAL = "bimodal"
WRONG = 0.01  # of answers that say that they are 99 % sure


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What is run once for all its rows: words behind `python`, and the files that it writes.

    `shown` is what the page calls it. `goes_on`: with --out DIR it goes on from its files there.
    `why_not` says why it is not run here.
    """

    name: str
    shown: str
    words: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    files: tuple[str, ...] = ()
    goes_on: bool = False
    why_not: str = ""

    def gather(self, directory: Path) -> dict[str, Json]:
        """What it wrote there, by the names of the files."""
        there = [directory / name for name in self.files]
        return {file.stem: _read(file) for file in there if file.exists()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """What is measured, in words; and whether it is what was wanted."""

    text: str
    missed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureRow:
    """A row of the page, known by its question."""

    question: str
    source: Source
    read: Read | None = None


def _read(file: Path) -> Json:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def error_of(values: Sequence[float]) -> float:
    """The standard error of a mean."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def _mean_of(rows: Sequence[Json], name: str) -> str:
    values = [one[name] for one in rows]
    return f"{fmean(values):.1f} ± {error_of(values):.1f}"


def share_of(count: int, total: int) -> str:
    """A share in percent with its standard error."""
    share = count / total
    return f"{100 * share:.1f} ± {100 * (share * (1 - share) / total) ** 0.5:.1f} %"


def _alarms(found: Mapping[str, Json]) -> Figure:
    ways = {one["way"]: one for one in found["judge"]["recorded"]}
    ours, student = ways["the judge"], ways["Student 95 % against the neighbour"]
    text = (
        f"{ours['alarms']}, and {ours['found']} of {ours['changes']} changes found;"
        f" Student's t at 95 % alone: {student['alarms']}"
    )
    return Figure(text=text, missed=ours["found"] < ours["changes"])


def _worlds(found: Mapping[str, Json]) -> dict[str, Json]:
    return {row["row"]: row for row in found["worlds"]["rows"]}


def _wrong_in_worlds(found: Mapping[str, Json]) -> Figure:
    wrong = [one["wrong"] for row in _worlds(found).values() for one in row["searches"]]
    return Figure(text=f"{sum(wrong)} of {len(wrong):,}", missed=fmean(wrong) > WRONG)


def _boots(rows: Mapping[str, Json], wanted: Mapping[str, float]) -> Figure:
    """Boots and their standard errors of some rows, each beside the most that is wanted."""
    told = {name: rows[name] for name in wanted}
    text = " · ".join(f"{mean:.1f} ± {error:.1f}" for mean, error in told.values())
    return Figure(text=text, missed=any(told[name][0] > most for name, most in wanted.items()))


def _boots_in_worlds(wanted: Mapping[str, float]) -> Read:
    return lambda found: _boots({k: row["boots"] for k, row in _worlds(found).items()}, wanted)


def _boots_to_answer(found: Mapping[str, Json]) -> Figure:
    rows = {
        row["case"]: (row["iterations"], row["iterations_error"])
        for row in found["search"]["rows"]
        if row["policy"] == OURS
    }
    return _boots(rows, {"n 1600, step/noise 10": 14.5, "n 256, step/noise 2": 34})


def _second_speed(found: Mapping[str, Json]) -> Figure:
    (row,) = [
        one for one in found["search"]["rows"] if one["policy"] == OURS and BIMODAL in one["case"]
    ]
    count = round(row["wrong"] * row["replicates"])
    return Figure(text=share_of(count, row["replicates"]), missed=row["wrong"] > 0.005)


def _three_workloads(found: Mapping[str, Json]) -> Figure:
    times, error = found["incident"]["n 256, d 3"]
    return Figure(text=f"{times:.1f} ± {error:.1f}", missed=times > 1.9)


def _below_forecast(found: Mapping[str, Json]) -> Figure:
    done = found["forecasts"]
    below = [one["took_boots"] <= one["boots"][1] for one in done]
    steps = [kept for one, kept in zip(done, below, strict=True) if "four steps" in one["row"]]
    text = f"{share_of(sum(below), len(below))}; with four steps {sum(steps)} of {len(steps)}"
    return Figure(text=text, missed=fmean(below) < 0.9)


def _intervals(found: Mapping[str, Json]) -> Figure:
    holding, total = found["intervals"]["50 x ±.12 %"]
    return Figure(text=f"{100 * holding / total:.1f} %", missed=holding < 0.95 * total)


def _library(found: Mapping[str, Json]) -> Figure:
    """Ours against the ways that others have, on the smallest effect."""
    ways: dict[str, list[Json]] = {}
    for one in found["commands"]:
        if one["case"] == "-3 %":
            ways.setdefault(one["way"], []).append(one)
    wrong = {way: sum(map(_is_wrong, those)) for way, those in ways.items()}
    text = f"{wrong['ours']} of {len(ways['ours'])} in {_mean_of(ways['ours'], 'runs')} runs"
    if five := ways.get("git bisect run, 5"):
        text += f"; `git bisect run` on five {wrong['git bisect run, 5']} of {len(five)}"
    if other := ways.get("git_bayesect"):
        text += f"; git_bayesect {wrong['git_bayesect']} in {_mean_of(other, 'runs')}"
    return Figure(text=text, missed=wrong["ours"] > 0)


def _is_wrong(one: Json) -> bool:
    return one["named"] is not None and one["named"] != one["slow"]


def _busy(found: Mapping[str, Json]) -> Figure:
    done = found["recorded"]["cpu"]
    wrong, ended = sum(one["wrong"] for one in done), sum(one["ended"] for one in done)
    quick = sum(one["ended"] and one["runs"] <= 300 for one in done)
    text = f"{wrong} of {len(done)}; {quick} ended within 300 runs, {ended} in all"
    return Figure(text=text, missed=wrong > max(0.01 * len(done), 1))


def _functions(found: Mapping[str, Json]) -> Figure:
    runs = [one["right"] for name in ("why-embedded", "why-vm") for one in found[name]]
    return Figure(text=f"{sum(runs)} of {len(runs)}", missed=not all(runs))


def _violations(found: Mapping[str, Json]) -> Figure:
    those = [found["chaos"][name] for name in ("postgresql", "sqlite")]
    told = " · ".join(f"{one['violations']} after {one['kills']} kills" for one in those)
    text = f"{told}: [Chaos](../contributing/chaos.md)"
    return Figure(text=text, missed=any(one["violations"] for one in those))


def _idle(found: Mapping[str, Json]) -> Figure:
    ms = found["load"][-1]["idle_ms"]
    return Figure(text=f"{ms:.0f} ms: [Load](../contributing/load.md)", missed=ms > 100)


def _pauses(found: Mapping[str, Json]) -> Figure:
    told = found["pauses"]
    slowest = told["longest_s"]["page"]
    return Figure(text=f"{slowest:.1f} s of {told['opened']} pages", missed=slowest > 2)


def _plain(name: str, *options: str) -> Source:
    """What a command of `benchmarks` measures, which writes one file of its name."""
    return Source(
        name=name,
        shown=" ".join((name, *options)),
        words=(*ALL, name, *options),
        quick=("--replicates=5",) if options else ("--quick",),
        files=(f"{name}.json",),
    )


JUDGE = Source(
    name="judge", shown="judge --quick", words=(*ALL, "judge", "--quick"), files=("judge.json",)
)
WORLDS = _plain("worlds", "--seed=770000", "--replicates=25")
SEARCH = _plain("search", "--replicates=25")
SECOND_SPEED = Source(
    name="second-speed",
    shown="make figures OPTIONS=--only=second-speed",
    words=("-m", "benchmarks.search", "--ours", "--only", BIMODAL, "--replicates", "300"),
    quick=("--replicates", "10"),
    files=("search.json",),
)
INCIDENT = _plain("incident", "--replicates=50")
FORECASTS = _plain("forecasts")
INTERVALS = _plain("intervals")
FOREIGN = Source(
    name="foreign",
    shown="foreign DIR",
    why_not="DIR holds series that others measured, which are fetched",
)
COMMANDS = Source(
    name="commands",
    shown="commands",
    words=("-m", "benchmarks.commands.command", "--effects=-3 %", "--histories=8"),
    quick=("--histories=1",),
    files=("commands.jsonl",),
    goes_on=True,
)
RECORDED = Source(
    name="recorded",
    shown="recorded",
    words=("-m", "benchmarks.recorded.command", "--values=cpu"),
    files=("recorded.json",),
)
PERL = Source(
    name="recorded-perl", shown="recorded", why_not="the recording is of one machine's perl"
)
WHY = Source(
    name="why",
    shown="why",
    words=("-m", "benchmarks.why", "--runs=10"),
    quick=("--runs=1",),
    files=("why-embedded.json", "why-vm.json"),
)
BUSY_WHY = Source(name="why-busy", shown="why", why_not="it needs a machine that is so busy")
CHAOS = Source(
    name="chaos",
    shown="make chaos",
    words=("-m", "tests.chaos", "--kills=200", "--minutes=15"),
    quick=("--kills=5", "--minutes=1"),
    files=("chaos.json",),
)
LOAD = Source(name="load", shown="make load", words=(*ALL, "load"), quick=(), files=("load.json",))
BOX = Source(
    name="box",
    shown="make test-freebsd PART=box",
    why_not="it needs a source tree of FreeBSD, which is fetched",
)
PAUSES = Source(
    name="pauses",
    shown="pauses",
    words=("-m", "benchmarks.pauses"),
    quick=("30",),
    files=("pauses.json",),
)
CLEAN = "n 1600, d 10, noise 0.5 %, min-effect 2 %"
FAINT = "n 256, d 2, noise 1 %, min-effect 1.5 %"

# In the page's order; a question is known by its first words.
ROWS = (
    FigureRow(question="Alarms in the recorded years", source=JUDGE, read=_alarms),
    FigureRow(question="Wrong answers in labs", source=WORLDS, read=_wrong_in_worlds),
    FigureRow(
        question="Boots of these for a step",
        source=WORLDS,
        read=_boots_in_worlds({CLEAN: 18, FAINT: 42}),
    ),
    FigureRow(
        question="Boots of four steps",
        source=WORLDS,
        read=_boots_in_worlds({"IFLIB, four steps": 56}),
    ),
    FigureRow(question="Boots until the bare answer", source=SEARCH, read=_boots_to_answer),
    FigureRow(question="Wrong answers on a testbed", source=SECOND_SPEED, read=_second_speed),
    FigureRow(question="Boots for three workloads", source=INCIDENT, read=_three_workloads),
    FigureRow(question="Searches that end below", source=FORECASTS, read=_below_forecast),
    FigureRow(question="95 % intervals", source=INTERVALS, read=_intervals),
    FigureRow(question="PHP's nightly series", source=FOREIGN),
    FigureRow(question="Other alarms there", source=FOREIGN),
    FigureRow(question="`--local`, histories", source=COMMANDS, read=_library),
    FigureRow(question="`--local` on a machine", source=RECORDED, read=_busy),
    FigureRow(question="The same of perl", source=PERL),
    FigureRow(question="The report names the function", source=WHY, read=_functions),
    FigureRow(question="The same at a load above 30", source=BUSY_WHY),
    FigureRow(question="Violations on", source=CHAOS, read=_violations),
    FigureRow(question="An idle cycle", source=LOAD, read=_idle),
    FigureRow(question="Minutes on a box", source=BOX),
    FigureRow(question="The slowest page", source=PAUSES, read=_pauses),
)
