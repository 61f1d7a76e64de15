"""The table of the ways' answers and costs, as means with standard errors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from benchmarks.commands.ways import Searched
from benchmarks.verdicts import Verdict, of_mean, of_share

FIVE, OURS, RELINKED = "git bisect run, 5", "ours", "ours, relinked"
_ALLOWED = {"-3 %": 0.05}  # wrong answers; none elsewhere
_CHEAPER = ("-5 %", "-25 %")  # where ours is to take fewer runs than a threshold of five
_COUNTED, _RUNS_OF_ONE = "-1 %, instructions", 2


@dataclass(frozen=True, kw_only=True)
class Outcome(Searched):
    """What a way made of a history: `slow` is the truth, `noise` the spread of runs before it.

    `load` is the machine's load average when it began, `build_s` what building all commits took.
    """

    case: str
    history: int
    way: str
    slow: int
    noise: float
    load: float
    build_s: float

    @property
    def wrong(self) -> bool:
        """Whether it names a commit that is not slow."""
        return self.named is not None and self.named != self.slow


def show(cases: Sequence[str], outcomes: Sequence[Outcome]) -> None:
    """A line for each way of each case, and what was wanted."""
    print("effect               way                  N  wrong  none          runs      minutes")
    for case in cases:
        own = [one for one in outcomes if one.case == case]
        for way in dict.fromkeys(sorted((one.way for one in own), key=_last)):
            _line(case, way, [one for one in own if one.way == way])
        for wanted in _wanted(case, own):
            print(f"  wanted: {wanted}")
    if outcomes:
        noises, loads = ([getattr(one, name) for one in outcomes] for name in ("noise", "load"))
        print(
            f"Single runs differed by {median(noises):.1%} (sd; the histories' median, "
            f"{min(noises):.1%} to {max(noises):.1%}); the load average was {median(loads):.1f}.\n"
            f"Building all commits took {fmean(one.build_s for one in outcomes):.0f} s a history, "
            "which is in no minutes: all ways take what was built."
        )


def _last(way: str) -> tuple[bool, str]:
    return way.startswith(OURS), way


def _line(case: str, way: str, own: Sequence[Outcome]) -> None:
    wrong, none = sum(one.wrong for one in own), sum(one.named is None for one in own)
    runs, minutes = mean(one.runs for one in own), mean(one.wall_s / 60 for one in own)
    print(
        f"{case:20s} {way:18s} {len(own):3d} {wrong:6d} {none:5d}"
        f" {runs[0]:7.1f} ± {runs[1]:4.1f} {minutes[0]:7.2f} ± {minutes[1]:.2f}"
    )


def mean(values: Iterable[float]) -> tuple[float, float]:
    """The mean and its standard error, 0 where there is but one value."""
    known = list(values)
    error = stdev(known) / len(known) ** 0.5 if len(known) > 1 else 0.0
    return fmean(known), error


def _wanted(case: str, own: Sequence[Outcome]) -> Iterable[str]:
    """What ours is to reach, and whether it does; no answer is a wrong one here."""
    relinked = [one for one in own if one.way == RELINKED]
    ours = relinked or [one for one in own if one.way == OURS]
    if not ours:
        return
    missed = sum(one.named != one.slow for one in ours)
    most = _ALLOWED.get(case, 0.0)
    yield f"wrong or none of ours ≤ {most:.0%}: {of_share(missed, len(ours), most)}"
    five = [one for one in own if one.way == FIVE]
    if five and case in _CHEAPER:
        runs, error = mean(one.runs for one in ours)
        most_runs = mean(one.runs for one in five)[0]
        yield f"runs of ours < {most_runs:.0f}: {of_mean(runs, error, most_runs)}"
    if case == _COUNTED:
        worst = max(one.most_runs for one in ours)
        each = fmean(one.runs / one.revisions for one in ours if one.revisions)
        kept = Verdict.REACHED if worst <= _RUNS_OF_ONE else Verdict.MISSED
        yield f"runs of a revision ≤ {_RUNS_OF_ONE}: {each:.1f} on average, at most {worst}: {kept}"
