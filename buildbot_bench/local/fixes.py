"""The application of a fixing commit to the trees of revisions that lack it."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.local.git import Git, GitRefusedError

_PATCH = (
    *("diff-tree", "-r", "-p", "--root", "--binary", "--full-index", "--no-renames"),
    *("--no-commit-id", "--no-color", "--no-ext-diff", "--no-textconv"),
)


class Carried(StrEnum):
    """What became of a commit that is carried along in one revision."""

    NONE = ""
    IN = "in"
    APPLIED = "applied"
    NOT = "does not fit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """A commit that is carried along; `sha` is its whole hash."""

    git: Git
    sha: str

    def apply(self, revision: str, tree: Path) -> Carried:
        """Apply it to the tree of a revision, unless the revision has it or it does not fit.

        Raises InfraError: git cannot be started. Raises GitRefusedError: there is no such
        commit.
        """
        if self._is_in(revision):
            return Carried.IN
        patch = self.git.bytes(*_PATCH, *self._ends())
        try:
            self.git.bytes("apply", "--check", stdin=patch, place=tree)
        except GitRefusedError:
            return Carried.NOT
        try:
            self.git.bytes("apply", stdin=patch, place=tree)
        except GitRefusedError as error:
            raise InfraError(f"git apply failed: {error}", hint="make room, try again") from error
        return Carried.APPLIED

    def _ends(self) -> tuple[str, ...]:
        try:
            parent = self.git.text("rev-parse", "--verify", "--quiet", f"{self.sha}^1")
        except GitRefusedError:
            return (self.sha,)
        return parent, self.sha

    def _is_in(self, revision: str) -> bool:
        """Whether a revision has the commit in its history."""
        try:
            self.git.bytes("merge-base", "--is-ancestor", self.sha, revision)
        except GitRefusedError:
            return False
        return True
