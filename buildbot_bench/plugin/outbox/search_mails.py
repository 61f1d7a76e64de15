"""Mails of searches and comparisons: culprits, failures, breakages, recoveries, the digest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from typing import Any

from twisted.logger import Logger

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.report.context import OpinionKind
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.report.words import failed_subject
from buildbot_bench.core.revision import Particulars, Revision
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.triggers import WEEK_S, PathFilter, last_weekly
from buildbot_bench.plugin.db.columns import ReportState, SearchReason
from buildbot_bench.plugin.db.finding_rows import ReportRow, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.breakage_views import breakage_report, recovery_report
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.history import marks_of
from buildbot_bench.plugin.queries.incidents import is_of_improvement, mail_is_to_wait
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.html import history_picture, pictures_of
from buildbot_bench.render.message import (
    DigestReport,
    comparison_letter,
    notice_letter,
    report_letter,
)
from buildbot_bench.render.mime import Envelope, Letter, Picture, parse_address, write_message
from buildbot_bench.render.plots.history import HistoryMark, HistoryMarkKind, HistoryPoint
from buildbot_bench.workflow.settings import Mail

_LOG = Logger()


async def write_found(farm: Farm, mail: Mail, search: SearchRow) -> None:
    """Write the mail of a search for a level, unless it is to show something still to come."""
    if not await mail_is_to_wait(farm, search):
        await write_search_mail(farm, mail, search)


async def write_search_mail(farm: Farm, mail: Mail, search: SearchRow) -> None:
    """Compose the mail of a search and keep it, to be delivered."""
    report = await report_of(farm, search)
    failed = search.state == SearchState.FAILED and not is_of_improvement(search)
    if failed:
        report, recipients = replace(report, subject=failed_subject(report)), operators(mail)
    else:
        suspects = report.headline.suspects if report.headline else ()
        suspects += tuple(one.culprit for one in report.inside if one.culprit)
        recipients = await addressees(farm, mail, suspects, blamed=report.mailable)
    letter = report_letter(report, await _pictures_if_any(farm, search, report))
    # An improvement wakes nobody; the digest tells of it.
    state = ReportState.NEW if failed or report.mailable else ReportState.WITHHELD
    await keep_mail(farm, mail, f"search:{search.id}", recipients, letter, state=state)


async def write_breakages(farm: Farm, mail: Mail) -> None:
    """Write the mail of each breakage that was searched to the end and has none.

    Where no culprit was separated nobody is held to be one: author and committer get no mail.
    """
    for search in await farm.store.untold_breakages(farm.now() - NEWS_S):
        if report := await breakage_report(farm, search):
            recipients = await addressees(farm, mail, report.suspects, blamed=report.proved)
            await keep_mail(farm, mail, f"search:{search.id}", recipients, notice_letter(report))


async def write_recoveries(farm: Farm, mail: Mail) -> None:
    """Write the mail that closes each incident whose end nobody heard of, in its thread."""
    for search in await farm.store.untold_recoveries():
        if (first := await farm.store.report_of_search(search.id)) is None:
            continue
        if (report := await recovery_report(farm, search, found=first.subject)) is None:
            continue
        begun = message_from_bytes(first.message, policy=policy.default)
        thread = {
            "references": " ".join([*str(begun["References"] or "").split(), first.message_id]),
            "in_reply_to": first.message_id,
        }
        key, recipients = f"recovery:{search.id}", [str(one) for one in begun["To"].addresses]
        columns = composed(farm, mail, key, recipients, notice_letter(report), **thread)
        await farm.store.add_mail(key, **columns)


async def write_comparisons(farm: Farm, mail: Mail) -> None:
    """Write the mail of each comparison that bench.yml asked for and that ended by itself."""
    for ab_test in await farm.store.untold_ab_tests(farm.now() - NEWS_S):
        report = await ComparisonViews(farm).report(ab_test)
        page = f"{farm.master.config.buildbotURL}#/bench/comparisons/{ab_test.id}"
        letter = await calculate(comparison_letter, report, page=page)
        await keep_mail(farm, mail, f"comparison:{ab_test.id}", mail.to, letter)


# What ended longer ago is no news: a farm that learns of digests tells nobody of its past.
_NEWS_S = 2 * WEEK_S


async def write_undecided(farm: Farm, mail: Mail) -> None:
    """Withhold a report of each search for an improvement that found nothing sure."""
    for search in await farm.store.undecided_searches(farm.now() - _NEWS_S):
        if is_of_improvement(search):
            await write_search_mail(farm, mail, search)


async def write_digest(farm: Farm, mail: Mail) -> None:
    """When it is time, write the mail about all that is withheld; nothing when there is none.

    The time is that of bench.yml, or a week after the oldest of them.
    """
    withheld = await farm.store.withheld_reports()
    if not withheld or withheld[0].created_at > _told_up_to(farm, farm.now()):
        return
    reports = [report for row in withheld if (report := await _report(farm, row))]
    if not reports:
        for row in withheld:
            await farm.store.change(row, state=ReportState.DIGESTED)
        return
    letter = notice_letter(DigestReport(reports=tuple(reports)))
    columns = composed(farm, mail, f"digest:{withheld[-1].id}", mail.to, letter)
    await farm.store.digest_reports(withheld, **columns)


def _told_up_to(farm: Farm, now: float) -> float:
    """What was withheld up to then is to be reported now."""
    digest = farm.workflow.notify.digest
    if digest is None:
        return now - WEEK_S
    return last_weekly(now, weekday=digest.weekday, minute=digest.at)


async def _report(farm: Farm, row: ReportRow) -> Report | None:
    """What an improvement's search found; None of noise, and where its range is gone."""
    search = await farm.store.search(row.search_id) if row.search_id else None
    try:
        report = None if search is None else await report_of(farm, search)
    except BenchError:
        _LOG.failure(
            "bench: the digest leaves out the improvement of search {search}", search=row.search_id
        )
        return None
    if report is None or (report.opinion and report.opinion.kind is OpinionKind.NOISE):
        return None
    return report


