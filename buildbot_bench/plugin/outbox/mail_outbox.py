"""The outbox of mails: which are to be written, and how one is given to the SMTP server."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.python import log

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.plugin.db.finding_rows import ReportRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.retries import RETRY_FIRST_S
from buildbot_bench.plugin.outbox.farm_mail import write_alive, write_digest, write_quarantines
from buildbot_bench.plugin.outbox.outbox import Change, Outbox, delivered, later
from buildbot_bench.plugin.outbox.search_mail import write_search_mail
from buildbot_bench.plugin.outbox.smtp import MailRefused, SmtpSettings, send
from buildbot_bench.plugin.queries.captures import captures_are_awaited
from buildbot_bench.workflow import Mail


class MailOutbox:
    """Composes what is to be mailed, and has it delivered beside the broker's cycles."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._outbox = Outbox(farm, MailDelivery(farm))

    @property
    def is_delivering(self) -> bool:
        """Whether a delivery goes on."""
        return self._outbox.is_delivering

    async def advance(self) -> None:
        """Write the mails that are missing; start to deliver those that are due."""
        mail = self._farm.workflow.mail
        if mail is None:
            return
        for search in await self._farm.store.unreported_searches():
            try:
                if not await captures_are_awaited(self._farm, search):
                    await write_search_mail(self._farm, mail, search)
            except Exception:  # noqa: BLE001 - a range that is gone must not hold up the others
                log.err(None, f"bench: the mail of search {search.id} is tried again next cycle")
        for write in (write_digest, write_quarantines, write_alive):
            try:
                await write(self._farm, mail)
            except Exception:  # noqa: BLE001 - what is written already is delivered all the same
                log.err(None, f"bench: {write.__name__} failed; the next cycle tries again")
        self._outbox.start()


class MailDelivery:
    """One attempt to hand a mail to the server that bench.yml names."""

    kind = "mails"
    refusals = (MailRefused, UsageError)

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._settings = SmtpSettings(host="")

    async def begin(self) -> float:
        """Take the server from bench.yml; a claim outlasts the longest attempt."""
        mail = self._mail
        self._settings = SmtpSettings(
            host=mail.smtp_host,
            port=mail.smtp_port,
            starttls=mail.starttls,
            user=mail.user,
            password=await self._farm.secret(mail.password_secret),
        )
        return self._settings.deadline_s + RETRY_FIRST_S

    @property
    def _mail(self) -> Mail:
        """What bench.yml says of mail.

        Raises:
            InfraError: A new one says nothing of it any more.
        """
        if self._farm.workflow.mail is None:
            raise InfraError("bench.yml has no `mail` any more")
        return self._farm.workflow.mail

    async def due(self, now: float) -> Sequence[ReportRow]:
        """The mails that wait for an attempt."""
        return await self._farm.store.due_reports(now)

    async def change(self, row: ReportRow, columns: Change) -> ReportRow | None:
        """Change a mail, unless another master was quicker."""
        return await self._farm.store.change_report(row, **columns)

    async def deliver(self, row: ReportRow) -> Change:
        """Send it; those of its recipients who were deferred get it later."""
        delivery = await send(
            row.message, self._settings, sender=self._mail.from_, recipients=row.recipients
        )
        refused = ", ".join(delivery.refused)
        error = f"refused for good: {refused}" if refused else None
        if delivery.deferred:
            return later(self._farm, row, error) | {"recipients": list(delivery.deferred)}
        return delivered(self._farm, error)

    def postponed(self, row: ReportRow, failure: InfraError) -> Change:
        """It is tried again, however often."""
        return later(self._farm, row, str(failure))

    def name(self, row: ReportRow) -> str:
        """The mail, by its id."""
        return f"the mail {row.message_id}"
