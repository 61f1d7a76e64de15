"""The mail of a search that found a culprit or failed: written once, sent until it is taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python import log

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.report import Report
from buildbot_bench.core.report.words import failed_subject
from buildbot_bench.plugin.album import pictures
from buildbot_bench.plugin.broker.digest import write_digest
from buildbot_bench.plugin.broker.lab_mail import write_alive, write_quarantines
from buildbot_bench.plugin.broker.profiles import captures_are_awaited
from buildbot_bench.plugin.db.finding_rows import ReportRow, SearchRow
from buildbot_bench.plugin.db.states import ReportState, SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.retries import RETRY_FIRST_S, wait_s
from buildbot_bench.plugin.mail import MailRefused, SmtpSettings, send
from buildbot_bench.plugin.recipients import addressees, operators
from buildbot_bench.plugin.reporting import report_of
from buildbot_bench.render.message import compose_message, new_message_id
from buildbot_bench.render.picture import Picture
from buildbot_bench.workflow import Mail


class Post:
    """Composes what is to be mailed, and carries it to the server beside the broker's turns."""

    def __init__(self, farm: Farm, master: Any) -> None:
        self._farm = farm
        self._master = master
        self._carrying = False

    async def advance(self) -> None:
        """Write the mails that are missing; start to carry those that are due."""
        mail = self._farm.workflow.mail
        if mail is None:
            return
        for search in await self._farm.store.unreported_searches():
            try:
                if not await captures_are_awaited(self._farm, search):
                    await self._write(search, mail)
            except Exception:  # noqa: BLE001 - a range that is gone must not hold up the others
                log.err(None, f"bench: the mail of search {search.id} is tried again next turn")
        for write in (write_digest, write_quarantines, write_alive):
            try:
                await write(self._farm, mail)
            except Exception:  # noqa: BLE001 - what is written already is carried all the same
                log.err(None, f"bench: {write.__name__} failed; the next turn tries again")
        if not self._carrying:
            self._carrying = True
            carried = Deferred.fromCoroutine(self._carry(mail))
            carried.addErrback(log.err, "bench: mails could not be carried; tried again later")
            carried.addBoth(self._carried)

    def _carried(self, _result: Any) -> None:
        self._carrying = False

    async def _write(self, search: SearchRow, mail: Mail) -> None:
        now = self._farm.now()
        date = datetime.fromtimestamp(now, tz=UTC)
        report = await report_of(self._farm, search)
        failed = search.state == SearchState.FAILED
        if failed:
            report, recipients = replace(report, subject=failed_subject(report)), operators(mail)
        else:
            recipients = await addressees(self._farm, report, mail)
        message_id = new_message_id(report, sender=mail.from_, date=date)
        message = compose_message(
            report,
            sender=mail.from_,
            recipients=recipients,
            reply_to=mail.reply_to,
            message_id=message_id,
            date=date,
            pictures=await self._pictures(search, report),
        )
        await self._farm.store.add_report(
            search.id,
            message_id=message_id,
            subject=report.subject,
            recipients=recipients,
            message=message.as_bytes(),
            now=now,
            # An improvement wakes nobody; the digest tells of it.
            state=ReportState.NEW if failed or report.mailable else ReportState.WITHHELD,
        )

    async def _pictures(self, search: SearchRow, report: Report) -> tuple[Picture, ...]:
        try:
            return await pictures(self._farm, search, report)
        except Exception:  # noqa: BLE001 - the text says it all: no drawing may keep it back
            log.err(None, "bench: a mail goes without its pictures")
            return ()

    async def _carry(self, mail: Mail) -> None:
        due = await self._farm.store.due_reports(self._farm.now())
        if not due:
            return
        settings = await self._settings(mail)
        for report in due:
            # Whoever finds it `sending` after the deadline knows that this attempt has died.
            claimed = await self._farm.store.change_report(
                report,
                state=ReportState.SENDING,
                attempts=report.attempts + 1,
                next_try_at=self._farm.now() + settings.deadline_s + RETRY_FIRST_S,
            )
            if claimed is not None:
                await self._try(claimed, mail, settings)

    async def _try(self, report: ReportRow, mail: Mail, settings: SmtpSettings) -> None:
        now = self._farm.now
        later = {"state": ReportState.NEW, "next_try_at": now() + wait_s(report.attempts)}
        change: dict[str, Any]
        try:
            delivery = await send(
                report.message, settings, sender=mail.from_, recipients=report.recipients
            )
        except (MailRefused, UsageError) as refusal:
            log.msg(f"bench: the mail {report.message_id} is refused for good: {refusal}")
            change = {"state": ReportState.REFUSED, "last_error": str(refusal)}
        except InfraError as failure:
            change = {**later, "last_error": str(failure)}
        else:
            refused = ", ".join(delivery.refused)
            error = f"refused for good: {refused}" if refused else None
            if delivery.deferred:
                change = {**later, "recipients": list(delivery.deferred), "last_error": error}
            else:
                change = {"state": ReportState.SENT, "sent_at": now(), "last_error": error}
        await self._farm.store.change_report(report, **change)

    async def _settings(self, mail: Mail) -> SmtpSettings:
        password = await self._farm.secret(mail.password_secret)
        return SmtpSettings(
            host=mail.smtp_host,
            port=mail.smtp_port,
            starttls=mail.starttls,
            user=mail.user,
            password=password,
        )
