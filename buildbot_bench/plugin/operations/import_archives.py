"""`bench-import`: store a netbenches tree or a series of any known format as a testbed's past."""

import argparse
import csv
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.archives.series import read_series
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import long_line, quoted
from buildbot_bench.core.revision import Revision, branch_in
from buildbot_bench.history import MirrorHistory, mirror_path
from buildbot_bench.plugin.db.commits import branches
from buildbot_bench.plugin.db.sql import is_current, take_write_lock
from buildbot_bench.plugin.operations.netbenches import (
    ArchivedBoot,
    Group,
    ImportedSeries,
    Refused,
    is_kept,
    keep,
    read_archive,
)
from buildbot_bench.workflow.load import load
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.repositories import WatchedRepository

_IMAGE = ("label", "sha", "image", "workload", "epoch", "unit")
_NEEDED = (*_IMAGE, "value", "in_doubt", "at_s", "duration_s")
_SHA, _COUNT = re.compile(r"[0-9a-f]{40}"), re.compile(r"\d{1,6}", re.ASCII)


def read_exported(file: Path) -> Iterator[Group | Refused]:
    """Every image of a series; one with a line that cannot be read is refused.

    Boots that gave no value, or that the farm doubts, are passed over.
    """
    with file.open(encoding="utf-8", errors="replace", newline="") as text:
        lines = csv.DictReader(text)
        missing = [name for name in _NEEDED if name not in (lines.fieldnames or ())]
        if missing:
            reason = f"there is no column {quoted(missing[0])}; export the series anew"
            yield Refused(place=file.name, reason=reason, inconsistent=True)
            return
        images = defaultdict[tuple[str, ...], list[ArchivedBoot]](list)
        for line in lines:
            try:
                boot, image = _boot(line), tuple(_text(line[name]) for name in _IMAGE)
            except (TypeError, ValueError) as error:
                place = f"{file.name}:{lines.line_num}"
                yield Refused(place=place, reason=f"{error}; export anew", inconsistent=True)
                continue
            if boot is not None:
                images[image].append(boot)
    for (label, sha, ordinal, workload, epoch, unit), boots in images.items():
        yield Group(
            place=f"{file.name}, {label[:60]} image {ordinal}",
            series=epoch,
            revision=label,
            configuration=workload,
            uname="",
            built_at_s=None,
            confirmed=True,
            sha=sha,
            boots=tuple(boots),
            unit=unit,
            image=int(ordinal),
        )


def _boot(line: dict[str, str]) -> ArchivedBoot | None:
    """Read the boot of a line; None if it is to be passed over.

    Raises:
        ValueError: The line is cut or holds another thing.
    """
    if not _SHA.fullmatch(line["sha"]) or not _COUNT.fullmatch(line["image"]):
        raise ValueError(f"{quoted(line['sha'])}, {quoted(line['image'])} names no image")
    if not line["value"] or line["in_doubt"] == "True":
        return None
    value, at_s, duration_s = (_number(line[name]) for name in ("value", "at_s", "duration_s"))
    return ArchivedBoot(value=value, at_s=at_s, duration_s=duration_s)


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{quoted(text)} is no number")
    return number


def _text(text: str) -> str:
    """The text without the quote that keeps a spreadsheet from computing it."""
    return text.removeprefix("'")


# The archive's name of plain forwarding, with which it began.
_SAME = {"": "forwarding", "fastforwarding": "forwarding"}
_STEP = 50
_LONGEST_HEADER = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """The repository whose revisions were measured, and what its mirror has of it."""

    key: str
    history: MirrorHistory


@dataclass(kw_only=True, slots=True)
class Tally:
    """What became of the groups."""

    kept: int = 0
    known: int = 0
    iterations: int = 0
    unconfirmed: int = 0
    left_out: int = 0
    refused: list[str] = field(default_factory=list)


def import_archives(options: argparse.Namespace) -> Tally:
    """Keep what the archives have, as the command line says."""
    workflow = load(options.workflow)
    workloads = _workloads(workflow, options)
    watched = _repository(workflow, options.repository)
    source = Source(
        key=watched.key,
        history=MirrorHistory(
            mirror_path(options.master, watched.key), watched.url, branches=watched.push.branches
        ),
    )
    tally = Tally()
    with _database(options) as engine:
        if not source.history.is_there:
            raise UsageError(
                f"the master has no mirror of {watched.written} yet",
                hint="start the farm once, so that it makes one",
            )
        for number, found in enumerate(_groups(options.archives), start=1):
            if number % _STEP == 0:
                print(f"{number} groups read, {tally.kept} kept", file=sys.stderr)
            match found:
                case Refused(inconsistent=True):
                    tally.refused.append(long_line(f"{found.place}: {found.reason}"))
                case Refused():
                    tally.left_out += 1
                case Group():
                    workload = workloads.get(found.configuration)
                    if workload is None:
                        tally.left_out += 1
                        continue
                    series = ImportedSeries(
                        testbed=options.testbed,
                        workload=workload,
                        epoch=options.epoch or found.series,
                        repository=source.key,
                    )
                    _take(engine, found, series, source, tally, dry_run=options.dry_run)
    return tally


