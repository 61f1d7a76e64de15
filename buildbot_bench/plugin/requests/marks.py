"""What people say of reports and judgements is taken here; it measures nothing."""

from __future__ import annotations

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.finding_rows import MarkRow
from buildbot_bench.plugin.db.states import MarkKind, SearchKind
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import removal_reason
from buildbot_bench.plugin.queries.judgements import Json, mark_json

# Who marks on a farm without logins.
NOBODY = "somebody"


class MarkRequests:
    """Takes marks; what `again` asks for, the broker carries out."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def mark_search(self, search_id: int, kind: str, *, author: str, fixed_by: str) -> Json:
        """Mark the report of a search.

        Raises:
            UsageError: There is no such search, it has not ended, or the mark does not fit it.
        """
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
            self._check(kind, search.testbed, search.workload)
        mark = await self._farm.store.add_mark(
            kind=_kind(kind),
            author=author or NOBODY,
            now=self._farm.now(),
            search_id=search_id,
            fix=await self._fix(kind, fixed_by, after=search.old_position),
        )
        return self._taken(mark)

    async def mark_verdict(
        self, judgement_id: int, kind: str, *, author: str, fixed_by: str
    ) -> Json:
        """Mark what was made of one sample.

        Raises:
            UsageError: There is no such verdict, or the mark does not fit it.
        """
        row = await self._farm.store.judgement(judgement_id)
        if row is None:
            raise UsageError(f"there is no verdict {judgement_id}")
        self._check(kind, row.testbed, row.workload)
        mark = await self._farm.store.add_mark(
            kind=_kind(kind),
            author=author or NOBODY,
            now=self._farm.now(),
            judgement_id=judgement_id,
            fix=await self._fix(kind, fixed_by, after=row.old_position),
        )
        return self._taken(mark)

    def _check(self, kind: str, testbed: str, workload: str) -> None:
        """Refuse to measure again what cannot be measured any more.

        Raises:
            UsageError: The testbed or the workload was removed from the farm.
        """
        if kind == MarkKind.AGAIN and (why := removal_reason(self._farm, testbed, workload)):
            raise UsageError(why, hint="what was measured there stays, and can be marked otherwise")

    async def _fix(self, kind: str, fixed_by: str, *, after: int) -> Revision | None:
        """The commit that mended it: one behind what was measured before the change.

        Raises:
            UsageError: There is none and the mark needs one, the mark takes none, or it is too old.
        """
        if kind != MarkKind.FIXED:
            if fixed_by:
                raise UsageError(f"{kind!r} takes no revision; 'fixed' does")
            return None
        if not fixed_by:
            raise UsageError(
                "'fixed' takes the revision that mended it", hint="as in: fixed r313448"
            )
        fix: Revision = await self._farm.git(self._farm.history.resolve, fixed_by)
        if fix.position <= after:
            raise UsageError(f"{fix.label} is older than the change: it cannot have mended it")
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
        raise UsageError(f"{kind!r:.80} is no mark", hint=f"one of: {known}") from None
