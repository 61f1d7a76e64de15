"""Variants whose kernels are identical, and the reason why a variant has a single image."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.sample import Metric, NoiseClass


def same_as(built: Sequence[Hashable | None]) -> dict[int, int]:
    """By the places of variants that came out as one before them, the place of that one.

    `built` tells what each came out as; None where that is not known, or does not matter.
    """
    first: dict[Hashable, int] = {}
    same: dict[int, int] = {}
    for place, one in enumerate(built):
        if one is None:
            continue
        if one in first:
            same[place] = first[one]
        else:
            first[one] = place
    return same


def no_op(label: str, other: str, item: ItemUnderTest) -> str:
    """Why a variant is not measured that came out as another one."""
    # A kernel holds when and where it was built; what else is compared is compared byte for byte.
    but = " but for its version" if item is ItemUnderTest.KERNEL else ""
    return f"no-op change: the {item.built} of {label} is that of {other}{but}"


def why_one_image(metric: Metric, *, most: int, otherwise: str) -> str:
    """Why no variant has further images; '' where each may have some.

    `most` is how many of each were asked for, `otherwise` what the set-up or the builds say.
    """
    if metric.noise is NoiseClass.EXACT:
        return f"{metric.unit} do not depend on the link order"
    return otherwise or ("one of each was asked for" if most == 1 else "")
