"""The colour class of a flame graph's box, and the legend."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from buildbot_bench.core.profile import ShareChange

_WARM_TONES = 5

# Factors by which a share changed, from which on a box has the next stronger tone. A factor rather
# than a difference: a caller of what changed has the same difference as that, but a smaller factor.
_TONES = (1.05, 1.25, 2.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Swatch:
    """One field of the legend: a class of colour and what it means."""

    tone: str
    meaning: str


def name_tone(name: str) -> str:
    """One of a few warm tones, always the same for a name; it means nothing."""
    return f"warm{crc32(name.encode('utf-8', 'replace')) % _WARM_TONES}"


def change_tone(change: ShareChange) -> str:
    """Blue for less, red for more, the stronger the larger; grey for what chance explains."""
    less, more = sorted((change.old, change.new))
    strength = sum(more >= factor * less for factor in _TONES)
    if not strength or not change.beyond_chance:
        return "same"
    return f"{'more' if change.delta > 0 else 'less'}{strength}"


def legend() -> tuple[Swatch, ...]:
    """The tones from least to most, with the factors that they begin with."""
    tones = list(enumerate(_TONES, start=1))
    less = [Swatch(tone=f"less{strength}", meaning=f"÷ {least:g}") for strength, least in tones]
    more = [Swatch(tone=f"more{strength}", meaning=f"× {least:g}") for strength, least in tones]  # noqa: RUF001 - the sign
    return (*reversed(less), Swatch(tone="same", meaning="same"), *more)
