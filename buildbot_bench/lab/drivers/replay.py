"""The driver of a testbed that answers with recorded measurements.

The artefact is a text file whose first line names the variant: r311849, or r317849+VIMAGE; further
lines may add options (`options VIMAGE`) or a patch's SHA-256. The first boots of a recorded kernel
get the recorded iterations in order, and again for each sample. Further boots, and revisions
between recorded ones, get the level of the newest earlier recorded revision with noise drawn from
its residuals. The draw depends on kernel, digest, workload and boot count alone.
"""

import gzip
import json
import re
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.profile.formats import parse_pmc_graph
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import ONE_IMAGE, RECORDED_BOOTS
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.drivers.recording import (
    PATCH,
    Recorded,
    Recording,
    canonical_label,
    load_series,
    newest_recorded,
    redrawn,
)
from buildbot_bench.lab.files import check_digest, replace_text

_LINE_LIMIT = 200  # characters; a label has a few
_MOST_LINES = 100  # the first names the revision; a variant has up to 32 changes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OPTION = re.compile(r"options ([A-Z][A-Z0-9_]{0,63})", re.ASCII)
_NO_OPTION = re.compile(r"nooptions ([A-Z][A-Z0-9_]{0,63})", re.ASCII)


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
    """Plays a recorded lab."""

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
        return load_series(
            self._settings.series, dut=self._settings.dut, label=self._settings.label
        )

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
        return match[1]
    if match := _NO_OPTION.fullmatch(line):
        return f"nooptions:{match[1]}"
    return None
