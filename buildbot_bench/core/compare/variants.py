"""The variants that people ask to compare, one by one or as all cells of some factors."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import count
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.limits import MOST_LABEL, MOST_VARIANTS

MIN_VARIANTS = 2


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
    if not MIN_VARIANTS <= total <= MOST_VARIANTS:
        raise UsageError(
            f"a comparison takes {MIN_VARIANTS} to {MOST_VARIANTS} variants, {total} given",
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


_MOST = 4  # factors
_LEAST = 2  # factors, and levels of each
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,19}", re.ASCII)
# A tunable's name has a dot, which what stands before the colon of a change never has.
_TUNABLE = re.compile(r"([a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_%-]+)+):(.+)", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9_.:/-]{1,20}", re.ASCII)


def cells_of(base: str, given: Iterable[str]) -> dict[str, str]:
    """The variants of all combinations of `given` factors, with their labels, the base first.

    A factor is NAME=CHANGE, without and with it, or NAME=TUNABLE:VALUE,VALUE.
    """
    factors: dict[str, dict[str, str]] = {}
    for text in given:
        name, equals, said = text.partition("=")
        if not equals or not _NAME.fullmatch(name) or not said:
            raise UsageError(
                f"{quoted(text, columns=80)} is no factor",
                hint="write NAME=CHANGE or NAME=TUNABLE:VALUE,VALUE",
            )
        if name in factors:
            raise UsageError(f"the factor {name} is there twice", hint="name each once")
        factors[name] = _levels(name, said)
    if not _LEAST <= len(factors) <= _MOST:
        raise UsageError(
            f"{count(len(factors), 'factor')} given, {_LEAST} to {_MOST} make a comparison",
            hint="without factors, name the variants",
        )
    number = prod(map(len, factors.values()))
    if number > MOST_VARIANTS:
        raise UsageError(
            f"the factors make {number} combinations, and a comparison takes {MOST_VARIANTS}",
            hint="leave out a factor, or values of one",
        )
    cells = {
        base + "".join(f"+{change}" for _, change in cell if change): cell_label(
            dict(zip(factors, (level for level, _ in cell), strict=True))
        )
        for cell in product(*(levels.items() for levels in factors.values()))
    }
    if (longest := max(cells.values(), key=len))[MOST_LABEL:]:
        raise UsageError(
            f"a combination would be called {quoted(longest, columns=160)}, and {MOST_LABEL}"
            " characters are the most",
            hint="give the factors shorter names",
        )
    return cells


def _levels(name: str, said: str) -> dict[str, str]:
    tunable = _TUNABLE.fullmatch(said)
    if tunable is None:
        return {"without": "", "with": said}
    values = tunable[2].split(",")
    if (
        len(values) < _LEAST
        or len(set(values)) < len(values)
        or not all(map(_VALUE.fullmatch, values))
    ):
        raise UsageError(
            f"the factor {name}: {quoted(tunable[2], columns=80)} are no two or more values",
            hint=f"as in {name}={tunable[1]}:0,1",
        )
    return {value: f"sysctl:{tunable[1]}={value}" for value in values}


def cell_label(cell: Mapping[str, str]) -> str:
    """What a cell is called: `patch=with, simple_tx=1`."""
    return ", ".join(f"{name}={level}" for name, level in cell.items())


def design_of(labels: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The levels of each factor by labels that `cell_label` wrote, the first label's first."""
    cells = [cell_of(label) for label in labels]
    names = list(cells[0])
    if len(names) < _LEAST or any(list(cell) != names for cell in cells):
        return {}
    levels = {name: tuple(dict.fromkeys(cell[name] for cell in cells)) for name in names}
    return levels if all(len(own) >= _LEAST for own in levels.values()) else {}


def cell_of(label: str) -> dict[str, str]:
    """The levels of a cell by its label; nothing where that is none."""
    pairs = [part.partition("=") for part in label.split(", ")]
    return {name: level for name, equals, level in pairs if equals and name and level}
