"""Invariants of images, artefacts, searches, mails and references between tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from buildbot_bench.core.operations.records import (
    ArtefactFacts,
    BuildRequest,
    DanglingReference,
    ImageFacts,
    MessageFacts,
    Moment,
    SearchFacts,
    UntoldFacts,
)
from buildbot_bench.core.operations.violations import Violation, not_run

# Kernels that nobody claims go once a day (broker/retention.py); one day is missed at a restart.
UNCLAIMED_S = 2 * 24 * 3600.0
# A mail waits up to six hours for other series (queries/incidents.py), and for captures of them.
MAIL_WAIT_S = 24 * 3600.0


def check_image(
    image: ImageFacts, requests: Mapping[int, BuildRequest], moment: Moment
) -> Iterator[Violation]:
    """One that is built has an artefact; one that is being built has a build."""
    row = f"image {image.id}"
    if image.is_built:
        if image.digest is None or not image.stored:
            what = "no digest" if image.digest is None else f"no artefact {image.digest[:12]}"
            yield Violation(
                check="images",
                row=row,
                problem=f"{image.label} is built, but the tables have {what}",
                next="set its state to 'dropped': it is built again when it is asked for",
            )
    elif why := not_run(image.brid, requests, image.changed_at_s, moment):
        yield Violation(
            check="images",
            row=row,
            problem=f"{image.label} is being built, but {why}",
            next="restart the master, which looks at each such image",
        )


def check_artefacts(
    artefacts: Iterable[ArtefactFacts], files: Mapping[str, int] | None, moment: Moment
) -> Iterator[Violation]:
    """Each has an image and a file, each file a row; `files` are sizes in bytes by digest.

    None for the files: they lie elsewhere, and nothing is said of them.
    """
    known: set[str] = set()
    for one in artefacts:
        known.add(one.digest)
        row = f"artefact {one.digest[:12]}"
        if one.claimed and files is not None and files.get(one.digest) != one.size:
            there = files.get(one.digest)
            found = "is missing" if there is None else f"has {there} bytes"
            yield Violation(
                check="images",
                row=row,
                problem=f"an image claims its {one.size} bytes, but the file {found}",
                next="set the image's state to 'dropped': it is built again when it is asked for",
            )
        if (
            not one.claimed
            and not moment.idle
            and moment.is_overdue(one.stored_at_s, grace_s=UNCLAIMED_S)
        ):
            yield _of_owner(
                row, "no image claims it for two days", "read the master's log for why it stays"
            )
    for digest in sorted((files or {}).keys() - known):
        yield _of_owner(
            f"file artefacts/{digest[:2]}/{digest}",
            "is there, but the tables have no such artefact",
            "delete the file: it is built again when needed",
        )


def check_search(search: SearchFacts, moment: Moment) -> Iterator[Violation]:
    """It ends once, with what a report is made of or a reason."""
    row = f"search {search.id}"
    if search.is_open and search.ended_at_s is not None:
        yield _of_search(row, f"is {search.state}, but has a time of its end", "set it to NULL")
    if search.is_open and moment.idle:
        yield _of_search(
            row, f"is {search.state}, though nothing is measured for it", "read the master's log"
        )
    if search.is_open:
        return
    if search.ended_at_s is None:
        yield _of_search(row, f"is {search.state}, but not since when", "set ended_at")
    if search.found and not search.has_answer:
        yield _of_search(
            row,
            f"is {search.state}, but there is nothing to compose a report of",
            "set it to 'running' and ended_at to NULL: the broker plans from the evidence again",
        )
    if not search.found and not search.has_answer and not search.has_reason:
        yield _of_search(
            row,
            f"is {search.state}, without a report and without a reason",
            "say why in its column `detail`",
        )


def check_untold(untold: Iterable[UntoldFacts], moment: Moment) -> Iterator[Violation]:
    """What must be mailed has a mail as soon as nothing holds it up, and after a day anyway."""
    for one in untold:
        settled = one.settled_at_s is not None and moment.was_missed(one.settled_at_s)
        if settled or moment.was_missed(one.since_s, grace_s=MAIL_WAIT_S):
            yield _of_search(
                one.row,
                f"{one.problem}, but there is no mail about it",
                "start the master: it writes the mail, or says in its log why it cannot",
            )


def check_messages(messages: Iterable[MessageFacts], moment: Moment) -> Iterator[Violation]:
    """Each is sent at most once, and says when; in an idle farm none waits."""
    sent: dict[str, str] = {}
    for one in messages:
        if one.is_sent != (one.sent_at_s is not None):
            said = "is sent, but not when" if one.is_sent else "is not sent, but has a time of that"
            yield _of_message(one.row, said, "set state and sent_at by the mail server's log")
        if one.is_sent and one.message_id in sent:
            yield _of_message(
                one.row,
                f"was sent as {one.message_id}, as {sent[one.message_id]} was",
                "ask the mail server's log whether readers got two",
            )
        if one.is_sent:
            sent.setdefault(one.message_id, one.row)
        if one.is_waiting and moment.idle:
            yield _of_message(one.row, "waits to be sent", "see its column last_error for why")


def check_references(dangling: Iterable[DanglingReference]) -> Iterator[Violation]:
    """No row names one that is not there."""
    for one in dangling:
        yield Violation(
            check="references",
            row=f"{one.table} {one.row_id}",
            problem=f"{one.column} is {one.value}, which {one.target} does not have",
            next="restore the newest backup that verify calls whole, or set the column to NULL",
        )


def _of_owner(row: str, problem: str, then: str) -> Violation:
    return Violation(check="owners", row=row, problem=problem, next=then)


def _of_search(row: str, problem: str, then: str) -> Violation:
    return Violation(check="searches", row=row, problem=problem, next=then)


def _of_message(row: str, problem: str, then: str) -> Violation:
    return Violation(check="messages", row=row, problem=problem, next=then)
