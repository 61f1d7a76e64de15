"""The question of a local search or comparison; an equal question continues its campaign."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar

from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.local.recipe import BuildRecipe

Course_contra = TypeVar("Course_contra", contravariant=True)


class Watcher(Protocol[Course_contra]):
    """Who watches a search or a comparison."""

    def show(self, course: Course_contra) -> None:
        """Show it as it stands now."""

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Campaign:
    """How revisions are built and what is measured of them; `name` is the workload's for people.

    Values of one campaign are comparable, of any revisions.
    """

    recipe: BuildRecipe
    workload: CommandWorkload
    name: str

    @property
    def told(self) -> dict[str, object]:
        """All that makes it what it is, for the file of evidence."""
        return {"recipe": self.recipe.told, "workload": asdict(self.workload)}

    @property
    def digest(self) -> str:
        """What tells campaigns apart."""
        return hashlib.sha256(json.dumps(self.told, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSearch:
    """A range to search by a campaign; `skipped` positions, from 0, are not measured.

    Nor are those of `conflicts`, which do not merge with what came before the merge.
    What failed at the positions `again` is tried again. `ahead` is how many builds are made beside
    the runs; 0: builds and runs take turns. `commands` are how a person repeats it. With
    `first_parent` a merge is one commit; `merges` are the sizes of those of the range. `base`
    says where the range begins if not at OLD. With `budget_s` the search ends by then with what is
    known, in seconds from the beginning of the command. `prebuilt` are the hashes of what others
    built.
    """

    campaign: Campaign
    between: RevisionRange
    terms: SearchPolicy
    skipped: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()
    again: frozenset[int] = frozenset()
    ahead: int = 0
    commands: Sequence[str] = ()
    first_parent: bool = False
    merges: tuple[int, ...] = ()
    base: str = ""
    budget_s: float | None = None
    prebuilt: frozenset[str] = frozenset()
