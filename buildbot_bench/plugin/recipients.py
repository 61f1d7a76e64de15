"""Who is mailed about a culprit: whom bench.yml names, itself or by what the commit says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.paths import PathFilter
from buildbot_bench.core.report import Report
from buildbot_bench.core.revision import Particulars
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.render.message import parse_address
from buildbot_bench.workflow import Mail

# A range of more suspects than this concerns everybody, and so nobody in particular.
MOST_SUSPECTS = 50


async def addressees(farm: Farm, report: Report, mail: Mail) -> list[str]:
    """The addresses of a report's mail; the mirror is asked only if bench.yml goes by commits."""
    known: dict[str, Particulars] = {}
    if mail.paths or mail.to_committer:
        known = await farm.git(particulars_of, farm, report)
    return recipients_of(report, mail, known)


def particulars_of(farm: Farm, report: Report) -> dict[str, Particulars]:
    """What is known of the suspects, by hash, in a thread that may ask the mirror."""
    suspects = report.headline.suspects if report.headline else ()
    if len(suspects) > MOST_SUSPECTS:
        return {}
    return {suspect.sha: farm.history.particulars(suspect) for suspect in suspects}


def recipients_of(
    report: Report, mail: Mail, known: Mapping[str, Particulars] | None = None
) -> list[str]:
    """The addresses of a report's mail, each once, those of bench.yml first.

    Lists are told when any of the suspects touches their path; author and committer only when
    there is one suspect: nobody is accused by lot.
    """
    known = known or {}
    added: list[str | None] = [*_by_paths(mail, known.values())]
    if mail.to_author:
        added.append(author_address(report))
    if mail.to_committer:
        added.append(committer_address(report, known))
    told = {parse_address(one).addr_spec.casefold(): one for one in reversed(mail.to)}
    chosen = list(mail.to)
    for address in added:
        if address and (bare := parse_address(address).addr_spec.casefold()) not in told:
            told[bare] = address
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


def author_address(report: Report) -> str | None:
    """The bare address of the culprit's author; None unless it is one that mail can go to."""
    if not report.mailable or report.headline is None or len(report.headline.suspects) != 1:
        return None
    return bare_address(report.headline.suspects[0].author)


def committer_address(report: Report, known: Mapping[str, Particulars]) -> str | None:
    """The same of who committed it."""
    if not report.mailable or report.headline is None or len(report.headline.suspects) != 1:
        return None
    return bare_address(known.get(report.headline.suspects[0].sha, Particulars()).committer)


def bare_address(person: str) -> str | None:
    """The address of somebody whom a commit names, if it is one.

    A name that somebody chose is left out, and so is an address without a full domain: git makes
    `user@machine` up when nobody told it better.
    """
    try:
        address = parse_address(person)
    except UsageError:
        return None
    return address.addr_spec if "." in address.domain.strip(".") else None
