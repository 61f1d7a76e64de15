"""Which variants are one another again, said by farm and local comparison alike."""

import pytest

from buildbot_bench.core.compare.schedule import no_op, same_as, why_one_image
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.metric import Metric, NoiseClass

SPEED = Metric(name="value", unit="MB/s")
COUNT = Metric(name="count", unit="instructions", noise=NoiseClass.EXACT)


def test_a_variant_is_the_first_of_those_that_came_out_alike() -> None:
    assert same_as(["a", "b", "a", "a", "b"]) == {2: 0, 3: 0, 4: 1}


def test_what_is_not_known_is_like_nothing() -> None:
    assert same_as([None, "a", None]) == {}


def test_a_kernel_is_the_same_but_for_its_version_and_other_builds_wholly() -> None:
    assert no_op("B", "A", ItemUnderTest.COMMAND) == "no-op change: the build of B is that of A"
    told = no_op("B", "A", ItemUnderTest.KERNEL)
    assert told == "no-op change: the kernel of B is that of A but for its version"


@pytest.mark.parametrize(
    ("metric", "most", "otherwise", "why"),
    [
        (COUNT, 16, "nothing is built", "instructions do not depend on the link order"),
        (SPEED, 16, "nothing is built", "nothing is built"),
        (SPEED, 1, "", "one of each was asked for"),
        (SPEED, 16, "", ""),
    ],
)
def test_why_there_is_one_image_of_each(
    metric: Metric, most: int, otherwise: str, why: str
) -> None:
    assert why_one_image(metric, most=most, otherwise=otherwise) == why
