"""What was recorded of a lab, read from a file; what a boot would give that was not recorded."""

from __future__ import annotations

import hashlib
import json
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import UntestableRevision, UsageError

_PLAIN = re.compile(r"r?(\d{1,9})")
_VARIANT = re.compile(r"r?(\d{1,9})[+.]?([A-Za-z].*)")
_IMPLICIT = "(implicit)"  # how the archive marks a workload that a directory's name leaves out

Recorded = Mapping[str, Sequence[float]]


def canonical_label(text: str) -> str | None:
    """r311849 or r311849+NAME for the ways in which the archive writes a revision; else None."""
    if match := _PLAIN.fullmatch(text):
        return f"r{int(match[1])}"
    if match := _VARIANT.fullmatch(text):
        return f"r{int(match[1])}+{match[2]}"
    return None


def load_series(path: Path, *, dut: str = "", label: str = "") -> dict[str, Recorded]:
    """Recorded values in pps by workload and canonical revision.

    Raises:
        UsageError: For what is no recording; it names file and line.
    """
    series: dict[str, Recorded] = {}
    for number, row in _rows(path):
        try:
            if (dut and row["dut"] != dut) or (label and row["label"] != label):
                continue
            workload = row["workload"].removesuffix(_IMPLICIT)
            points = {_label(point): [float(v) for v in point["pps"]] for point in row["points"]}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path}:{number}: not a recorded series ({error!r})") from error
        if workload in series:
            raise UsageError(
                f"{path}:{number}: a second series of {workload}",
                hint="choose one by `dut` and `label`",
            )
        series[workload] = {name: values for name, values in points.items() if values}
    if not series:
        raise UsageError(
            f"{path}: no series of DUT {dut!r}, label {label!r}", hint="see the names in that file"
        )
    return series


def newest_recorded(recorded: Recorded, revision: str) -> str:
    """The recorded revision whose level a revision has: itself, or the newest one before it.

    Raises:
        UntestableRevision: When there is none, or the revision is a variant.
    """
    if revision in recorded:
        return revision
    number = _plain_number(revision)
    if number is None:
        raise UntestableRevision(f"nothing was recorded of the variant {revision}")
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
        except ValueError as error:
            raise UsageError(f"{path}:{number}: not JSON: {error}") from error


def _label(point: Mapping[str, Any]) -> str:
    name = str(point["revision"])
    return canonical_label(name) or name


def _plain_number(label: str) -> int | None:
    match = _PLAIN.fullmatch(label)
    return None if match is None else int(match[1])
