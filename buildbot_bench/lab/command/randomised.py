"""The layout that each iteration draws at random: environment size, address space."""

import random
import sys
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.item import NOTHING

# Size and addresses change a speed by some per cent: Mytkowicz et al., ASPLOS 2009, who vary the
# former by up to 4 KiB, in which their cycles repeat.
_MOST_PADDING = 4096  # bytes
_SWITCH = Path("/proc/sys/kernel/randomize_va_space")


@dataclass(frozen=True, kw_only=True, slots=True)
class Randomised:
    """`padding` bytes in the environment; whether addresses are random; both in words.

    The words are the same for each iteration, as set-ups are compared by them.
    """

    padding: int
    addresses: bool
    said: str


def draw(source: random.Random, *, wanted: bool) -> Randomised:
    """Draw what an iteration has; nothing if that is not wanted."""
    if not wanted:
        fixed = f"{NOTHING}: one size of environment"
        also = ", one layout of the address space" if sys.platform == "linux" else ""
        return Randomised(padding=0, addresses=False, said=fixed + also)
    padding = source.randrange(_MOST_PADDING)
    addresses = "" if _off_here() else ", the layout of the address space"
    said = f"the size of the environment{addresses}"
    return Randomised(padding=padding, addresses=True, said=said)


def _off_here() -> bool:
    """Whether this machine has switched random addresses off."""
    try:
        return _SWITCH.read_text(encoding="ascii").strip() == "0"
    except (OSError, ValueError):
        return False
