"""The mail of a search that found a culprit or failed: recipients, pictures and text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from twisted.logger import Logger

from buildbot_bench.api.states import SearchState
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.paths import PathFilter
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.report.words import failed_subject
from buildbot_bench.core.revision import Particulars, Revision
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import ReportState, SearchReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.history import marks_of
from buildbot_bench.plugin.queries.incidents import is_of_improvement
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.html import history_picture, pictures_of
from buildbot_bench.render.message import compose_message, new_message_id
from buildbot_bench.render.mime import Picture, parse_address
from buildbot_bench.render.plots.history import HistoryMark, HistoryMarkKind, HistoryPoint
from buildbot_bench.workflow.settings import Mail

_LOG = Logger()

# A range of more suspects than this concerns everybody, and so nobody in particular.
MOST_SUSPECTS = 50


async def addressees(farm: Farm, report: Report, mail: Mail) -> list[str]:
    """The addresses of a report's mail."""
    suspects = report.headline.suspects if report.headline else ()
    return recipients_of(report, mail, await particulars_of(farm, suspects, mail))


async def particulars_of(
    farm: Farm, suspects: Sequence[Revision], mail: Mail
) -> dict[str, Particulars]:
    """What is known of suspects, by hash; the mirror is asked only if bench.yml goes by commits."""
    if len(suspects) > MOST_SUSPECTS or not (mail.paths or mail.to_committer):
        return {}
    known = farm.history.particulars
    return await farm.git(lambda: {suspect.sha: known(suspect) for suspect in suspects})


def recipients_of(
    report: Report, mail: Mail, known: Mapping[str, Particulars] | None = None
) -> list[str]:
    """The addresses of a report's mail, each once, those of bench.yml first."""
    suspects = report.headline.suspects if report.mailable and report.headline else ()
    return recipients_among(suspects, mail, known or {})


def recipients_among(
    suspects: Sequence[Revision], mail: Mail, known: Mapping[str, Particulars]
) -> list[str]:
    """The addresses of a mail about some suspects.

    Lists get it when any of the suspects touches their path; author and committer only when
    there is one suspect: nobody is accused by lot.
    """
    added: list[str | None] = [*_by_paths(mail, known.values())]
    if len(suspects) == 1:
        (alone,) = suspects
        if mail.to_author:
            added.append(bare_address(alone.author))
        if mail.to_committer:
            added.append(bare_address(known.get(alone.sha, Particulars()).committer))
    return _with(mail, added)


def _with(mail: Mail, added: Iterable[str | None]) -> list[str]:
    """Those of bench.yml, and then what is added and an address, each once."""
    sent = {parse_address(one).addr_spec.casefold(): one for one in reversed(mail.to)}
    chosen = list(mail.to)
    for address in added:
        if address and (bare := parse_address(address).addr_spec.casefold()) not in sent:
            sent[bare] = address
            chosen.append(address)
    return chosen


def _by_paths(mail: Mail, known: Iterable[Particulars]) -> Iterable[str]:
    touched = [path for one in known for path in one.paths]
    for pattern, addresses in mail.paths.items():
        if any(map(PathFilter(paths=(pattern,)).counts, touched)):
            yield from addresses


def operators(mail: Mail) -> list[str]:
    """Whom a search that failed concerns: who answers for the farm, else the farm's own address."""
    return [mail.reply_to or mail.from_]


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


# Of fewer revisions no level is to be seen that the other pictures do not show.
_FEWEST_POINTS = 8


async def pictures(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    """All that help to believe a report; may be none."""
    drawn = await calculate(pictures_of, report)
    if search.reason != SearchReason.ALARM or report.headline is None:
        return drawn
    return (*drawn, *await _series(farm, search, report))


async def _series(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    """The series around the step, in the epoch that was measured last, as the judge saw it."""
    samples = comparable_samples(
        await farm.store.samples(
            testbed=search.testbed,
            workload=search.workload,
            first_position=max(0, search.old_position - WINDOW_COMMITS),
            last_position=search.new_position + WINDOW_COMMITS,
            unit=search.unit or None,
            branch=search.branch,
        )
    )
    points = _points(samples)
    if len(points) < _FEWEST_POINTS:
        return ()
    first, last = points[0].position, points[-1].position
    marks = [
        HistoryMark(position=mark.position, kind=HistoryMarkKind(mark.kind), text=mark.label)
        for mark in await marks_of(farm, search.testbed, search.workload, search.branch)
        if first <= mark.position <= last
    ]
    noise = await calculate(learn, samples)
    sigma = (noise.sigma_run**2 / _usual_boots(points) + noise.sigma_build**2) ** 0.5
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


def _usual_boots(points: Sequence[HistoryPoint]) -> float:
    """How many boots a revision usually has."""
    return sum(len(point.values) for point in points) / len(points)


async def write_search_mail(farm: Farm, mail: Mail, search: SearchRow) -> None:
    """Compose the mail of a search and keep it, to be delivered."""
    now = farm.now()
    date = datetime.fromtimestamp(now, tz=UTC)
    report = await report_of(farm, search)
    failed = search.state == SearchState.FAILED and not is_of_improvement(search)
    if failed:
        report, recipients = replace(report, subject=failed_subject(report)), operators(mail)
    else:
        recipients = await addressees(farm, report, mail)
    message_id = new_message_id(report, sender=mail.from_, date=date)
    message = compose_message(
        report,
        sender=mail.from_,
        recipients=recipients,
        reply_to=mail.reply_to,
        message_id=message_id,
        date=date,
        pictures=await _pictures_if_any(farm, search, report),
    )
    await farm.store.add_report(
        search.id,
        message_id=message_id,
        subject=report.subject,
        recipients=recipients,
        message=message.as_bytes(),
        now=now,
        # An improvement wakes nobody; the digest tells of it.
        state=ReportState.NEW if failed or report.mailable else ReportState.WITHHELD,
    )


async def _pictures_if_any(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    try:
        return await pictures(farm, search, report)
    except Exception:  # noqa: BLE001 - the text says it all: no drawing may keep it back
        _LOG.failure("bench: a mail goes without its pictures")
        return ()
