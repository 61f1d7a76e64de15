"""A testbed that answers with recorded measurements; it knows no process, socket or kernel.

The artefact is a text file whose first line names what was built: r311849, or r317849+VIMAGE for
a variant. A recorded revision answers its first boots with the recorded iterations, in their
order. Any further boot, and any revision between recorded ones, gets the level of the newest
recorded revision that is not later, with noise drawn from that one's own residuals. The draw
depends on revision, digest, workload and boot count alone: the same boots give the same values.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.profile import Profile, parse_pmc_graph
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.drivers.recording import (
    Recorded,
    canonical_label,
    load_series,
    newest_recorded,
    redrawn,
)
from buildbot_bench.lab.files import check_digest, replace_text

_FIRST_LINE_LIMIT = 200  # characters; a label has a few


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplaySettings:
    """Which recorded series answer; `dut` and `label` narrow a file that holds several.

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
        found = ", ".join(f"{name} ({len(points)})" for name, points in recorded.items())
        return [CheckFinding(subject=subject, detail=f"recorded revisions: {found}")]

    def facts(self) -> dict[str, str]:
        """Where the values come from."""
        return {
            "dut": self._settings.dut,
            "series": self._settings.label,
            "source": "recorded: netbenches archive",
        }

    def prepare(self, workload: str) -> None:
        """All workloads have the same boots."""

    def install(self, artefact: Path, digest: str) -> None:
        """Read which revision this is.

        Raises:
            UntestableRevision: When the artefact's first line names none.
        """
        check_digest(artefact, digest)
        with artefact.open(encoding="utf-8", errors="replace") as file:
            line = file.readline(_FIRST_LINE_LIMIT).strip()
        label = canonical_label(line)
        if label is None:
            raise UntestableRevision(
                f"the artefact's first line is {line[:60]!r}, which names no revision",
                hint="a replayed kernel is a text file that says r311849",
            )
        self._revision, self._digest = label, digest

    def tune(self, tunables: Sequence[str]) -> None:
        """Refuse them all: what was measured long ago cannot be set otherwise now.

        Raises:
            UntestableRevision: For any tunable.
        """
        raise UntestableRevision(
            f"a replayed testbed cannot set {tunables[0]}",
            hint="compare tunables on a testbed that boots kernels",
        )

    def boot(self) -> None:
        """Nothing starts: the values were measured long ago."""

    def verify(self) -> None:
        """Nothing else can run than what was installed."""

    def blast(self, workload: str) -> Blast:
        """The value of this boot, in pps."""
        recorded = self._series()[workload]
        boots = self._boot_counts()
        # By revision, not by digest: a second build must not repeat the first one's values.
        key = f"{workload} {self._revision}"
        boot = boots.get(key, 0)
        source = newest_recorded(recorded, self._revision)
        if source == self._revision and boot < len(recorded[source]):
            value, how = recorded[source][boot], "recorded"
        else:
            seed = f"{self._revision} {self._digest} {workload} {boot}"
            value, how = redrawn(recorded[source], seed), f"redrawn from {source}"
        time.sleep(self._settings.delay_s)
        replace_text(self._boots, json.dumps(boots | {key: boot + 1}))
        log = f"{value:.1f} pps: boot {boot + 1} of {self._revision}, {how}\n"
        return Blast(values={"pps": value}, log=log)

    def counter(self) -> str:
        """Whatever the recorded captures say that it was."""
        return "recorded" if self._settings.captures else ""

    def capture(self, workload: str) -> Profile:
        """What was recorded of this revision.

        Raises:
            InfraError: When nothing was, or it cannot be read.
        """
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
