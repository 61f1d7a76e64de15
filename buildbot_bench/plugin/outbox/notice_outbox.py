"""The outbox of notices of culprits for other sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twisted.logger import Logger

from buildbot_bench import extensions
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.report import Report
from buildbot_bench.plugin.db.finding_rows import NoticeRow, SearchRow
from buildbot_bench.plugin.db.states import ReportState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.plugin.outbox.outbox import Change, Outbox, delivered, later
from buildbot_bench.plugin.outbox.site import (
    TIMEOUT_S,
    NamedCulprit,
    NotifiedSite,
    Site,
    SiteDenial,
    SiteRefusal,
    WantedNotice,
    no_token,
)
from buildbot_bench.plugin.queries.incidents import MOST_WAIT_S, mail_is_to_wait
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.html import report_markdown

_LOG = Logger()

# A search that ended before that is no news, should a site be named today.
NEWS_S = 24 * 3600.0
# Who is denied so often, a quarter of an hour after the first time, waits for a person.
MOST_DENIALS = 5


class NoticeOutbox:
    """Writes what is to be said, and has it said beside the broker's cycles."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._outbox = Outbox(farm, NoticeDelivery(farm))
        self._taken_up = False

    @property
    def is_delivering(self) -> bool:
        """Whether a delivery goes on."""
        return self._outbox.is_delivering

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
        self._outbox.start()

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


def sites_of(farm: Farm, repository: str) -> Mapping[str, NotifiedSite]:
    """The sites that hear of a repository's commits, by their keys in bench.yml."""
    registered = extensions.registered(extensions.SITES)
    named = farm.workflow.notify.sites_of(repository)
    return {name: extensions.load(registered[name])(said) for name, said in named.items()}


class NoticeDelivery:
    """One attempt to tell another site of a culprit."""

    kind = "notices"
    refusals = (SiteRefusal,)

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def begin(self) -> float:
        """A claim outlasts the longest attempt."""
        return 3 * TIMEOUT_S

    async def due(self, now: float) -> Sequence[NoticeRow]:
        """The notices that wait for an attempt."""
        return await self._farm.store.due_notices(now)

    async def claim(self, row: NoticeRow, columns: Change) -> NoticeRow | None:
        """Change a notice, unless another master was quicker or runs the broker now."""
        return await self._farm.store.change(row, **columns)

    async def settle(self, row: NoticeRow, columns: Change) -> NoticeRow | None:
        """Change a notice, unless another master was quicker."""
        settled = await self._farm.unguarded.change(row, **columns)
        self._farm.store.look_again()
        return settled

    async def deliver(self, row: NoticeRow) -> Change:
        """Say it, unless the site has it already."""
        site = await self._site(row)
        await site.say(row.target, row.body, mark=f"bench:search:{row.search_id}")
        return delivered(self._farm)

    def postponed(self, row: NoticeRow, failure: InfraError) -> Change:
        """It is tried again; not before the master starts anew if nobody lets us in.

        A site that is down says nothing about us: only what it denies counts.
        """
        denials = row.denials + isinstance(failure, SiteDenial)
        if isinstance(failure, SiteDenial) and denials >= MOST_DENIALS:
            _LOG.warn(
                "bench: {row} is given up after {denials} denials until the master is started"
                " again: {problem}",
                row=self.name(row),
                denials=denials,
                problem=str(failure),
            )
            return {
                "state": ReportState.GIVEN_UP,
                "denials": denials,
                "last_error": failure.message,
            }
        return later(self._farm, row, str(failure)) | {"denials": denials}

    def name(self, row: NoticeRow) -> str:
        """The notice, by its site and search."""
        return f"{row.kind} of search {row.search_id}"

    async def _site(self, notice: NoticeRow) -> Site:
        page = self._page(notice.search_id)
        search = await self._farm.store.search(notice.search_id)
        repository = search.repository if search else ""
        for name, site in sites_of(self._farm, repository).items():
            if not notice.kind.startswith(f"{name}-"):
                continue
            token = await self._token(site.token_secret)
            if speaker := site.speaker(notice.kind, token=token, page=page):
                return speaker
        raise SiteRefusal(f"bench.yml no longer names a site for a {notice.kind}")

    async def _token(self, name: str) -> str:
        token = await self._farm.secret(name)
        if not token:
            raise no_token(name)
        return token

    def _page(self, search_id: int) -> str:
        return f"{self._farm.master.config.buildbotURL}#/bench/searches/{search_id}"
