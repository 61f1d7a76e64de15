"""Checks of a comparison's variants, which are the same kernel, and notes on what it held."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from buildbot_bench.core.compare.schedule import MAX_VARIANTS, MIN_VARIANTS
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.limits import MOST_LABEL
from buildbot_bench.core.report.words import count
from buildbot_bench.core.sample import Metric, NoiseClass
from buildbot_bench.core.wire import RECORDED_BOOTS


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What tells a variant from others: `recipe` is built, `tunables` are set when it runs.

    `variant` is how people write it, `label` what it is called.
    """

    recipe: str
    tunables: str
    variant: str
    label: str


def check_written(
    written: Sequence[str], labels: Mapping[str, str], *, known: Sequence[str] = ()
) -> None:
    """Look at what a person typed; `known` are the variants that a comparison has already."""
    total = len(known) + len(written)
    if not MIN_VARIANTS <= total <= MAX_VARIANTS:
        raise UsageError(
            f"a comparison takes {MIN_VARIANTS} to {MAX_VARIANTS} variants, {total} given",
            hint="as in `bench-compare r317849 r317849+VIMAGE`",
        )
    for place, variant in enumerate(written):
        if variant in written[:place] or variant in known:
            raise UsageError(f"{_shown(variant)} is there twice", hint="name each variant once")
    given: dict[str, str] = {}
    for variant, label in labels.items():
        _check_label(variant, label, written)
        if label in given:
            raise UsageError(
                f"{_shown(given[label])} and {_shown(variant)} are both to be called"
                f" {quoted(label)}",
                hint="give one of them another label",
            )
        given[label] = variant


def _check_label(variant: str, label: str, written: Sequence[str]) -> None:
    if variant not in written:
        raise UsageError(
            f"the label {quoted(label, columns=MOST_LABEL)} is for {_shown(variant)}, which is"
            " not compared",
            hint=f"label one of {', '.join(map(_shown, written)) or 'the new variants'}",
        )
    if not label or label != one_line(label, columns=MOST_LABEL):
        raise UsageError(
            f"{quoted(label, columns=MOST_LABEL)} is no label for {_shown(variant)}",
            hint=f"a label is one line of 1 to {MOST_LABEL} characters",
        )


def check_identities(variants: Sequence[Identity]) -> None:
    """Look at what was found under the names."""
    for place, one in enumerate(variants):
        for other in variants[:place]:
            both = f"{_shown(other.variant)} and {_shown(one.variant)}"
            if (one.recipe, one.tunables) == (other.recipe, other.tunables):
                raise UsageError(f"{both} are the same variant", hint="name each once")
            if one.label == other.label:
                raise UsageError(
                    f"{both} are both called {quoted(one.label)}",
                    hint="give one of them another label",
                )


def _shown(variant: str) -> str:
    return one_line(variant, columns=80)


def same_as(built: Sequence[Hashable | None]) -> dict[int, int]:
    """By the places of variants that came out as one before them, its place; None tells nothing."""
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


class InEpoch(Protocol):
    """What was measured while the lab was as its `epoch` says."""

    @property
    def epoch(self) -> str:
        """The label that a person changes when the lab changes."""


BootT = TypeVar("BootT", bound=InEpoch)


def of_newest_epoch(boots: Sequence[BootT]) -> tuple[list[BootT], list[BootT]]:
    """The boots of the epoch in which the last one was measured, and all others."""
    newest = boots[-1].epoch if boots else ""
    return (
        [boot for boot in boots if boot.epoch == newest],
        [boot for boot in boots if boot.epoch != newest],
    )


def left_out(
    others: Iterable[tuple[str, str]], newest: str, item: ItemUnderTest = ItemUnderTest.KERNEL
) -> str:
    """Says what is left out: a label and an epoch for each boot; empty for none."""
    counted = Counter(others)
    if not counted:
        return ""
    boots = ", ".join(
        f"{number} of {label} in {epoch_name(epoch)}" for (label, epoch), number in counted.items()
    )
    total = count(counted.total(), item.iteration)
    changed = f"for the {item.place} changed: {boots}"
    return f"{total} left out, {changed}; these are of {epoch_name(newest)}"


def epoch_name(epoch: str) -> str:
    """An epoch as a sentence names it."""
    return f"epoch {quoted(epoch)}" if epoch else "the epoch without a name"


_NONE = "none"


def recorded_boots(
    boots: Iterable[tuple[int, Mapping[str, Any]]], variants: int
) -> tuple[str, ...]:
    """How boots of variants (place, facts) were dealt, as the last of each says; else empty."""
    told = [_NONE] * variants
    for place, facts in boots:
        if RECORDED_BOOTS in facts:
            told[place] = one_line(str(facts[RECORDED_BOOTS]))
    return tuple(told) if set(told) != {_NONE} else ()


def recorded_notes(recorded: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    """The same in words: once, where it is the same of all variants."""
    for told in dict.fromkeys(recorded):
        of = [label for label, own in zip(labels, recorded, strict=True) if own == told]
        whose = "of each variant" if len(of) == len(labels) else f"of {', '.join(of)}"
        yield f"recorded boots {whose}: {told}"
