"""The lab controller's ledger of configuration sets on machines, former ones included."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from buildbot_bench.lab.files import replace_text


@dataclass(frozen=True, kw_only=True, slots=True)
class LyingSet:
    """A set that lies on a machine, or was being put on when a job died, and how it is taken off.

    `root` and `record` are those of its ConfiguredMachine; `saving` is the command that keeps what
    is changed over a reboot of a nanobsd.
    """

    workload: str
    root: str
    record: str
    nanobsd: bool = False
    saving: tuple[str, ...] = ()


class Ledger:
    """A file with the machines' addresses and what lies there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lying(self) -> Mapping[str, LyingSet]:
        """What lies on each machine; nothing where the file cannot be understood.

        The records on the machines themselves are what a set is taken off by.
        """
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                str(address): LyingSet(**{**row, "saving": tuple(row["saving"])})
                for address, row in rows.items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def note(self, address: str, lying: LyingSet) -> None:
        """Remember that a set is about to be put on; it replaces what was remembered."""
        self._write({**self.lying(), address: lying})

    def forget(self, address: str) -> None:
        """Nothing lies there any more."""
        known = self.lying()
        if address in known:
            self._write({name: lying for name, lying in known.items() if name != address})

    def _write(self, all_lying: Mapping[str, LyingSet]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = {address: asdict(lying) for address, lying in all_lying.items()}
        replace_text(self._path, json.dumps(rows, indent=1))
