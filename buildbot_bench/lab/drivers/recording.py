"""Recorded measurements of a lab, read from a file, and values drawn from their residuals.

A recorded kernel has the archive's name (r299288+D8526) and, where `patch` names the file of its
patch (relative to the recording), the name with the patch's SHA-256 (r299288+patch:5ad1…).
"""

import hashlib
import json
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.files import sha256

_PLAIN = re.compile(r"r?(\d{1,9})")
_VARIANT = re.compile(r"r?(\d{1,9})[+.]?([A-Za-z].*)")
PATCH = "patch:"
"""Before a patch's SHA-256, as the farm's tables have it."""
_IMPLICIT = "(implicit)"  # how the archive marks a workload that a directory's name leaves out

_LONG = re.compile(f"({PATCH}[0-9a-f]{{12}})[0-9a-f]+")
_MOST_NAMED = 8  # recorded kernels that a complaint lists


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """The values of a kernel's boots in their unit, in the order measured, and where that was.

    `series` is what the archive calls the campaign in which it measured.
    """

    values: tuple[float, ...]
    unit: str = "pps"
    dut: str = ""
    series: str = ""


Recorded = Mapping[str, Recording]


def canonical_label(text: str) -> str | None:
    """r311849 or r311849+NAME for the ways in which the archive writes a revision; else None."""
    if match := _PLAIN.fullmatch(text):
        return f"r{int(match[1])}"
    if match := _VARIANT.fullmatch(text):
        return f"r{int(match[1])}+{match[2]}"
    return None


def load_series(path: Path, *, dut: str = "", label: str = "") -> dict[str, Recorded]:
    """What was recorded, by workload and canonical name of the kernel.

    Series of one workload are one recording as long as no kernel is in two of them. One that has a
    `unit` has its points' values by that name, not by `pps`.
    """
    series: dict[str, dict[str, Recording]] = {}
    for number, row in _rows(path):
        try:
            if (dut and row["dut"] != dut) or (label and row["label"] != label):
                continue
            workload = row["workload"].removesuffix(_IMPLICIT)
            points = dict(_points(row, path.parent))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path}:{number}: not a recorded series ({error!r})") from error
        except OSError as error:
            raise UsageError(f"{path}:{number}: cannot read a patch: {error}") from error
        known = series.setdefault(workload, {})
        if twice := sorted(known.keys() & points.keys()):
            raise UsageError(
                f"{path}:{number}: a second series of {workload} has {twice[0]}",
                hint="choose one by `dut` and `label`",
            )
        known.update(points)
    if not series:
        raise UsageError(
            f"{path}: no series of DUT {quoted(dut)}, label {quoted(label)}",
            hint="see the names in that file",
        )
    return dict(series)


def _points(row: Mapping[str, Any], directory: Path) -> Iterator[tuple[str, Recording]]:
    unit = str(row.get("unit", "pps"))
    for point in row["points"]:
        values = tuple(float(value) for value in point[unit])
        if not values:
            continue
        recording = Recording(
            values=values,
            unit=unit,
            dut=str(row.get("dut", "")),
            series=str(row.get("label", "")),
        )
        name = str(point["revision"])
        label = canonical_label(name) or name
        yield label, recording
        if patch := point.get("patch"):
            yield f"{label.split('+')[0]}+{PATCH}{sha256(directory / patch)}", recording


def newest_recorded(recorded: Recorded, revision: str) -> str:
    """The recorded revision whose level a revision has: itself, or the newest one before it."""
    if revision in recorded:
        return revision
    number = _plain_number(revision)
    if number is None:
        base = revision.split("+", maxsplit=1)[0]
        others = [name for name in recorded if name.startswith(f"{base}+") and PATCH not in name]
        listed = ", ".join([base, *others][:_MOST_NAMED]) if base in recorded else "others"
        variant = _LONG.sub(r"\1…", revision)
        raise UntestableRevision(
            f"nothing was recorded of the variant {variant}",
            hint=f"recorded are {listed}; a patch is known by its SHA-256, not by its name",
        )
    earlier = [
        (other, name)
        for name in recorded
        if (other := _plain_number(name)) is not None and other <= number
    ]
    if not earlier:
        raise UntestableRevision(f"nothing was recorded at or before {revision}")
    return max(earlier)[1]


def redrawn(values: Sequence[float], seed: str) -> float:
    """A value with the mean and the spread of the recorded ones, determined by the seed.

    Two residuals are drawn and turned into one by a drawn angle, which keeps their variance and
    makes hardly any two boots equal; n / (n - 1) makes up for their being taken from a mean that
    was estimated from the same values.
    """
    level = statistics.fmean(values)
    count = len(values)
    digest = hashlib.sha256(seed.encode()).digest()
    first, second, phase = (int.from_bytes(digest[i : i + 8], "big") for i in (0, 8, 16))
    angle = 2 * math.pi * phase / 2**64
    residual = math.cos(angle) * (values[first % count] - level)
    residual += math.sin(angle) * (values[second % count] - level)
    return level + residual * math.sqrt(count / max(1, count - 1))


def _rows(path: Path) -> Iterable[tuple[int, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the recorded series: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}:{number}: not JSON: {error}") from error


def _plain_number(label: str) -> int | None:
    match = _PLAIN.fullmatch(label)
    return None if match is None else int(match[1])
