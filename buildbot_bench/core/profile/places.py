"""Places of functions in the sources, `path:line`, cleaned from a lab's report."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from posixpath import normpath

# More functions than a packet visits by far: FreeBSD executes some 300 to forward one.
MOST_PLACES = 4096
_PATH_COLUMNS = 200  # characters; chosen: more than FreeBSD's longest paths have
_PLACE = re.compile(rf"[^\s:][^:]{{0,{_PATH_COLUMNS - 1}}}:[1-9][0-9]{{0,6}}")
# Where builders say that sources and objects are; see build/freebsd.py.
_SOURCE, _OBJECTS = "/usr/src/", "/usr/obj/"
_KERNEL = "/sys/"
# What a column of the database holds.
_MOST_PACKETS = (1 << 31) - 1


def tidy_places(reported: object, names: Collection[str]) -> dict[str, str]:
    """The places of those functions of all that a lab reports; other lines give nothing."""
    if not isinstance(reported, Mapping):
        return {}
    found = {
        name: place
        for name in names
        if isinstance(place := reported.get(name), str)
        and place.isprintable()
        and _PLACE.fullmatch(place)
    }
    return dict(list(found.items())[:MOST_PLACES])


def tidy_packets(reported: object) -> int:
    """How many packets a lab says that it counted for; 0 for what is no number of packets."""
    if not isinstance(reported, int) or isinstance(reported, bool):
        return 0
    return reported if 0 < reported <= _MOST_PACKETS else 0


def path_in_git(path: str) -> str:
    """A source's path as git has it: `sys/netinet/ip_input.c` of `/usr/src/sys/netinet/ip_input.c`.

    Builders map the source tree to /usr/src; of another path, what is before the first `sys` is
    taken for that tree. What is generated among the objects is in no git and keeps its path.
    """
    path = normpath(path)
    if path.startswith(_SOURCE):
        return path.removeprefix(_SOURCE)
    before, found, within = path.partition(_KERNEL)
    if not found or before.startswith(_OBJECTS):
        return path
    return f"sys/{within}"


def lies_in(place: str, path: str) -> bool:
    """Whether a place is in that file, a path in git."""
    known = place.rpartition(":")[0]
    return known == path or known.endswith(f"/{path}")
