"""The question of a local search or comparison, and the campaign whose runs answer it."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.lab.command.iteration import run_surely
from buildbot_bench.lab.command.machine import coarse, coarse_beforehand
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.lab.driver import Blast
from buildbot_bench.local.builds import Repository
from buildbot_bench.local.recipe import BuildRecipe, recipe_digest
from buildbot_bench.local.store import StoredBuild, StoredCampaign, StoredRun

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


_HOW = ("steps", "fix")  # of a recipe: all else of it says what is kept


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """The campaign that ran last of those that differ in how they build, and what it has to keep.

    `builds` are those that did not fail, in building or running; `runs` counts what they measured.
    """

    campaign: StoredCampaign
    builds: tuple[StoredBuild, ...]
    runs: int


def earlier_than(campaign: Campaign, repository: Repository) -> Earlier | None:
    """Return what may be taken over; None where there is nothing that the campaign lacks."""
    store = repository.store
    own = _comparable(campaign.told)
    known = {
        (image.sha, image.ordinal)
        for image in store.images(campaign.recipe.digest)
        if image.reason is None
    }
    for other in store.campaigns():
        digest = recipe_digest(other.told["recipe"])
        if digest == campaign.recipe.digest or _comparable(other.told) != own:
            continue
        runs = store.iterations(other.id)
        valued = {one.image_id for one in runs if one.value is not None}
        failed = {one.image_id for one in runs if one.kind is FailureKind.UNTESTABLE} - valued
        builds = [
            image
            for image in store.images(digest)
            if image.reason is None and image.id not in failed
        ]
        if builds:
            new = tuple(one for one in builds if (one.sha, one.ordinal) not in known)
            ids = {one.id for one in new}
            count = sum(one.value is not None and one.image_id in ids for one in runs)
            return Earlier(campaign=other, builds=new, runs=count) if new else None
    return None


def take_over(earlier: Earlier, campaign_id: int, recipe: str, repository: Repository) -> None:
    """Have the builds and runs be the campaign's, too; what was built is moved, not copied."""
    for image in earlier.builds:
        kept = repository.room.archive(image)
        repository.store.adopt(image, recipe, earlier.campaign.id, campaign_id)
        if kept.is_file():
            kept.replace(repository.room.archive(replace(image, recipe=recipe)))


def _comparable(told: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two campaigns comparable but for how they build, as JSON would have it."""
    recipe = {name: value for name, value in told["recipe"].items() if name not in _HOW}
    plain: dict[str, Any] = json.loads(json.dumps({**told, "recipe": recipe}))
    return plain


# How many bytes it was this time is not a fact of the set-up.
_BYTES = re.compile(r" \(\d+ bytes more\)")


class Measurer(Protocol):
    """Runs what was built once."""

    def measure(self, directory: Path, tell: Callable[[str], None], executions: int = 0) -> Blast:
        """The value of one run in a directory where a build lies unpacked.

        `executions` of the command make one run, as in the runs before; 0: there were none.

        Raises:
            UntestableRevision: The revision fails, hangs or gives no value.
            InfraError: The machine or the command itself is to blame.
        """


def coarse_value(workload: CommandWorkload, runs: Sequence[StoredRun], min_effect: float) -> str:
    """Return what is to be said of a value whose step is too coarse for an effect; else nothing.

    The newest of `runs` shows how long one is. Without any, nothing is run to find out: the text
    says how long a run has to be.
    """
    for run in reversed(runs):
        if run.value is not None and run.times is not None:
            return coarse(workload, run.value, run.times, min_effect)
    return coarse_beforehand(workload, min_effect)


class CommandMeasurer:
    """Runs a workload's command; says of the first run that it is too coarse for `min_effect`."""

    def __init__(self, workload: CommandWorkload, min_effect: float) -> None:
        self._workload = workload
        self._min_effect = min_effect

    def measure(self, directory: Path, tell: Callable[[str], None], executions: int = 0) -> Blast:
        """As the port says."""
        blast = run_surely(self._workload, directory, tell, executions)
        (value,) = blast.values.values()
        # Where there are runs it was said before the first build.
        if blast.times and not executions:
            said = coarse(self._workload, value, blast.times, self._min_effect)
            if said:
                tell(said)
        facts = {name: _BYTES.sub("", said) for name, said in blast.facts.items()}
        return replace(blast, facts=facts)
