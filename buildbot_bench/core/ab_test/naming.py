"""Checks of the number, identities and labels of a comparison's variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.core.ab_test.schedule import MAX_VARIANTS, MIN_VARIANTS
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted

MOST_LABEL = 60


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
