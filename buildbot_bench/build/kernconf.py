"""A kernel configuration, as config(5) reads it, for one image of one variant; builds nothing."""

from __future__ import annotations

import re

from buildbot_bench.core.errors import UsageError

NAME = "BENCH"
_BASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_LINE = re.compile(r"(?:no)?options [A-Z][A-Z0-9_]{0,63}(?:=[A-Za-z0-9_.-]{1,63})?", re.ASCII)


def kernel_config(base: str, options: str, image: int) -> str:
    """The configuration `base` with lines of options; image 1, 2, … link in another order each.

    The order is drawn by ld.lld (13 or newer), with the image's number as seed: kern.pre.mk hands
    LDFLAGS to the linker of the kernel and of its modules. Raises UsageError for other lines.
    """
    if not _BASE.fullmatch(base):
        raise UsageError(f"{base[:80]!r} is no kernel configuration", hint="say GENERIC-NODEBUG")
    lines = [line for line in options.splitlines() if line.strip()]
    for line in lines:
        if not _LINE.fullmatch(line):
            raise UsageError(f"{line[:80]!r} is no line of options", hint="say: options VIMAGE")
    return "\n".join([f"include {base}", f"ident {NAME}", *lines, *_shuffled(image), ""])


def _shuffled(image: int) -> list[str]:
    return [f'makeoptions LDFLAGS="-Wl,--shuffle-sections=.text*={image}"'] if image else []