def _groups(archives: Iterable[Path]) -> Iterator[Group | Refused]:
    for archive in archives:
        if archive.is_dir() and any(archive.rglob("bench.*.info")):
            yield from read_archive(archive)
        elif archive.is_file() and _is_exported(archive):
            yield from read_exported(archive)
        else:
            yield from read_foreign(archive)


def _is_exported(file: Path) -> bool:
    """Whether a farm's History wrote it: its first line names a column that no other format has."""
    with file.open(encoding="utf-8", errors="replace") as text:
        return "in_doubt" in text.readline(_LONGEST_HEADER)


def read_foreign(path: Path) -> Iterator[Group]:
    """What others measured, in any format that bench-judge reads, each series a configuration."""
    for one in read_series([str(path)], (), None):
        metric = replace(one.metric, unit=one.metric.unit or one.name)
        for point in one.points:
            yield Group(
                place=f"{path.name}, {one.name[:60]} {point.label[:60]}",
                series=path.stem,
                revision=point.label,
                configuration=one.name,
                uname="",
                built_at_s=None,
                confirmed=False,
                sha=point.label if _SHA.fullmatch(point.label) else "",
                boots=tuple(ArchivedBoot(value=value) for value in point.values),
                unit=metric.unit,
                metric=metric,
            )


def _take(
    engine: sa.Engine,
    group: Group,
    series: ImportedSeries,
    source: Source,
    tally: Tally,
    *,
    dry_run: bool,
) -> None:
    try:
        revision = _booted(source.history, group)
        branch = _branch(engine, source, revision)
    except UsageError as error:
        tally.refused.append(long_line(f"{group.place}: {error}"))
        return
    with engine.begin() as conn:
        if dry_run:
            new = not is_kept(conn, group, revision, series)
        else:
            take_write_lock(conn)
            new = keep(conn, group, revision, series, branch=branch, now=time.time())
    if not new:
        tally.known += 1
        return
    tally.kept += 1
    tally.iterations += len(group.boots)
    tally.unconfirmed += not group.confirmed


def _booted(history: MirrorHistory, group: Group) -> Revision:
    """The revision of the farm's branches.

    A count of commits, as in n257521, is another commit on each branch: the hash tells which.
    """
    try:
        revision = history.resolve(group.revision)
    except UsageError:
        if not group.sha:
            raise
        revision = history.resolve(group.sha)
        if revision.label != group.revision:
            raise
    if not revision.sha.startswith(group.sha):
        raise UsageError(
            f"{group.revision} is {revision.short_sha} here, but {group.sha} was booted"
        )
    return revision


def _branch(engine: sa.Engine, source: Source, revision: Revision) -> str:
    """The branch of the farm that has a revision; of several the one that it watched first."""
    carriers = [branch_in(source.key, name) for name in source.history.carriers(revision.sha)]
    with engine.connect() as conn:
        seen = [row.name for row in branches(conn) if row.name in carriers]
    if not carriers:
        raise UsageError(
            f"{revision.label} is on no branch of this farm",
            hint="let on.push.branches take its branch, and start the farm once",
        )
    return (seen or carriers)[0]


def _repository(workflow: Workflow, name: str | None) -> WatchedRepository:
    """The repository that bench.yml calls so; the first one where none is named."""
    if name is None:
        return workflow.watches[0]
    known = {one.name: one for one in workflow.watches if one.name}
    if name not in known:
        names = ", ".join(known) or "one alone: leave --repository out"
        raise UsageError(f"there is no repository {quoted(name)}", hint=f"this farm has {names}")
    return known[name]


def _workloads(workflow: Workflow, options: argparse.Namespace) -> dict[str, str]:
    """The farm's workload for each of the archive's configurations."""
    if not any(options.testbed in job.testbeds for job in workflow.bench_jobs):
        known_names = ", ".join(sorted(workflow.testbeds))
        raise UsageError(
            f"{quoted(options.testbed)} is no testbed of this farm", hint=f"it has {known_names}"
        )
    known = set(workflow.workloads_on(options.testbed))
    pairs = {name: name for name in known} | {
        cfg: workload for cfg, workload in _SAME.items() if workload in known
    }
    for text in options.workload:
        configuration, equals, workload = text.partition("=")
        if not equals or workload not in known:
            names = ", ".join(sorted(known))
            raise UsageError(
                f"{quoted(text)} is not CFG=WORKLOAD", hint=f"the workloads are {names}"
            )
        pairs[configuration] = workload
    return pairs


@contextmanager
def _database(options: argparse.Namespace) -> Iterator[sa.Engine]:
    """The farm's tables, which the farm itself has made."""
    url = options.db or f"sqlite:///{options.master.resolve()}/state.sqlite"
    wanted = "start the farm once, so that it makes its tables and knows its branch"
    try:
        named = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise UsageError(f"--db {quoted(url)} is no database", hint="as in BENCH_DB") from error
    if named.get_backend_name() == "sqlite" and not Path(named.database or "").is_file():
        raise UsageError(f"there is no {named.database}", hint=wanted)
    engine = sa.create_engine(named)
    try:
        with engine.connect() as conn:
            if not is_current(conn) or not branches(conn):
                raise UsageError("the farm's tables are not ready", hint=wanted)
        yield engine
    except sa.exc.OperationalError as error:
        raise UsageError(f"the database does not answer: {error.orig}", hint="see --db") from error
    finally:
        engine.dispose()
