"""The outbox of notices for other sites, and what it shares with that of mails.

A row is claimed before an attempt, so that two masters do not deliver it twice. A master that finds
it `sending` after its claim has run out knows that this attempt has died.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from buildbot_bench import installed
from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.report.model import Report
from buildbot_bench.plugin.db.columns import ReportState
from buildbot_bench.plugin.db.finding_rows import NoticeRow, ReportRow, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import RETRY_FIRST_S, for_each, wait_s
from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.plugin.outbox.sites import (
    TIMEOUT_S,
    NamedCulprit,
    NotifiedSite,
    SiteDenial,
    SiteRefusal,
    WantedNotice,
)
from buildbot_bench.plugin.queries.breakage_views import search_url
from buildbot_bench.plugin.queries.incidents import MOST_WAIT_S, mail_is_to_wait
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.html import report_markdown

_LOG = Logger()


Row = TypeVar("Row", ReportRow, NoticeRow)
Change = Mapping[str, Any]


class Outbox(ABC, Generic[Row]):
    """Delivers the due rows of one kind beside the broker's cycles.

    `kind` is what it delivers; `refusals` are what a delivery raises when it would be in vain to
    try again; `claim_s` outlasts the longest attempt.
    """

    kind: str
    refusals: tuple[type[BenchError], ...]
    claim_s: float

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self.is_delivering = False

    @abstractmethod
    async def _due(self, now: float) -> Sequence[Row]:
        """The rows that wait for an attempt, and those whose claim has run out."""

    @abstractmethod
    async def _deliver(self, row: Row) -> Change:
        """Try once; what the row becomes. Raises one of `refusals`, or InfraError for later."""

    def _postponed(self, row: Row, failure: InfraError) -> Change:
        """What a row becomes that was not taken this time: it is tried again, however often."""
        return self._later(row, str(failure))

    def start(self) -> None:
        """Begin to deliver what is due, unless a delivery goes on."""
        if self.is_delivering:
            return
        self.is_delivering = True
        ended = Deferred.fromCoroutine(self._deliver_due())
        ended.addErrback(
            lambda failure: _LOG.failure(
                "bench: no {kind} could be delivered; tried again later",
                failure=failure,
                kind=self.kind,
            )
        )
        ended.addBoth(self._ended)

    def _ended(self, _result: Any) -> None:
        self.is_delivering = False

    async def _deliver_due(self) -> None:
        for row in await self._due(self._farm.now()):
            began = self._farm.now()
            claimed = await self._farm.store.change(
                row,
                state=ReportState.SENDING,
                attempts=row.attempts + 1,
                next_try_at=began + self.claim_s,
            )
            # A process that stood still meanwhile leaves the row to who finds its claim run out.
            if claimed is not None and self._farm.now() - began < RETRY_FIRST_S:
                # Also by who has lost the right to claim: what was delivered, was.
                await self._farm.unguarded.change(claimed, **await self._attempt(claimed))
                self._farm.store.look_again()

    async def _attempt(self, row: Row) -> Change:
        try:
            return await self._deliver(row)
        except self.refusals as refusal:
            self._warn("{row} is refused for good: {problem}", row, refusal)
            return {"state": ReportState.REFUSED, "last_error": str(refusal)}
        except InfraError as failure:
            return self._postponed(row, failure)

    def _warn(self, words: str, row: Row, problem: BenchError) -> None:
        _LOG.warn(f"bench: {words}", row=f"{self.kind} {row.id}", problem=str(problem))

    def _sent(self, error: str | None = None) -> dict[str, Any]:
        """The columns of a row that was taken, by all but those whom `error` names."""
        return {"state": ReportState.SENT, "sent_at": self._farm.now(), "last_error": error}

    def _later(self, row: Row, error: str | None) -> dict[str, Any]:
        """The columns of a row that is tried again, the later the more attempts there were."""
        next_try_at = self._farm.now() + wait_s(row.attempts)
        return {"state": ReportState.NEW, "next_try_at": next_try_at, "last_error": error}


# A search that ended before that is no news, should a site be named today.
NEWS_S = 24 * 3600.0
# Who is denied so often, a quarter of an hour after the first time, waits for a person.
MOST_DENIALS = 5


class NoticeOutbox(Outbox[NoticeRow]):
    """Writes what is to be said, and has it said beside the broker's cycles."""

    kind = "notice"
    refusals = (SiteRefusal,)
    claim_s = 3 * TIMEOUT_S

    def __init__(self, farm: Farm) -> None:
        super().__init__(farm)
        self._taken_up = False

    async def advance(self) -> None:
        """Write the notices that are missing; start to say those that are due."""
        if not self._farm.workflow.notify.sites:
            return
        if not self._taken_up:
            await self._farm.store.take_up_notices(self._farm.now())
            self._taken_up = True
        workflow = self._farm.workflow
        waits_s = [testbed.profile_s or 0.0 for testbed in workflow.testbeds.values()]
        if len(all_series(workflow.bench_jobs)) > 1:
            waits_s.append(MOST_WAIT_S)
        since = self._farm.now() - NEWS_S - max(waits_s, default=0.0)
        fresh = await self._farm.store.unnoticed_searches(since)
        await for_each(fresh, self._write, "the notice of search")
        self.start()

    async def _write(self, search: SearchRow) -> None:
        """Write it when the mail is written: links to flame graphs then lead somewhere."""
        if await mail_is_to_wait(self._farm, search):
            return
        report = await report_of(self._farm, search)
        wanted = [(one.kind, one.target, one.body) for one in await self._wanted(report, search)]
        await self._farm.store.add_notices(search.id, wanted, now=self._farm.now())

    async def _wanted(self, report: Report, search: SearchRow) -> list[WantedNotice]:
        """What is said where: of one sure culprit that made it worse, and of nothing else."""
        step = report.headline
        if not report.mailable or step is None or len(step.suspects) != 1:
            return []
        (suspect,) = step.suspects
        known = await self._farm.git(self._farm.history.particulars, suspect)
        culprit = NamedCulprit(
            sha=suspect.sha,
            repository=search.repository,
            reviews=known.reviews,
            line=report.subject.removeprefix("[bench] "),
            markdown=report_markdown(report),
        )
        sites = sites_of(self._farm, search.repository).values()
        return [notice for site in sites for notice in site.notices(culprit)]

    async def _due(self, now: float) -> Sequence[NoticeRow]:
        return await self._farm.store.due_notices(now)

    async def _deliver(self, row: NoticeRow) -> Change:
        """Say it, unless the site has it already."""
        site, token = await self._site(row)
        notice = WantedNotice(kind=row.kind, target=row.target, body=row.body)
        page, mark = search_url(self._farm, row.search_id), f"bench:search:{row.search_id}"
        await site.say(notice, token=token, page=page, mark=mark)
        return self._sent()

    def _postponed(self, row: NoticeRow, failure: InfraError) -> Change:
        """It is tried again; not before the master starts anew if nobody lets us in.

        A site that is down says nothing about us: only what it denies counts.
        """
        denials = row.denials + isinstance(failure, SiteDenial)
        if isinstance(failure, SiteDenial) and denials >= MOST_DENIALS:
            self._warn("{row} is given up until a restart: {problem}", row, failure)
            given_up = {"state": ReportState.GIVEN_UP, "last_error": failure.message}
            return given_up | {"denials": denials}
        return self._later(row, str(failure)) | {"denials": denials}

    async def _site(self, notice: NoticeRow) -> tuple[NotifiedSite, str]:
        """The site of a notice, and the token that lets us in there."""
        search = await self._farm.store.search(notice.search_id)
        repository = search.repository if search else ""
        for name, site in sites_of(self._farm, repository).items():
            if notice.kind.startswith(f"{name}-"):
                token = await self._farm.secret(site.token_secret)
                if not token:
                    missing = f"there is no secret {quoted(site.token_secret)}"
                    raise SiteDenial(missing, hint="write the token into that file in secrets/")
                return site, token
        raise SiteRefusal(f"bench.yml no longer names a site for a {notice.kind}")


def sites_of(farm: Farm, repository: str) -> Mapping[str, NotifiedSite]:
    """The sites that hear of a repository's commits, by their keys in bench.yml."""
    registered = installed.registered(installed.SITES)
    named = farm.workflow.notify.sites_of(repository)
    return {name: installed.load(registered[name])(said) for name, said in named.items()}
