"""The recipe of a revision's build: steps, and the files to keep."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


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
    archive or a program, and what is in that is kept, as a farm keeps it.
    """

    steps: tuple[BuildStep, ...] = ()
    artefacts: tuple[str, ...] = ()
    upload: str = ""
    fix: str | None = None

    @property
    def digest(self) -> str:
        """What tells recipes apart."""
        return recipe_digest(asdict(self))


def recipe_digest(told: Mapping[str, object]) -> str:
    """Return the digest of a recipe from its fields, be they as the file of evidence has them."""
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
