"""The recipe of a revision's build, and the fixing commit that the tree gets first."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.programs import Git, GitRefusedError


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildStep:
    """A text for sh, the variables that it has besides, and where it runs below the tree.

    With `strict` the first command that fails ends it, as `sh -e` does.
    """

    script: str
    environment: tuple[tuple[str, str], ...] = ()
    directory: str = "."
    strict: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildRecipe:
    """The steps in order, which of the files they make is kept, a commit that is applied.

    Without `steps` the revision is measured as it lies in git. Of what lies in the tree then,
    `artefacts`, patterns of paths, are kept, and all without any; or `upload` names one file, an
    archive or a program, and what is in that is kept, as a farm keeps it. `prebuilt` is a pattern
    of where others keep what they built (archives.prebuilt): another kind of build, named PREBUILT.
    """

    steps: tuple[BuildStep, ...] = ()
    artefacts: tuple[str, ...] = ()
    upload: str = ""
    fix: str | None = None
    prebuilt: str = ""

    @property
    def told(self) -> dict[str, object]:
        """What its own builds are made by, for the file of evidence."""
        return {name: value for name, value in asdict(self).items() if name != "prebuilt"}

    @property
    def digest(self) -> str:
        """What tells recipes apart."""
        return recipe_digest(self.told)

    @property
    def others(self) -> str:
        """The digest that builds of others have."""
        return recipe_digest(asdict(self))

    @property
    def digests(self) -> tuple[str, ...]:
        """Those of all builds that are measured."""
        return (self.digest, self.others) if self.prebuilt else (self.digest,)


def recipe_digest(told: Mapping[str, object]) -> str:
    """Return the digest of a recipe from its fields, be they as the file of evidence has them."""
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


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
