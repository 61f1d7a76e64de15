"""The order in which the boots of two to sixteen variants alternate.

A pass boots each variant once; a round is a pass and the same pass backwards, so that an even drift
of the lab (temperature) falls on all variants alike: A B B A A B B A …, of three A B C C B A, then
B C A A C B …. The passes are the rows of a Williams square, in which each variant follows each
other one equally often, so that carry-over favours none (E. J. Williams, "Experimental designs
balanced for the estimation of residual effects of treatments", Australian Journal of Scientific
Research A 2, 1949).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

MIN_VARIANTS, MAX_VARIANTS = 2, 16

ImageBoots = Mapping[int, int]
"""How many boots of each image of a variant, by the image's number; the first one's is 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Boots of one image in a row; `variant` counts from the base, which is 0."""

    variant: int
    image: int
    iterations: int


def passes(variants: int) -> tuple[tuple[int, ...], ...]:
    """The passes whose rounds make up a whole square: after them the order begins anew.

    With an even number of variants half of the rows are others backwards.
    """
    zigzag = [-(place // 2) if place % 2 == 0 else (place + 1) // 2 for place in range(variants)]
    shifts = variants // 2 if variants % 2 == 0 else variants
    return tuple(tuple((step + shift) % variants for step in zigzag) for shift in range(shifts))


def order(variants: int, wanted: int) -> tuple[int, ...]:
    """The variants of all boots, `wanted` of each; an odd number ends with half a round."""
    rows = passes(variants)
    booted: list[int] = []
    for number in range(wanted):
        row = rows[number // 2 % len(rows)]
        booted += reversed(row) if number % 2 else row
    return tuple(booted)


def images_in_turn(wanted: ImageBoots) -> Iterator[int]:
    """The images of all boots of a variant: the first one's, then further ones there and back."""
    yield from [0] * wanted.get(0, 0)
    further = sorted(image for image in wanted if image)
    for turn in range(max((wanted[image] for image in further), default=0)):
        row = [image for image in further if wanted[image] > turn]
        yield from reversed(row) if turn % 2 else row


def next_block(done: Sequence[ImageBoots], wanted: Sequence[ImageBoots]) -> Block | None:
    """The boots that come next after `done` ones of each variant; None when none is missing.

    What was booted more often than `wanted`, or is not wanted, is passed over.
    """
    left = [Counter(own) for own in done]
    turns = [images_in_turn(own) for own in wanted]
    most = max((sum(own.values()) for own in wanted), default=0)
    chosen: tuple[int, int] | None = None
    length = 0
    for variant in order(len(wanted), most):
        image = next(turns[variant], None)
        if image is None:
            continue
        if left[variant][image] > 0:
            left[variant][image] -= 1
            if chosen is not None:
                break
        elif chosen is None:
            chosen, length = (variant, image), 1
        elif (variant, image) == chosen:
            length += 1
        else:
            break
    return chosen and Block(variant=chosen[0], image=chosen[1], iterations=length)


def delays(booted: Sequence[int], variants: int) -> tuple[float, ...]:
    """By how many boots each variant came later than the base on average, in the order booted.

    0 for one of which there is no boot.
    """
    places: list[list[int]] = [[] for _ in range(variants)]
    for place, variant in enumerate(booted):
        places[variant].append(place)
    return tuple(fmean(own) - fmean(places[0]) if own and places[0] else 0.0 for own in places)
