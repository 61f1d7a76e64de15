"""Rows of branches, units, kept files, leases and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import sqlalchemy as sa

from buildbot_bench.plugin.db.columns import Digest, Kept, Large, Sha


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchRow:
    """A branch, and its trunk: the branch whose commits are its own up to `fork_position`.

    None and 0, for one that shares none with those that were watched before it.
    """

    id: int
    name: str
    trunk: str | None
    fork_position: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedCommitRow:
    """A commit that a branch had before it was moved back or replaced: measured, no history."""

    id: int
    branch: str
    sha: Sha


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRow:
    """A unit of a lab's own workload; those of this package's drivers are known by their names."""

    id: int
    testbed: str
    workload: str
    unit: str
    name: str
    higher_is_better: bool
    exact: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtefactRow:
    """The file of an image's kernel, known by its SHA-256, of `size` bytes."""

    id: int
    digest: Digest
    size: Large
    stored_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFilesRow:
    """A list of the files that a build read, known by its SHA-256."""

    id: int
    digest: Digest
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseRow:
    """A lease, and what its holder has to tell of itself; `expires_at` by the database's clock."""

    id: int
    name: str
    token: Annotated[str, Kept(type=sa.String(36))]
    masterid: int
    expires_at: float
    trouble: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareRow:
    """The last span of virtual time that a claimant had of a worker."""

    id: int
    worker: str
    claimant: str
    start: float
    finish: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeRow:
    """A part of the number of changes of the table `name`, counted by triggers."""

    id: int
    name: Annotated[str, Kept(type=sa.String(64))]
    changes: Large
