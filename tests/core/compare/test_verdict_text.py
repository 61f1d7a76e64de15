"""A verdict on two sides of a comparison, in the words that people read."""

import pytest

from buildbot_bench.core.compare.text import verdict_text
from buildbot_bench.core.compare.verdict import (
    Better,
    ComparedSides,
    NoDifference,
    SidesVerdict,
    Undecided,
    WithinLayoutLuck,
    Worse,
)
from buildbot_bench.core.contrast.needed import MOST, MoreOfEach


@pytest.mark.parametrize(
    ("verdict", "separated", "said"),
    [
        (Worse(), True, "worse"),
        (Better(), False, "better, not separated from layout"),
        (NoDifference(least=0.02), False, "no difference of 2 % or more"),
        (WithinLayoutLuck(needs=None), False, "within the luck of layout"),
        (
            WithinLayoutLuck(needs=MoreOfEach(boots=10, images=5)),
            True,
            "within the luck of layout: needs about 10 more boots of each, on about 5 more images",
        ),
        (
            Undecided(needs=MoreOfEach(boots=1, images=0)),
            True,
            "undecided: needs about 1 more boot of each",
        ),
        (
            Undecided(needs=None, student="worse"),
            False,
            "cannot be decided with one image of each, worse by Student's t",
        ),
        (
            Undecided(needs=None, student="no sign"),
            False,
            "cannot be decided with one image of each",
        ),
        (
            Undecided(needs=MoreOfEach(boots=MOST, images=MOST)),
            True,
            "undecided: needs 99 more boots or yet more of each, on 99 more images or yet more",
        ),
    ],
)
def test_a_verdict_is_said_with_what_would_tell_more(
    verdict: SidesVerdict, separated: bool, said: str
) -> None:
    found = ComparedSides(
        verdict=verdict, effect=0.0, low=0.0, high=0.0, separated=separated, student=None
    )
    assert verdict_text(found) == said
