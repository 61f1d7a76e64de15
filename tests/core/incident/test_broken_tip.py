"""When a branch calls for a search, and when what broke it is over."""

from collections.abc import Iterable

import pytest

from buildbot_bench.core.incident.breakage import broken_tip, mended
from buildbot_bench.core.incident.model import BrokenTip, Mended, Trial, TrialOutcome

WORKS, BROKEN, HIDDEN, LOST = TrialOutcome


def history(words: str, first: int = 10) -> Iterable[Trial]:
    """One trial a letter: w works, b is broken, h is hidden, l is lost."""
    kinds = {"w": WORKS, "b": BROKEN, "h": HIDDEN, "l": LOST}
    return [Trial(position=first + at, outcome=kinds[word]) for at, word in enumerate(words)]


@pytest.mark.parametrize(
    ("words", "tip"),
    [
        ("wbbb", (10, 13)),
        ("wwbwbbbb", (13, 17)),
        ("wbhblb", (10, 15)),
        ("wbb", None),
        ("bbbb", None),
        ("wbbbw", None),
        ("", None),
    ],
)
def test_three_commits_in_a_row_call_for_a_search(words, tip):
    found = broken_tip(history(words))
    assert found == (None if tip is None else BrokenTip(works=tip[0], broken=tip[1]))


@pytest.mark.parametrize(
    ("words", "since_", "told"),
    [
        ("wbbbw", 11, (13, 14)),
        ("wbbhlw", 11, (12, 15)),
        ("wbbwbw", 11, (12, 13)),
        ("wbbb", 11, None),
        ("wwwb", 13, None),
    ],
)
def test_a_breakage_ends_with_the_first_commit_that_works_again(words, since_, told):
    found = mended(history(words), since_)
    assert found == (None if told is None else Mended(old=told[0], new=told[1]))
