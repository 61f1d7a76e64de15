"""What people ask a farm for, as commands send it and REST reads it; null is the default."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from buildbot_bench.core.json_model import Fraction, Name, Rule
from buildbot_bench.core.limits import DEFAULT_IMAGES, MOST_IMAGES
from buildbot_bench.core.sharing import PersonPriority

DEFAULT_ITERATIONS = 5
MOST_BOOTS = 100
_LEAST = 3
_MOST_PATCHES = 20

Boots = Annotated[
    int,
    Rule(
        minimum=_LEAST,
        maximum=MOST_BOOTS,
        hint=f"Student's t needs {_LEAST}; {DEFAULT_ITERATIONS} are usual",
    ),
]
Images = Annotated[int, Rule(minimum=1, maximum=MOST_IMAGES)]
Patches = Annotated[Mapping[str, bytes], Rule(maximum=_MOST_PATCHES)]
"""The files that variants name, by their names there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchQuestion:
    """A search of (old, new], as a person wrote it; what is None is chosen for them.

    `min_effect` is a fraction of the old level, `error` how often the answer may be wrong. The
    commit `with_` is applied to each revision that it fits and that lacks it, and each
    NAME=VALUE of `tunables` is set before the traffic. `value` names the one, of many values of a
    run, that is searched. With `first_parent` a merge is one commit; bench.yml may say so of all.
    """

    old: Name
    new: Name
    testbed: str | None = None
    workload: str | None = None
    min_effect: Fraction | None = None
    error: Fraction | None = None
    with_: str | None = None
    tunables: tuple[str, ...] = ()
    value: Name | None = None
    first_parent: bool = False
    priority: PersonPriority = PersonPriority.NORMAL


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonQuestion:
    """A comparison that a person thinks of; empty testbeds or workloads mean all of them.

    `variants` are as people write them, the base first; `labels` what some of them are to be
    called, by what is written. There are `iterations` boots of each one's first image, and at most
    `images` of each. `priority` weighs its boots against others'.
    """

    variants: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    testbeds: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    iterations: Boots = DEFAULT_ITERATIONS
    images: Images = DEFAULT_IMAGES
    min_effect: Fraction | None = None
    patches: Patches = field(default_factory=dict)
    priority: PersonPriority = PersonPriority.NORMAL


@dataclass(frozen=True, kw_only=True, slots=True)
class Extension:
    """What a comparison is to have more: `more` boots of each or `iterations` in all, variants.

    `images` is how many of each there may be, None for as many as it has.
    With none of these it goes on where it was cancelled, or failed.
    """

    variants: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    iterations: Boots | None = None
    images: Images | None = None
    more: Annotated[int, Rule(minimum=0, maximum=MOST_BOOTS)] = 0
    patches: Patches = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class MoreBoots:
    """So many boots of a revision; `fresh` has its kernel built anew, for another layout."""

    revision: Name
    iterations: Annotated[int, Rule(minimum=1, maximum=MOST_BOOTS)] = 1
    fresh: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkAsked:
    """What a report or a verdict was, and the revision that fixed it."""

    mark: Name
    revision: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseAsked:
    """The end of a quarantine; after a false alarm what was measured meanwhile counts."""

    false_alarm: bool = False
