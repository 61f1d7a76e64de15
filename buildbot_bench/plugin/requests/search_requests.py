"""People's requests on searches: forecast, start, cancel, and more boots of a revision."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import count
from uuid import uuid4

from buildbot_bench.api.answers import SearchState
from buildbot_bench.api.requests import MoreBoots, SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import Metric
from buildbot_bench.core.patch import check_patch
from buildbot_bench.core.report.related import expected_inside
from buildbot_bench.core.revision import Revision, RevisionRange, repository_of
from buildbot_bench.core.variant import parse_tunable, parse_variant, tunables_text
from buildbot_bench.history import Fit
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_boots, ask_image, built_for
from buildbot_bench.plugin.db.columns import ImageState, ProbeReason, SearchKind, SearchReason
from buildbot_bench.plugin.db.finding_rows import NewSearch
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import LONG_S, calculate
from buildbot_bench.plugin.farm.series import (
    Series,
    all_series,
    branch_of_commit,
    first_branch,
    is_watched,
    least_loaded,
    removal_reason,
)
from buildbot_bench.plugin.queries.evidence import gather, item_on, merges_of, relinks_of, span_of
from buildbot_bench.plugin.queries.waits import expected, range_json
from buildbot_bench.plugin.requests.variants import keep_patch


class SearchRequests:
    """Answers people; what it starts, the broker carries out."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def forecast(self, question: SearchQuestion) -> Json:
        """What a search would cost; raises UsageError for what cannot be searched."""
        search = await self._draft(question, requester="")
        inputs = await gather(self._farm, search)
        found = await expected(search, inputs)
        told = await self._oddities(question, search)
        sizes = await self._farm.git(merges_of, self._farm, search)
        if sizes:
            policy = replace(inputs.policy, weights=None)
            item = await item_on(self._farm, search.testbed)
            asked = (sizes, inputs.range.n, inputs.costs, policy, item)
            told["warnings"].append(await calculate(expected_inside, *asked, limit_s=LONG_S))
        return found | told

    async def check(self, question: SearchQuestion) -> Json:
        """What would be searched; raises UsageError for what cannot be."""
        return await self._told(question, await self._draft(question, requester=""))

    async def _told(self, question: SearchQuestion, search: NewSearch) -> Json:
        between = await self._farm.git(span_of, self._farm, search)
        return range_json(search, between) | await self._oddities(question, search)

    async def start(self, question: SearchQuestion, requester: str) -> Json:
        """Start a search; what it will cost its row says when the broker has worked it out."""
        draft = await self._draft(question, requester=requester)
        search = await self._farm.store.add_search(draft, now=self._farm.now())
        self._farm.wake()
        return {"searchid": search.id} | await self._told(question, draft)

    async def cancel(self, search_id: int) -> SearchState:
        """End a search, and say in which state it is then; one that has ended stays as it is."""
        search = await self._farm.store.search(search_id)
        if search is None:
            raise UsageError(f"there is no search {search_id}")
        if search.state is not SearchState.RUNNING:
            return search.state
        changed = await self._farm.store.change(search, state=SearchState.CANCELLING)
        if changed is None:  # it ended in this moment, or another was quicker to cancel it
            return await self.cancel(search_id)
        self._farm.wake()
        return changed.state

    async def _draft(self, question: SearchQuestion, *, requester: str) -> NewSearch:
        repository = await self._repository(question)
        series = self._series(question, repository)
        named = question.testbed if question.testbed in series.pool else None
        testbed = named or await least_loaded(self._farm, series)
        await self._farm.mirroring.ready(repository)
        old, new = await self._farm.git(self._resolve, question, repository)
        fix_sha, fix_patch = await self._fix(question, old, requester)
        workflow = self._farm.workflow
        return NewSearch(
            key=None,
            branch=await self._branch(old, new, repository),
            testbed=testbed,
            workload=series.workload,
            unit="",
            value=question.value or "",
            higher_is_better=await self._direction(testbed, series.workload, question.value),
            old_sha=old.sha,
            old_position=old.position,
            new_sha=new.sha,
            new_position=new.position,
            claimed=None,
            min_effect=question.min_effect or workflow.min_effect_on(testbed),
            error=question.error or workflow.regression.error,
            reason=SearchReason.PERSON,
            requester=requester,
            fix_sha=fix_sha,
            fix_patch=fix_patch,
            tunables=_tunables(question),
            first_parent=question.first_parent or workflow.regression.first_parent,
            priority=question.priority,
        )

    async def _direction(self, testbed: str, workload: str, value: str | None) -> bool | None:
        """Whether more is better, of what is judged or of a named value; None if that is unknown.

        Raises:
            UsageError: No run gave a value of that name.
        """
        store = self._farm.store
        if value is None:
            found: bool | None = await store.direction_of((testbed, workload))
            return found
        known = await store.value_names(testbed, workload)
        if value not in known:
            raise UsageError(
                f"no run of {workload} on {testbed} gave a value called {quoted(value)}",
                hint=_alike(value, known),
            )
        metric: Metric = await store.metric_of((testbed, workload), value)
        return metric.higher_is_better

    async def _repository(self, question: SearchQuestion) -> str:
        """The repository in which a range lies."""
        asked = self._farm.history.repository
        old, new = [await self._farm.git(asked, end) for end in (question.old, question.new)]
        if old != new:
            raise UsageError(
                f"{question.old} and {question.new} are of two repositories",
                hint="name two revisions of one branch, or compare the two instead",
            )
        return old

    async def _branch(self, old: Revision, new: Revision, repository: str) -> str:
        """The branch on which a range is searched: the one that has its new end."""
        for end in (new, old):
            branch = await branch_of_commit(self._farm, end.sha, repository)
            if is_watched(branch):
                return branch
        return await first_branch(self._farm, repository)

    async def _fix(
        self, question: SearchQuestion, old: Revision, requester: str
    ) -> tuple[str | None, str | None]:
        """The commit that is carried along, and the SHA-256 of its patch, which is kept."""
        if question.with_ is None:
            return None, None
        farm = self._farm
        repository = await self._repository(question)
        fix = await farm.git(farm.history.resolve, question.with_, repository)
        if (await farm.git(farm.fits, fix.sha, (old.sha,)))[old.sha] is Fit.IN:
            raise UsageError(
                f"{question.with_} is in {question.old} already", hint="search without --with"
            )
        body = await farm.git(farm.history.patch, fix)
        name = f"commit:{fix.short_sha}"
        check_patch(body, name)
        # It is a commit of the repository that is watched: as trusted as that.
        kept = await keep_patch(farm, body=body, origin=name, requester=requester, trusted=True)
        return fix.sha, kept.digest

    async def _oddities(self, question: SearchQuestion, search: NewSearch) -> Json:
        """What to doubt of the names that were asked for."""
        farm, history = self._farm, self._farm.history
        found = [await farm.git(history.oddities, name) for name in (question.old, question.new)]
        lines = [line for lines in found for line in lines]
        old, base = [
            await farm.git(history.resolve, name, repository_of(search.branch))
            for name in (question.old, search.old_sha)
        ]
        if old != base:
            lines.append(
                f"{question.old} is on no first-parent way to {question.new}: the search begins at"
                f" {base.label}, where its branch left that way"
            )
        return {"warnings": lines}

    def _resolve(self, question: SearchQuestion, repository: str) -> tuple[Revision, Revision]:
        history = self._farm.history
        old, new = [history.resolve(end, repository) for end in (question.old, question.new)]
        if old.sha == new.sha:
            raise UsageError(f"{question.old} and {question.new} are the same revision")
        if not question.first_parent:
            old = history.base(old, new)
        self._farm.span(old.sha, new.sha)
        return old, new

    def _series(self, question: SearchQuestion, repository: str) -> Series:
        """The only series that fits what the person named; else the choice is theirs."""
        all_of = all_series(self._farm.workflow.bench_jobs)
        known = [series for series in all_of if repository in series.repositories]
        fitting = [
            series
            for series in known
            if question.testbed in {None, series.runs_on, *series.pool}
            and question.workload in {None, series.workload}
        ]
        if len(fitting) == 1:
            return fitting[0]
        listed = ", ".join(f"{series.runs_on}/{series.workload}" for series in fitting or known)
        problem = "several fit" if fitting else "no testbed and workload fit"
        raise UsageError(
            f"{problem} --testbed {question.testbed or '?'} --workload {question.workload or '?'}",
            hint=f"this farm measures {listed}",
        )


