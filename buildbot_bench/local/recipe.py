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