async def _pictures_if_any(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    """All that help to believe a report; may be none."""
    try:
        drawn = await calculate(pictures_of, report)
        if search.reason == SearchReason.ALARM and report.headline is not None:
            drawn += await _series(farm, search, report)
    except Exception:  # noqa: BLE001 - the text says it all: no drawing may keep it back
        _LOG.failure("bench: a mail goes without its pictures")
        return ()
    return drawn


# Of fewer revisions no level is to be seen that the other pictures do not show.
_FEWEST_POINTS = 8


async def _series(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    """The series around the step, in the epoch that was measured last, as the judge saw it."""
    samples = comparable_samples(
        await farm.store.samples(
            search.series,
            (max(0, search.old_position - WINDOW_COMMITS), search.new_position + WINDOW_COMMITS),
            unit=search.measured_in,
            branch=search.branch,
        )
    )
    points = _points(samples)
    if len(points) < _FEWEST_POINTS:
        return ()
    first, last = points[0].position, points[-1].position
    marks = [
        HistoryMark(position=mark.position, kind=HistoryMarkKind(mark.kind), text=mark.label)
        for mark in await marks_of(farm, search.series, search.branch, search.value)
        if first <= mark.position <= last
    ]
    noise = await calculate(learn, samples)
    boots = sum(len(point.values) for point in points) / len(points)
    sigma = (noise.sigma_run**2 / boots + noise.sigma_build**2) ** 0.5
    return (await calculate(history_picture, report, points, marks, sigma),)


def _points(samples: Sequence[Sample]) -> list[HistoryPoint]:
    """Every revision with the values of all its images."""
    values: dict[int, list[float]] = {}
    labels: dict[int, str] = {}
    for sample in samples:
        if sample.values:
            values.setdefault(sample.position, []).extend(sample.values)
            labels[sample.position] = sample.label
    return [
        HistoryPoint(position=position, label=labels[position], values=tuple(of))
        for position, of in sorted(values.items())
    ]


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