def _alike(name: str, known: Sequence[str]) -> str:
    if not known:
        return 'its workload has value = "all" in testbeds.toml, and is run once before a search'
    alike = get_close_matches(name, known) or known[:3]
    return f"there are {len(known):,}, such as {', '.join(map(quoted, alike))}"


async def measure_more(farm: Farm, search_id: int, boots: MoreBoots) -> Json:
    """Ask for the boots, at once and before all else; a search that runs waits for them.

    One that has ended keeps its answer, and its report counts them.
    """
    search = await farm.store.search(search_id)
    if search is None:
        raise UsageError(f"there is no search {search_id}")
    if search.kind is SearchKind.BUILD:
        raise UsageError(
            f"search {search_id} looks for what does not build: nothing of it is measured",
            hint="start a search of the range to have it measured",
        )
    if why := removal_reason(farm, search.testbed, search.workload, search.repository):
        raise UsageError(why, hint="search the range on another testbed")
    span = await farm.git(span_of, farm, search)
    revision = await farm.git(_within, farm, span, boots.revision, search.repository)
    wanted = await built_for(farm, search, revision)
    image = await ask_image(farm, wanted, await _ordinal(farm, wanted, fresh=boots.fresh))
    probe = await ask_boots(
        farm,
        image.id,
        search.series,
        ProbeReason.PERSON,
        boots.iterations,
        search_id=search.id,
        tunables=search.tunables,
        name=f"person {uuid4().hex}",
    )
    farm.wake()
    return {"probeid": probe.id, "label": wanted.label}


def _tunables(question: SearchQuestion) -> str:
    """What is set before the traffic of each boot; as of a variant, each once and not too many."""
    settings = (parse_tunable(one).setting for one in question.tunables)
    return tunables_text(parse_variant("+sysctl:".join(["HEAD", *settings])).changes)


def _within(farm: Farm, span: RevisionRange, revision: str, repository: str) -> Revision:
    found = farm.history.resolve(revision, repository)
    offset = found.position - span.old.position
    if not 0 <= offset <= span.n or span.revisions[offset].sha != found.sha:
        raise UsageError(
            f"{found.label} does not lie in {span.old.label} to {span.new.label}",
            hint="name a revision of the search's range",
        )
    return found


async def _ordinal(farm: Farm, wanted: BuildTarget, *, fresh: bool) -> int:
    """Which build is meant: the first that is no failure, or one that there is not yet."""
    variant, repository = wanted.variant or wanted.sha, wanted.repository
    relinks = await relinks_of(farm, variant, wanted.position, repository)
    if fresh and relinks.alike:
        raise UsageError(
            f"another build of {wanted.label} would be its first one again: the job cannot relink",
            hint="measure it without `fresh`, or have the job heed BENCH_IMAGE",
        )
    for ordinal in count():
        image = await farm.store.image_of(variant, ordinal, repository)
        if image is None or not (fresh or image.state == ImageState.UNTESTABLE):
            break
    return ordinal
