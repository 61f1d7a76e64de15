"""The values of options, read from their texts, and the variants of bench-compare."""

import argparse
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from buildbot_bench.archives.prebuilt import checked_pattern
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.limits import GIB, MIB, MOST_IMAGES
from buildbot_bench.core.revision import branch_in, repository_named
from buildbot_bench.core.variant import Change, PatchFile, parse_variant, write_variant

DEFAULT_FARM = "http://localhost:8010"
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_Value = TypeVar("_Value")
_SIZES = {"M": MIB, "G": GIB}


def _reader(pattern: str, complaint: str, make: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """Makes a value of a text that fits a pattern; the complaint follows any other text."""

    def read(text: str) -> _Value:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ArgumentTypeError(f"{quoted(text)} {complaint}")
        return make(text)

    return read


def known_number(what: str, command: str) -> Callable[[str], int]:
    """Reads the number of a search or a comparison, from 1 on; the complaint names the command."""
    return _reader("[1-9][0-9]{0,17}", f"is no {what}; `{command} --list` shows them", int)


def fraction(text: str) -> float:
    """`2%` or `0.02`."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < value < 1:
        raise ArgumentTypeError(f"{quoted(text)} is no share; write 2% or 0.02")
    return value


duration_s = _reader(
    r"\d+(\.\d+)?[smh]",
    "is no time; write 90s, 15m or 2h",
    lambda text: float(text[:-1]) * _SECONDS[text[-1]],
)
size = _reader(
    r"\d+(\.\d+)?[MG]",
    "is no size; write 500M or 8G",
    lambda text: int(float(text[:-1]) * _SIZES[text[-1]]),
)
positive = _reader("[1-9][0-9]{0,3}", "is no number from 1 to 9999", int)
processors = _reader(
    r"\d{1,4}(,\d{1,4})*",
    "names no processors; write 2 or 2,3",
    lambda text: tuple(map(int, text.split(","))),
)
change_id = _reader(
    "D?[1-9][0-9]{0,8}", "is no number of a change", lambda text: int(text.removeprefix("D"))
)


def prebuilt_pattern(text: str) -> str:
    """Where builds lie: a URL, or a path from here, with the revision in it."""
    place = text if "://" in text else str(Path(text).absolute())
    try:
        if "{branch}" not in text:
            return checked_pattern(place)
        why = "names a {branch}, and a search here has none"
    except ValueError as error:
        why = str(error)
    raise ArgumentTypeError(f"{quoted(text)} {why}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BootsWanted:
    """How many boots of each variant: so many, or so many `more` than there are."""

    number: int
    more: bool


boots_wanted = _reader(
    r"\+?[0-9]{1,6}",
    "is no number of boots; as in -n 10, or -n +5 beside --extend",
    lambda text: BootsWanted(number=int(text), more=text.startswith("+")),
)


def images_wanted(text: str) -> int:
    """How many images of each variant there may be."""
    if not re.fullmatch(r"[0-9]{1,3}", text, re.ASCII) or not 1 <= int(text) <= MOST_IMAGES:
        raise ArgumentTypeError(f"{quoted(text)} is no number from 1 to {MOST_IMAGES}")
    return int(text)


def farm_url(text: str) -> str:
    """A farm's URL, as it is written on the command line or in the environment."""
    return _url(text, "farm", hint=f"write it as {DEFAULT_FARM}")


def site_url(text: str) -> str:
    """The URL of a site on which changes are reviewed."""
    return _url(text, "site", hint="write it as https://reviews.example.org")


def _url(text: str, whose: str, *, hint: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{quoted(text)} is no {whose}'s URL", hint=hint)
    if parts.username is not None:
        how = {"farm": "name it with --user and --password-file"}
        raise UsageError(f"the {whose}'s URL holds a user", hint=how.get(whose, hint))
    return text


def labels_of(given: Sequence[str]) -> dict[str, str]:
    """Labels by variants; a tunable has an equals sign of its own, so the last one counts."""
    labels: dict[str, str] = {}
    for one in given:
        variant, equals, label = one.rpartition("=")
        if not equals or not variant:
            raise UsageError(
                f"--label {quoted(one)} names no variant", hint="as in --label r313448=IFLIB"
            )
        if variant in labels:
            raise UsageError(f"{variant[:80]} is labelled twice", hint="say one of the two")
        labels[variant] = label
    return labels


def packed(text: str, patches: dict[str, bytes]) -> str:
    """The variant with its files read into `patches`, and named there without directories."""
    repository, variant = repository_named(text)
    spec = parse_variant(variant)
    changes = tuple(_read(change, patches) for change in spec.changes)
    return branch_in(repository, write_variant(replace(spec, changes=changes)))


def _read(change: Change, patches: dict[str, bytes]) -> Change:
    if not isinstance(change, PatchFile):
        return change
    from buildbot_bench.core.patch import check_patch  # noqa: PLC0415 - not for --help

    path = Path(change.name).expanduser()
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the patch {change.name}: {error.strerror}") from error
    check_patch(body, change.name)
    if patches.setdefault(path.name, body) != body:
        raise UsageError(f"two patches are called {path.name}", hint="rename one of them")
    return PatchFile(name=path.name)


def a_path(text: str) -> Path:
    """Return the path that an argument names, which need not be there."""
    path = Path(text)
    try:
        path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is no path: {one_line(str(error))}"
        ) from None
    return path
