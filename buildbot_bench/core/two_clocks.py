"""Which of wall-clock and processor time shows a change between two sides, where only one does."""

from collections.abc import Sequence

from buildbot_bench.core import ministat
from buildbot_bench.core.figures import threshold
from buildbot_bench.core.run_times import RunTimes

# Student's t's, in percent: the sentence is read beside an answer that is sure at 99 %.
_CONFIDENCE = 99.0


def disagreement(old: Sequence[RunTimes], new: Sequence[RunTimes], min_effect: float) -> str:
    """Return a sentence where one of wall and processor time shows a change and the other does not.

    Changes are of `min_effect`, a fraction, at 99 %. Empty where both show one, or runs are few.
    """
    if min(len(old), len(new)) < ministat.MIN_VALUES:
        return ""
    wall, cpu = (
        ministat.compare(
            [getattr(one, clock) for one in old],
            [getattr(one, clock) for one in new],
            confidence=_CONFIDENCE,
        )
        for clock in ("wall_s", "cpu_s")
    )
    if _is_change(wall, min_effect) == _is_change(cpu, min_effect):
        return ""
    pairs = [("wall-clock time", wall), ("processor time", cpu)]
    (seen, shown), (unseen, other) = pairs if _is_change(wall, min_effect) else pairs[::-1]
    return (
        f"{seen.capitalize()} changes by {_figures(shown)}; of {unseen} no change of "
        f"{threshold(min_effect)} is shown: {_figures(other)}."
    )


def _is_change(found: ministat.Comparison, min_effect: float) -> bool:
    return found.significant and abs(found.difference_percent) >= 100 * min_effect


def _figures(found: ministat.Comparison) -> str:
    return f"{found.difference_percent:+.2g} % (± {found.error_percent:.2g} %)"
