"""People's marks on searches, incidents and verdicts, checked and stored."""

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import Revision, repository_of
from buildbot_bench.plugin.db.columns import MarkKind, SearchKind
from buildbot_bench.plugin.db.finding_rows import JudgementRow, MarkRow, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import removal_reason
from buildbot_bench.plugin.queries.incident_groups import incident_around
from buildbot_bench.plugin.queries.judgements import mark_json

# Who marks on a farm without logins.
NOBODY = "somebody"


class MarkRequests:
    """Takes marks; what `again` asks for, the broker carries out."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def mark_search(self, search_id: int, kind: str, *, author: str, fixed_by: str) -> Json:
        """Mark the report of a search."""
        search = await self._farm.store.search(search_id)
        if search is None:
            raise UsageError(f"there is no search {search_id}")
        if search.ended_at is None:
            raise UsageError(f"search {search_id} has not ended: there is no report to mark")
        if search.kind is not SearchKind.EFFECT and kind == MarkKind.AGAIN:
            raise UsageError(
                f"search {search_id} is about what does not {search.kind}: the farm tries that by "
                "itself with each commit that comes",
                hint="mark it expected, noise or fixed",
            )
        if search.kind is not SearchKind.BUILD:
            self._check(kind, search)
        mark = await self._farm.store.add_mark(
            kind=_kind(kind),
            author=author or NOBODY,
            now=self._farm.now(),
            search_id=search_id,
            fix=await self._fix(
                kind, fixed_by, repository=search.repository, after=search.old_position
            ),
        )
        return self._taken(mark)

    async def mark_incident(self, search_id: int, kind: str, *, author: str, fixed_by: str) -> Json:
        """Mark the reports of all searches that found what a search found: all, or none of them.

        `again` asks for new boots where they can be made.
        """
        group = await incident_around(self._farm, search_id)
        if group is None:
            raise UsageError(f"search {search_id} found no incident")
        searches = list(group.searches)
        if kind == MarkKind.AGAIN:
            searches = [search for search in searches if self._can_be_measured(search)]
        if not searches:
            raise UsageError(
                f"nothing of the incident of search {search_id} can be measured again",
                hint="mark it expected, noise or fixed",
            )
        marks = await self._farm.store.mark_searches(
            [search.id for search in searches],
            kind=_kind(kind),
            author=author or NOBODY,
            now=self._farm.now(),
            fix=await self._fix(
                kind,
                fixed_by,
                repository=repository_of(group.culprit.branch),
                after=group.culprit.old,
            ),
        )
        return self._taken(marks[-1]) | {"searches": [mark.search_id for mark in marks]}

    def _can_be_measured(self, search: SearchRow) -> bool:
        """Whether new boots can be asked for; of a breakage each commit that comes is one."""
        gone = removal_reason(self._farm, search.testbed, search.workload, search.repository)
        return search.kind is SearchKind.EFFECT and not gone

    async def mark_verdict(
        self, judgement_id: int, kind: str, *, author: str, fixed_by: str
    ) -> Json:
        """Mark what was made of one sample."""
        row = await self._farm.store.judgement(judgement_id)
        if row is None:
            raise UsageError(f"there is no verdict {judgement_id}")
        self._check(kind, row)
        mark = await self._farm.store.add_mark(
            kind=_kind(kind),
            author=author or NOBODY,
            now=self._farm.now(),
            judgement_id=judgement_id,
            fix=await self._fix(kind, fixed_by, repository=row.repository, after=row.old_position),
        )
        return self._taken(mark)

    def _check(self, kind: str, row: SearchRow | JudgementRow) -> None:
        """Refuse to measure again what cannot be measured any more."""
        why = removal_reason(self._farm, row.testbed, row.workload, row.repository)
        if kind == MarkKind.AGAIN and why:
            raise UsageError(why, hint="what was measured there stays, and can be marked otherwise")

    async def _fix(
        self, kind: str, fixed_by: str, *, repository: str, after: int
    ) -> Revision | None:
        """Return the commit that fixed it, which lies behind the position before the change."""
        if kind != MarkKind.FIXED:
            if fixed_by:
                raise UsageError(f"{quoted(kind)} takes no revision; 'fixed' does")
            return None
        if not fixed_by:
            raise UsageError(
                "'fixed' takes the revision that fixed it", hint="as in: fixed r313448"
            )
        resolve = self._farm.history.resolve
        fix: Revision = await self._farm.git(resolve, fixed_by, repository)
        if fix.position <= after:
            raise UsageError(f"{fix.label} is older than the change: it cannot have fixed it")
        return fix

    def _taken(self, mark: MarkRow) -> Json:
        if mark.pending:
            self._farm.wake()
        return mark_json(mark)


def _kind(kind: str) -> MarkKind:
    try:
        return MarkKind(kind)
    except ValueError:
        known = ", ".join(MarkKind)
        raise UsageError(f"{quoted(kind)} is no mark", hint=f"one of: {known}") from None
