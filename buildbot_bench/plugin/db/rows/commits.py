"""A row of what is built: commits, images, patches and where kernels lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.states import ImageState, ProbeState


@dataclass(frozen=True, kw_only=True, slots=True)
class NewCommit:
    """A commit that arrived on a branch; `important` when it touches a watched path."""

    sha: str
    position: int
    parent_sha: str | None = None
    svn: int | None = None
    subject: str = ""
    author: str = ""
    committed_at_s: int = 0
    important: bool = True
    arrived_at: float = 0.0

    @classmethod
    def of(cls, revision: Revision, *, important: bool, arrived_at: float) -> Self:
        """The commit that git knows as this revision."""
        return cls(
            sha=revision.sha,
            position=revision.position,
            parent_sha=revision.parent_sha,
            svn=revision.svn,
            subject=revision.subject,
            author=revision.author,
            committed_at_s=revision.committed_at_s,
            important=important,
            arrived_at=arrived_at,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedRow:
    """What became of a request to measure a commit for its own sake."""

    position: int
    state: ProbeState
    failure_kind: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitRow(NewCommit):
    """A commit of a branch, as stored."""

    id: int
    branch: str

    @property
    def revision(self) -> Revision:
        """The commit in the core's words."""
        return Revision(
            sha=self.sha,
            position=self.position,
            svn=self.svn,
            parent_sha=self.parent_sha,
            subject=self.subject,
            author=self.author,
            committed_at_s=self.committed_at_s,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRow:
    """One build of one variant, wanted or made.

    `variant` is canonical: the sha itself for a plain revision. `ordinal` counts the builds of
    a variant from 0. `brid` is Buildbot's build request; `path` is where the artefact lies.
    `digest` is that of the artefact, `kernel_digest` that of the kernel without what its build
    tells of itself; `manifest` is what the builder says of it, in core.manifest's fields.
    """

    id: int
    sha: str
    variant: str
    ordinal: int
    position: int
    label: str
    state: ImageState
    attempt: int
    brid: int | None
    reason: str | None
    digest: str | None
    size: int | None
    path: str | None
    build_s: float | None
    created_at: float
    changed_at: float
    version: int
    kernel_digest: str | None = None
    manifest: dict[str, Any] | None = None

    @property
    def kernel(self) -> str | None:
        """What tells this kernel from others; images of earlier releases have the artefact's."""
        return self.kernel_digest or self.digest


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtefactRow:
    """The file of an image's kernel, known by its SHA-256, of `size` bytes."""

    id: int
    digest: str
    size: int
    stored_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchRow:
    """A patch as it came, known by its SHA-256; `origin` says where it was had from."""

    id: int
    digest: str
    origin: str
    requester: str
    fetched_at: float
    body: bytes
