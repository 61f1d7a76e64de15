"""The driver of a testbed that answers with recorded measurements."""

import gzip
import hashlib
import json
import math
import re
import statistics
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.profile.formats import parse_pmc_graph
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import ONE_IMAGE, RECORDED_BOOTS
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.files import check_digest, replace_text, sha256

_LINE_LIMIT = 200  # characters; a label has a few
_MOST_LINES = 100  # the first names the revision; a variant has up to 32 changes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OPTION = re.compile(r"(no)?options ([A-Z][A-Z0-9_]{0,63})", re.ASCII)
PATCH = "patch:"  # before a patch's SHA-256, as the farm's tables have it


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


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplaySettings:
    """Which recorded series answer; `dut` and `label` narrow a file that holds several.

    Without them all of the file's are played, each boot saying on which machine it was.
    `captures` is a directory of what pmcstat -G printed: r311849.forwarding.pmc.graph.gz.
    """

    series: Path
    captures: Path | None = None
    dut: str = ""
    label: str = ""
    delay_s: float = 0.0


class ReplayDriver:
    """Plays a recorded lab.

    The artefact is a text file whose first line names the variant: r311849, or r317849+VIMAGE;
    further lines may add options (`options VIMAGE`) or a patch's SHA-256. The first boots of a
    recorded kernel get the recorded iterations in order, and again for each sample. Further boots,
    and revisions between recorded ones, get the level of the newest earlier recorded revision with
    noise drawn from its residuals; it depends on kernel, digest, workload and boot count alone.
    """

    SETTINGS = ReplaySettings

    def __init__(
        self, settings: ReplaySettings, home: Path, tell: Callable[[str], None] = unheard
    ) -> None:
        del tell  # it is quick
        self._settings = settings
        self._boots = home / "boots.json"
        self._revision = ""
        self._digest = ""
        self._sample = ""

    def workloads(self) -> tuple[str, ...]:
        """The workloads of the recorded series."""
        return tuple(self._series())

    def check(self) -> list[CheckFinding]:
        """The recording is all that this testbed consists of."""
        subject = f"series {self._settings.series}"
        try:
            recorded = self._series()
        except UsageError as error:
            return [CheckFinding(subject=subject, detail=error.message, remedy=error.hint)]
        counts = {
            name: sum(PATCH not in kernel for kernel in points) for name, points in recorded.items()
        }
        found = ", ".join(f"{name} ({count})" for name, count in counts.items())
        return [CheckFinding(subject=subject, detail=f"recorded kernels: {found}")]

    def facts(self) -> dict[str, str]:
        """Where the values come from; where it plays several machines, each boot names its own."""
        told = {"dut": self._settings.dut, "series": self._settings.label}
        return {name: value for name, value in told.items() if value} | {
            "source": "recorded: netbenches archive",
            ONE_IMAGE: "one build of each kernel was recorded",
        }

    def deal(self, sample: str) -> None:
        """Have the next boots be those of a sample, which gets what was recorded from the first."""
        self._sample = sample

    def prepare(self, workload: str) -> None:
        """All workloads have the same boots."""

    def install(self, artefact: Path, digest: str) -> None:
        """Read which revision this is."""
        check_digest(artefact, digest)
        with artefact.open(encoding="utf-8", errors="replace") as file:
            first, *others = [file.readline(_LINE_LIMIT).strip() for _ in range(_MOST_LINES)]
        label = canonical_label(first)
        if label is None:
            raise UntestableRevision(
                f"the artefact's first line is {quoted(first)}, which names no revision",
                hint="a replayed kernel is a text file that says r311849",
            )
        self._revision = "+".join([label, *filter(None, map(_change, others))])
        self._digest = digest

    def tune(self, tunables: Sequence[str]) -> None:
        """Refuse them all: what was measured long ago cannot be set otherwise now."""
        raise UntestableRevision(
            f"a replayed testbed cannot set {tunables[0]}",
            hint="compare tunables on a testbed that boots kernels",
        )

    def boot(self) -> None:
        """Nothing starts: the values were measured long ago."""

    def verify(self) -> None:
        """Nothing else can run than what was installed."""

    def blast(self, workload: str) -> Blast:
        """The value of this boot, in the unit that was recorded."""
        recorded = self._series()[workload]
        boots = self._boot_counts()
        # By revision, not by digest: a second build must not repeat the first one's values.
        key = " ".join(filter(None, (workload, self._revision, self._sample)))
        boot = boots.get(key, 0)
        source = newest_recorded(recorded, self._revision)
        found = recorded[source]
        if source == self._revision and boot < len(found.values):
            value, how = found.values[boot], "recorded"
        else:
            seed = f"{self._revision} {self._digest} {workload} {boot}"
            value, how = redrawn(found.values, seed), f"redrawn from {source}"
        time.sleep(self._settings.delay_s)
        replace_text(self._boots, json.dumps(boots | {key: boot + 1}))
        log = f"{value:.1f} {found.unit}: boot {boot + 1} of {self._revision}, {how}\n"
        facts = {"dut": found.dut, "series": found.series}
        if self._sample:
            facts[RECORDED_BOOTS] = self._dealt(source, found, boot)
        return Blast(values={found.unit: value}, log=log, facts=facts)

    def _dealt(self, source: str, found: Recording, boot: int) -> str:
        there = f"{len(found.values)} on {found.dut}"
        if source != self._revision:
            return f"none; redrawn from the {there} of {source}"
        more = "" if boot < len(found.values) else "; what is more is redrawn from them"
        return f"{there}, dealt in order{more}"

    def counter(self) -> str:
        """The event that the recorded captures name."""
        return "recorded" if self._settings.captures else ""

    def capture(self, workload: str) -> Profile:
        """What was recorded of this revision."""
        directory = self._settings.captures or Path()
        name = f"{self._revision}.{workload}.pmc.graph.gz"
        try:
            with gzip.open(directory / name, "rt", encoding="utf-8", errors="replace") as file:
                return parse_pmc_graph(file, source=name)
        except FileNotFoundError as error:
            raise InfraError(f"no capture was recorded of {self._revision}") from error
        except (OSError, EOFError, zlib.error, UsageError) as error:
            raise InfraError(f"cannot read {name}: {error}") from error

    def console(self) -> str:
        """A recorded kernel says nothing."""
        return ""

    def shutdown(self) -> None:
        """Nothing was started."""

    def _series(self) -> dict[str, Recorded]:
        played = self._settings
        return load_series(played.series, dut=played.dut, label=played.label)

    def _boot_counts(self) -> dict[str, int]:
        try:
            counts: dict[str, int] = json.loads(self._boots.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise InfraError(f"{self._boots} is damaged", hint="remove it") from error
        return counts


def _change(line: str) -> str | None:
    """What a line of an artefact says that its builder added, as a variant's name has it."""
    if _DIGEST.fullmatch(line):
        return f"{PATCH}{line}"
    if match := _OPTION.fullmatch(line):
        return f"nooptions:{match[2]}" if match[1] else match[2]
    return None


_PLAIN = re.compile(r"r?(\d{1,9})")
_VARIANT = re.compile(r"r?(\d{1,9})[+.]?([A-Za-z].*)")
_IMPLICIT = "(implicit)"  # how the archive marks a workload that a directory's name leaves out
_LONG = re.compile(f"({PATCH}[0-9a-f]{{12}})[0-9a-f]+")
_MOST_NAMED = 8  # recorded kernels that a complaint lists


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
    `unit` has its points' values by that name, not by `pps`. A kernel has the archive's name
    (r299288+D8526) and, where `patch` names its patch's file beside the recording, the name with
    that file's SHA-256 (r299288+patch:5ad1…), too.
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
            values=values, unit=unit, dut=str(row.get("dut", "")), series=str(row.get("label", ""))
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
    level, count = statistics.fmean(values), len(values)
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
