"""What other sites are told of a culprit: written once, beside the mail, and said until taken."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.python import log

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.report import Report
from buildbot_bench.plugin.broker.profiles import captures_are_awaited
from buildbot_bench.plugin.db.finding_rows import NoticeRow, SearchRow
from buildbot_bench.plugin.db.states import NoticeKind, ReportState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.retries import for_each, wait_s
from buildbot_bench.plugin.reporting import report_of
from buildbot_bench.plugin.sites import (
    TIMEOUT_S,
    GitHubComment,
    GitHubStatus,
    PhabricatorComment,
    Site,
    SiteDenial,
    SiteRefusal,
    no_token,
)
from buildbot_bench.render.markdown import report_markdown

# A search that ended before that is no news, should a site be named today.
NEWS_S = 24 * 3600.0
# Who is denied so often, a quarter of an hour after the first time, waits for a person.
MOST_DENIALS = 5


class Notices:
    """Writes what is to be said, and says it beside the broker's turns."""

    def __init__(self, farm: Farm, master: Any) -> None:
        self._farm = farm
        self._master = master
        self._saying = False
        self._taken_up = False

    async def advance(self) -> None:
        """Write the notices that are missing; start to say those that are due."""
        notify = self._farm.workflow.notify
        if notify.github is None and notify.phabricator is None:
            return
        if not self._taken_up:
            await self._farm.store.take_up_notices(self._farm.now())
            self._taken_up = True
        beds = self._farm.workflow.testbeds.values()
        longest_s = max((bed.profile_s or 0.0 for bed in beds), default=0.0)
        since = self._farm.now() - NEWS_S - longest_s
        fresh = await self._farm.store.unnoticed_searches(since)
        await for_each(fresh, self._write, "the notice of search")
        if not self._saying:
            self._saying = True
            said = Deferred.fromCoroutine(self._say_all())
            said.addErrback(log.err, "bench: notices could not be given; tried again later")
            said.addBoth(self._said)

    def _said(self, _result: Any) -> None:
        self._saying = False

    async def _write(self, search: SearchRow) -> None:
        """Write it once its links to flame graphs lead somewhere, as the mail waits for them."""
        if await captures_are_awaited(self._farm, search):
            return
        report = await report_of(self._farm, search)
        await self._farm.store.add_notices(
            search.id, await self._wanted(report), now=self._farm.now()
        )

    async def _wanted(self, report: Report) -> list[tuple[NoticeKind, str, str]]:
        """What is said where: of one sure culprit that made it worse, and of nothing else."""
        step = report.headline
        if not report.mailable or step is None or len(step.suspects) != 1:
            return []
        (culprit,) = step.suspects
        notify, markdown = self._farm.workflow.notify, report_markdown(report)
        wanted: list[tuple[NoticeKind, str, str]] = []
        if notify.github and notify.github.status:
            line = report.subject.removeprefix("[bench] ")
            wanted.append((NoticeKind.GITHUB_STATUS, culprit.sha, line))
        if notify.github and notify.github.comment:
            wanted.append((NoticeKind.GITHUB_COMMENT, culprit.sha, markdown))
        if notify.phabricator:
            known = await self._farm.git(self._farm.history.particulars, culprit)
            wanted += [
                (NoticeKind.PHABRICATOR_COMMENT, f"D{number}", markdown) for number in known.reviews
            ]
        return wanted

    async def _say_all(self) -> None:
        for notice in await self._farm.store.due_notices(self._farm.now()):
            # Whoever finds it `sending` after this time knows that this attempt has died.
            claimed = await self._farm.store.change_notice(
                notice,
                state=ReportState.SENDING,
                attempts=notice.attempts + 1,
                next_try_at=self._farm.now() + 3 * TIMEOUT_S,
            )
            if claimed is not None:
                await self._try(claimed)

    async def _try(self, notice: NoticeRow) -> None:
        now = self._farm.now
        change: dict[str, Any]
        try:
            site = await self._site(notice)
            await site.say(notice.target, notice.body, mark=f"bench:search:{notice.search_id}")
        except SiteRefusal as refusal:
            log.msg(f"bench: {notice.kind} of search {notice.search_id}: {refusal}")
            change = {"state": ReportState.REFUSED, "last_error": str(refusal)}
        except InfraError as failure:
            change = self._later(notice, failure)
        else:
            change = {"state": ReportState.SENT, "sent_at": now(), "last_error": None}
        await self._farm.store.change_notice(notice, **change)

    def _later(self, notice: NoticeRow, failure: InfraError) -> dict[str, Any]:
        """When to try again; not before the master starts anew if nobody lets us in.

        A site that is down says nothing about us: only what it denies counts.
        """
        denials = notice.denials + isinstance(failure, SiteDenial)
        if isinstance(failure, SiteDenial) and denials >= MOST_DENIALS:
            log.msg(
                f"bench: {notice.kind} of search {notice.search_id} is given up after "
                f"{denials} denials until the master is started again: {failure}"
            )
            return {
                "state": ReportState.GIVEN_UP,
                "denials": denials,
                "last_error": failure.message,
            }
        return {
            "state": ReportState.NEW,
            "denials": denials,
            "last_error": str(failure),
            "next_try_at": self._farm.now() + wait_s(notice.attempts),
        }

    async def _site(self, notice: NoticeRow) -> Site:
        github, phabricator = (
            self._farm.workflow.notify.github,
            self._farm.workflow.notify.phabricator,
        )
        match notice.kind:
            case NoticeKind.GITHUB_STATUS if github:
                return GitHubStatus(
                    api=github.api,
                    repository=github.repository,
                    token=await self._token(github.token_secret),
                    page=self._page(notice.search_id),
                )
            case NoticeKind.GITHUB_COMMENT if github:
                return GitHubComment(
                    api=github.api,
                    repository=github.repository,
                    token=await self._token(github.token_secret),
                )
            case NoticeKind.PHABRICATOR_COMMENT if phabricator:
                token = await self._token(phabricator.token_secret)
                return PhabricatorComment(site=phabricator.site, token=token)
        raise SiteRefusal(f"bench.yml names no site for a {notice.kind} any more")

    async def _token(self, name: str) -> str:
        secret = await self._master.namedServices["secrets"].get(name)
        if secret is None or not secret.value:
            raise no_token(name)
        return str(secret.value)

    def _page(self, search_id: int) -> str:
        return f"{self._farm.master.config.buildbotURL}#/bench/searches/{search_id}"
