"""Forecasts, probes and searches in words, for a terminal, in ASCII."""

import time
from collections.abc import Sequence
from statistics import median

from buildbot_bench.api.answers import (
    ForecastAsked,
    ForecastShown,
    ForecastSpread,
    ProbeShown,
    ProbeState,
    RangeAsked,
    RangeShown,
    RevisionShown,
    SearchShown,
    SearchState,
    SuspectShown,
)
from buildbot_bench.api.requests import MarkAsked
from buildbot_bench.core.figures import count, hours_text, quantity, sureness
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.render.layout import columns

_SUBJECT_WIDTH = 60

_OUTCOMES = {
    SearchState.RUNNING: "still runs",
    SearchState.CANCELLING: "is being cancelled",
    SearchState.CANCELLED: "was cancelled",
    SearchState.FOUND: "found what changed",
    SearchState.SLOPE: "found a slope: no commit changes enough by itself",
    SearchState.NOT_REPRODUCED: "ended: the ends do not differ",
    SearchState.INCONCLUSIVE: "ended without a certain answer",
    SearchState.FAILED: "failed",
}


def range_text(old: str, new: str, commits: int) -> str:
    """`(r311848, r313448], 1,600 commits`: the old end is not suspected, the new one is."""
    return f"({old}, {new}], {count(commits, 'commit')}"


def clock(at_s: float) -> str:
    """The local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at_s))


def question_text(question: RangeAsked) -> str:
    """What is searched, with its ends."""
    return "\n".join([*_ends(question), *question.warnings])


def _ends(question: RangeShown) -> list[str]:
    span = range_text(question.old.label, question.new.label, question.commits)
    return [
        f"{span}: {question.workload} on {question.testbed}",
        f"  old  {_end_text(question.old)}",
        f"  new  {_end_text(question.new)}",
    ]


def forecast_text(forecast: ForecastAsked, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """What is searched, and what it will cost, as a small table."""
    return "\n".join([*_ends(forecast), cost_text(forecast, item), *forecast.warnings])


def cost_text(forecast: ForecastShown, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """What a search will cost, as a small table."""

    def row(name: str, spread: ForecastSpread) -> str:
        return f"{name:<10}  {spread.median:>9.0f}  {spread.p90:>9.0f}"

    hours, (image, iteration) = forecast.hours, _nouns(item.iteration)
    lines = [
        f"{'forecast':<10}  {'median':>9}  {'9 in 10':>9}",
        row(f"{image}s", forecast.images),
        row(f"{iteration}s", forecast.iterations),
        f"{'time':<10}  {hours_text(hours.median):>9}  {hours_text(hours.p90):>9}",
    ]
    if forecast.known_iterations:
        known = count(forecast.known_iterations, f"known {iteration}")
        lines.append(f"The search reuses {known}.")
    return "\n".join(lines)


def _nouns(iteration: str) -> tuple[str, str]:
    """What an image and an iteration are called where they are counted."""
    if iteration == ItemUnderTest.COMMAND.iteration:
        return ItemUnderTest.COMMAND.image, iteration
    return "image", "iteration"


def _end_text(end: RevisionShown) -> str:
    subject = end.subject
    if len(subject) > _SUBJECT_WIDTH:
        subject = subject[: _SUBJECT_WIDTH - 3] + "..."
    return f"{end.label}  {end.sha[:12]}  {subject}"


def remaining_text(search: SearchShown) -> str:
    """What is done, and what the forecast leaves."""
    image, iteration = _nouns(search.nouns.iteration)
    built = count(search.images_built, image)
    done = f"{count(search.iterations_done, iteration)} and {built} so far"
    forecast = search.forecast
    if forecast is None:
        return done
    expected = forecast.iterations
    left = expected.median - search.iterations_done
    if left > 0:
        hours = forecast.hours.median * left / expected.median
        return f"{done}; about {left:.0f} {iteration}s and {hours_text(hours)} to go"
    if search.iterations_done <= expected.p90:
        most = f"{expected.p90:.0f} {iteration}s"
        return f"{done}; longer than most: 9 of 10 searches end by {most}"
    return f"{done}; longer than 9 of 10 searches"


def outcome_text(search: SearchShown) -> str:
    """One line for a search that has nothing longer to say."""
    detail = f": {search.now}" if search.now else ""
    outcome = _OUTCOMES[search.state]
    if search.kind != "effect" and search.state is SearchState.NOT_REPRODUCED:
        outcome = "ended: the branch works"
    return f"search {search.searchid} {outcome}{detail}"


def mark_text(number: int, said: MarkAsked) -> str:
    """One line for a mark that the farm has taken."""
    fix = f" by {said.revision}" if said.revision else ""
    boots = "; fresh measurements follow" if said.mark == "again" else ""
    if said.mark == "withdrawn":
        return f"search {number} is no longer marked"
    return f"search {number} is marked: {said.mark}{fix}{boots}"


def release_text(testbed: str, *, false_alarm: bool) -> str:
    """One line for a testbed that works again, and what became of what it measured."""
    meanwhile = "count" if false_alarm else "stay unused"
    return f"{testbed} is released; its measurements in quarantine {meanwhile}"


def suspects_text(suspects: Sequence[SuspectShown]) -> str:
    """`suspects 3, 93 % in (r311848, r311901]`, or nothing while there are none."""
    if not suspects:
        return ""
    first = max(suspects, key=lambda suspect: suspect.probability)
    return f"suspects {len(suspects)}, {sureness(first.probability)} in ({first.old}, {first.new}]"


def result_text(probe: ProbeShown) -> str:
    """What a probe gave: its value, the reason why there is none, or its state."""
    if probe.values:
        value = f"{quantity(median(probe.values))} {probe.unit}".rstrip()
        return value if len(probe.values) == 1 else f"{value} (median of {len(probe.values)})"
    if probe.failure:
        return probe.failure
    if probe.state is ProbeState.LOST:
        return "lost"
    return "no value" if probe.state is ProbeState.DONE else str(probe.state)


def revision_text(probe: ProbeShown) -> str:
    """The probe's revision, with the image's number when it is not the first."""
    return f"{probe.label}#{probe.image}" if probe.image else probe.label


def probe_line(probe: ProbeShown) -> str:
    """`12:03:41  probe 7  r312648  540,123 pps`."""
    at = "--:--:--" if probe.at is None else clock(probe.at)
    return f"{at}  probe {probe.serial}  {revision_text(probe)}  {result_text(probe)}"


def what_is_searched(search: SearchShown) -> str:
    """The series, or what the branch does not do any more."""
    match search.kind:
        case "build":
            return "what does not build"
        case "boot":
            return f"what does not {search.nouns.iteration} {search.workload} on {search.testbed}"
    return f"{search.workload} on {search.testbed}"


def searches_text(searches: Sequence[SearchShown]) -> str:
    """A list of searches as a table with a heading."""
    rows = [
        (
            str(search.searchid),
            str(search.state),
            begun(search.created_at),
            f"({search.old.label}, {search.new.label}]",
            what_is_searched(search),
            search.requester,
        )
        for search in searches
    ]
    return table_text(("ID", "STATE", "BEGUN", "RANGE", "MEASURED", "BY"), rows, "searches")


def begun(at_s: float) -> str:
    """When something was asked for, in local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))


def table_text(headings: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> str:
    """Rows as aligned columns, as a terminal shows them, or that there are none of `what`."""
    if not rows:
        return f"no {what} yet"
    lines = columns([headings, *rows], "l" * len(headings))
    return "\n".join(line.rstrip() for line in lines)
