"""The badge, a small SVG of two words for a README."""

from __future__ import annotations

from enum import StrEnum

from buildbot_bench.render.environment import environment

# Verdana at 11 px, on average; a picture inside an <img> cannot ask the browser.
_CHARACTER_PX = 7
_PADDING_PX = 12


class Tone(StrEnum):
    """The right half's colour: the colour-blind can distinguish all; white letters are readable."""

    CALM = "#00639c"
    BUSY = "#6b6b6b"
    ALARM = "#b3450b"


def badge_svg(label: str, words: str, tone: Tone) -> str:
    """The picture as SVG text; the words may be a stranger's."""
    left, right = (_PADDING_PX + _CHARACTER_PX * len(text) for text in (label, words))
    template = environment().get_template("badge.svg")
    return template.render(label=label, words=words, colour=tone.value, left=left, right=right)
