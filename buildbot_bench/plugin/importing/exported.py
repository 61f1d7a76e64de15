"""The reader of samples that a farm's History page exported as comma-separated values."""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from buildbot_bench.core.legible import quoted
from buildbot_bench.plugin.importing.archive import ArchivedBoot, Group, Refused

_IMAGE = ("label", "sha", "image", "workload", "epoch", "unit")
_NEEDED = (*_IMAGE, "value", "in_doubt", "at_s", "duration_s")
_SHA, _COUNT = re.compile(r"[0-9a-f]{40}"), re.compile(r"\d{1,6}", re.ASCII)


def read_exported(file: Path) -> Iterator[Group | Refused]:
    """Every image of a series; one with a line that cannot be read is refused.

    Boots that gave no value, or that the farm doubts, are passed over.
    """
    with file.open(encoding="utf-8", errors="replace", newline="") as text:
        lines = csv.DictReader(text)
        missing = [name for name in _NEEDED if name not in (lines.fieldnames or ())]
        if missing:
            reason = f"there is no column {quoted(missing[0])}; export the series anew"
            yield Refused(place=file.name, reason=reason, inconsistent=True)
            return
        images = defaultdict[tuple[str, ...], list[ArchivedBoot]](list)
        for line in lines:
            try:
                boot, image = _boot(line), tuple(_text(line[name]) for name in _IMAGE)
            except (TypeError, ValueError) as error:
                place = f"{file.name}:{lines.line_num}"
                yield Refused(place=place, reason=f"{error}; export anew", inconsistent=True)
                continue
            if boot is not None:
                images[image].append(boot)
    for (label, sha, ordinal, workload, epoch, unit), boots in images.items():
        yield Group(
            place=f"{file.name}, {label[:60]} image {ordinal}",
            series=epoch,
            revision=label,
            configuration=workload,
            uname="",
            built_at_s=None,
            confirmed=True,
            sha=sha,
            boots=tuple(boots),
            unit=unit,
            image=int(ordinal),
        )


def _boot(line: dict[str, str]) -> ArchivedBoot | None:
    """Read the boot of a line; None if it is to be passed over.

    Raises:
        ValueError: The line is cut or holds another thing.
    """
    if not _SHA.fullmatch(line["sha"]) or not _COUNT.fullmatch(line["image"]):
        raise ValueError(f"{quoted(line['sha'])}, {quoted(line['image'])} names no image")
    if not line["value"] or line["in_doubt"] == "True":
        return None
    value, at_s, duration_s = (_number(line[name]) for name in ("value", "at_s", "duration_s"))
    return ArchivedBoot(value=value, at_s=at_s, duration_s=duration_s)


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{quoted(text)} is no number")
    return number


def _text(text: str) -> str:
    """The text without the quote that keeps a spreadsheet from computing it."""
    return text.removeprefix("'")
