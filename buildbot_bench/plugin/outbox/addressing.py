"""Recipients of mails, and the rows by which mails wait to be sent."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import Particulars, Revision
from buildbot_bench.core.triggers import PathFilter
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.render.mime import Envelope, Letter, parse_address, write_message
from buildbot_bench.workflow.settings import Mail

NEWS_S = 24 * 3600.0
"""A farm that got its mail settings today tells nobody of what was over before that."""

# A range of more suspects than this concerns everybody, and so nobody in particular.
_MOST_SUSPECTS = 50


async def addressees(
    farm: Farm, mail: Mail, suspects: Sequence[Revision], *, blamed: bool
) -> list[str]:
    """The addresses of a mail about some commits; `blamed`: one of them is sure to be the culprit.

    The mirror is asked only if bench.yml goes by commits.
    """
    known = {}
    if len(suspects) <= _MOST_SUSPECTS and (mail.paths or mail.to_committer):
        particulars = farm.history.particulars
        known = await farm.git(lambda: {one.sha: particulars(one) for one in suspects})
    return recipients_among(suspects if blamed else (), mail, known)


def recipients_among(
    suspects: Sequence[Revision], mail: Mail, known: Mapping[str, Particulars]
) -> list[str]:
    """The addresses of a mail about some suspects, each once, those of bench.yml first.

    Lists get it when any of the `known` commits touches their path; author and committer only when
    there is one suspect: nobody is accused by lot.
    """
    touched = [path for one in known.values() for path in one.paths]
    added: list[str | None] = []
    for pattern, addresses in mail.paths.items():
        if any(map(PathFilter(paths=(pattern,)).counts, touched)):
            added += addresses
    if len(suspects) == 1:
        (alone,) = suspects
        if mail.to_author:
            added.append(bare_address(alone.author))
        if mail.to_committer:
            added.append(bare_address(known.get(alone.sha, Particulars()).committer))
    chosen = list(mail.to)
    for address in filter(None, added):
        if _bare(address) not in map(_bare, chosen):
            chosen.append(address)
    return chosen


def _bare(address: str) -> str:
    return parse_address(address).addr_spec.casefold()


def operators(mail: Mail) -> list[str]:
    """Whom a search that failed concerns: who answers for the farm, else the farm's own address."""
    return [mail.reply_to or mail.from_]


def owners(farm: Farm, testbed: str, mail: Mail) -> list[str]:
    """Who answers for a testbed: its control image's owner, or else the farm's operators."""
    control = farm.workflow.testbeds[testbed].control
    return [control.owner] if control is not None and control.owner else operators(mail)


def bare_address(person: str) -> str | None:
    """The address of somebody whom a commit names, if it is one.

    A name that somebody chose is left out, and so is an address without a full domain: git makes
    `user@machine` up when nobody set another.
    """
    try:
        address = parse_address(person)
    except UsageError:
        return None
    return address.addr_spec if "." in address.domain.strip(".") else None


def composed(
    farm: Farm, mail: Mail, key: str, recipients: Sequence[str], letter: Letter, **thread: str
) -> dict[str, Any]:
    """The columns of a mail that is written now, as the store's `add_mail` takes them.

    `key` names what it is about, in its Message-ID as well; there the time keeps two farms' lives
    apart, since numbers begin anew with an empty database. `thread` is as in `Envelope`.
    """
    now = farm.now()
    about = key.removeprefix("search:").replace(":", ".")
    envelope = Envelope(
        sender=mail.from_,
        recipients=recipients,
        reply_to=mail.reply_to,
        message_id=f"<bench.{about}.{int(now)}@{parse_address(mail.from_).domain}>",
        date=datetime.fromtimestamp(now, tz=UTC),
        **thread,
    )
    return {
        "message_id": envelope.message_id,
        "subject": letter.subject,
        "recipients": list(recipients),
        "message": write_message(letter, envelope).as_bytes(),
        "now": now,
    }


async def keep_mail(
    farm: Farm, mail: Mail, key: str, recipients: Sequence[str], letter: Letter, **columns: Any
) -> None:
    """Put a mail into the outbox unless there is one of this key; `columns` are others of its."""
    kept = composed(farm, mail, key, recipients, letter)
    await farm.store.add_mail(key, **kept, **columns)
