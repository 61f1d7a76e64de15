"""The parts of a workload's configuration set, one for each machine.

A set is a directory that is copied over the DUT's root. One that concerns two machines, as that of
a tunnel, holds `dut/` and `reference/` instead; bench-lab.sh calls the latter `refendpoint/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DUT_PART = "dut"
REFERENCE_PARTS = ("reference", "refendpoint")  # ours, and that of bench-lab.sh's VPN sets


@dataclass(frozen=True, kw_only=True, slots=True)
class SetParts:
    """What is copied over the root of the DUT, and of the reference endpoint; None for nothing."""

    dut: Path | None = None
    reference: Path | None = None


def parts_of(configs: Path | None) -> SetParts:
    """The parts of a set: the whole of it for the DUT unless it has a part for each."""
    if configs is None:
        return SetParts()
    theirs = [configs / name for name in REFERENCE_PARTS if (configs / name).is_dir()]
    own = configs / DUT_PART
    if not theirs and not own.is_dir():
        return SetParts(dut=configs)
    return SetParts(
        dut=own if own.is_dir() else None,
        reference=theirs[0] if theirs else None,
    )


def is_empty(configs: Path) -> bool:
    """Whether a set holds no file for any machine."""
    parts = parts_of(configs)
    return not any(
        path.is_symlink() or not path.is_dir()
        for part in (parts.dut, parts.reference)
        if part is not None
        for path in part.rglob("*")
    )
