"""The reader of netbenches result directories, and the storage of each group.

Source of the shapes: the netbenches archive (Olivier Cochard-Labbé, BSD-2-Clause). A group is what
was measured of one image with one configuration; beside each other, at times in RAW/, lie

bench.IMAGE[.CFG].info          sh(1)'s variables: IMAGE, CFG, UNAME
bench.IMAGE[.CFG].N.receiver    pkt-gen's log of the Nth boot
bench.IMAGE[.CFG].N.pmc.graph   there when that boot was profiled, which costs throughput
IMAGE[.CFG].pps                 one value a line: those that the archive goes by
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.lab.pktgen import Unusable, parse_receiver
from buildbot_bench.plugin.db.columns import ImageState, ProbeReason
from buildbot_bench.plugin.db.commits import add_commits
from buildbot_bench.plugin.db.images import ensure_image
from buildbot_bench.plugin.db.probes import ensure_probe, probe_by_key
from buildbot_bench.plugin.db.rows import ImageRow, NewCommit, ProbeRequest, ProbeRow
from buildbot_bench.plugin.db.samples import add_iteration, keep_metric
from buildbot_bench.plugin.db.sql import change

_VARIABLE = re.compile(r'^([A-Z_]+)="(.*)"\s*$', re.MULTILINE)
_ESCAPED = re.compile(r'\\(["\\$`])')  # as sh(1) reads a character between double quotes
_PLAIN = re.compile(r"r?(\d{5,6})|n(\d{5,7})", re.ASCII)
_BOOTED = re.compile(
    r"(?:^|[\s:])r(\d{5,6})M?\b|\bn(\d{5,7})-([0-9a-f]{7,40})(?=\b|-dirty)", re.ASCII
)
_BUILT = re.compile(r"\b([A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d) [A-Z]{3,5} (\d{4})\b", re.ASCII)
_VALUE = re.compile(r"\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_RAW = "RAW"
_DATE = "%b %d %H:%M:%S %Y"
# A log of a run of minutes has some ten kilobytes.
_LARGEST_LOG = 4 * 1024 * 1024
# What one boot and one blast of the archive's took; it does not say so itself.
_DURATION_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivedBoot:
    """One boot: its value; its log and when it began, where they are known."""

    value: float
    log: str = ""
    at_s: float | None = None
    duration_s: float = _DURATION_S


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """What was measured of one revision with one configuration.

    `revision` is as a person writes it, `series` the name of the result directory, which stands for
    an epoch: the archive begins another when the lab changes. `image` is which build of the
    revision was booted. `built_at_s` is when the kernel was built by its own word, in seconds
    since the epoch; None when it does not say so. `confirmed`
    tells whether the kernel said which revision it is, `sha` how its hash begins, if it said that.
    `metric` is what the unit means where the archive says it.
    """

    place: str
    series: str
    revision: str
    configuration: str
    uname: str
    built_at_s: float | None
    confirmed: bool
    sha: str
    boots: tuple[ArchivedBoot, ...]
    unit: str = PPS.unit
    image: int = 0
    metric: Metric | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A group that is not taken, and why; `inconsistent` when the archive contradicts itself."""

    place: str
    reason: str
    inconsistent: bool


def read_archive(root: Path) -> Iterator[Group | Refused]:
    """Every group below a directory, in the order of their paths."""
    for info in sorted(root.rglob("bench.*.info")):
        if info.is_file() and not info.is_symlink():
            try:
                yield _group(root, info)
            except OSError as error:
                name = str(error.filename or info)
                reason = f"cannot read {name}: {error.strerror}; see its permissions"
                place = str(info.relative_to(root))
                yield Refused(place=place, reason=reason, inconsistent=True)


def _group(root: Path, info: Path) -> Group | Refused:
    place = str(info.relative_to(root))
    known = {name: _ESCAPED.sub(r"\1", v) for name, v in _VARIABLE.findall(_text(info))}
    if not known:
        reason = 'holds no line like IMAGE="311848"; is the file cut? copy it again'
        return Refused(place=place, reason=reason, inconsistent=True)
    image, uname = known.get("IMAGE", ""), known.get("UNAME", "")
    plain, booted = _PLAIN.fullmatch(image), _BOOTED.search(uname)
    if plain is None:
        named = f"{quoted(image)} is a variant or a release" if image else "no image is named"
        return Refused(place=place, reason=f"{named}, not a plain revision", inconsistent=False)
    revision = _named(plain)
    if booted is not None and _named(booted) != revision:
        wrong = f"labelled {revision}, but {_named(booted)} was booted"
        return Refused(place=place, reason=wrong, inconsistent=True)
    boots = _boots(info)
    if isinstance(boots, str):
        return Refused(place=place, reason=boots, inconsistent=True)
    if not boots:
        return Refused(place=place, reason="not one boot gave a value", inconsistent=False)
    home = info.parent.parent if info.parent.name == _RAW else info.parent
    return Group(
        place=place,
        series=home.resolve().name,
        revision=revision,
        configuration=known.get("CFG", ""),
        uname=uname,
        built_at_s=_built_at(uname),
        confirmed=booted is not None,
        sha=(booted[3] or "") if booted else "",
        boots=boots,
    )


def _named(match: re.Match[str]) -> str:
    svn, commits = match[1], match[2]
    return f"r{svn}" if svn else f"n{commits}"


def _boots(info: Path) -> tuple[ArchivedBoot, ...] | str:
    """The boots of a group, in their order; or how its logs contradict its values."""
    name = info.name.removeprefix("bench.").removesuffix(".info")
    logged, profiled = _logged(info, name)
    listed = info.with_name(f"{name}.pps")
    if not listed.is_file() and info.parent.name == _RAW:
        listed = info.parent.with_name(f"{name}.pps")
    if not listed.is_file():
        return tuple(boot for boot in logged if boot.log not in profiled)
    values = _values(listed)
    if isinstance(values, str):
        return values
    missing = Counter(values)
    kept, strangers = list[ArchivedBoot](), list[ArchivedBoot]()
    for boot in logged:
        if missing[boot.value]:
            missing[boot.value] -= 1
            kept.append(boot)
        elif boot.log not in profiled:
            strangers.append(boot)
    if strangers:
        return f"the logs give {strangers[0].value:g} pps, which {listed.name} does not hold"
    return (*kept, *(ArchivedBoot(value=value) for value in missing.elements()))


def _values(listed: Path) -> list[float] | str:
    """The values of a .pps file; or which of its lines is none."""
    values = list[float]()
    for number, line in enumerate(_text(listed).splitlines(), start=1):
        for word in line.split():
            if not _VALUE.fullmatch(word) or not math.isfinite(float(word)):
                return (
                    f"{listed.name}:{number}: {quoted(word)} is no number of packets a second;"
                    " make the file anew from its logs, or take the line out"
                )
            values.append(float(word))
    return values


def _logged(info: Path, name: str) -> tuple[list[ArchivedBoot], set[str]]:
    """The boots that have a log with a value, and the logs of those that were profiled."""
    numbered = re.compile(re.escape(f"bench.{name}.") + r"(\d{1,3})\.receiver")
    found = [
        (int(m[1]), path) for path in info.parent.iterdir() if (m := numbered.fullmatch(path.name))
    ]
    boots, profiled = list[ArchivedBoot](), set[str]()
    for number, path in sorted(found):
        log = _text(path)
        reading = parse_receiver(log)
        if isinstance(reading, Unusable):
            continue
        boots.append(ArchivedBoot(value=reading.median_pps, log=log))
        if path.with_name(f"bench.{name}.{number}.pmc.graph").exists():
            profiled.add(log)
    return boots, profiled


def _built_at(uname: str) -> float | None:
    """When a kernel says that it was built; the names of time zones are not distinguished."""
    if (match := _BUILT.search(uname)) is None:
        return None
    try:
        built = datetime.strptime(f"{match[1]} {match[2]}", _DATE).replace(tzinfo=UTC)
    except ValueError:
        return None
    return built.timestamp()


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_LARGEST_LOG).decode("utf-8", "replace")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSeries:
    """Where the farm would have measured it; `repository` is what its branches have in front."""

    testbed: str
    workload: str
    epoch: str
    repository: str = ""


def is_kept(conn: sa.Connection, group: Group, revision: Revision, series: ImportedSeries) -> bool:
    """Whether this group was kept before."""
    return probe_by_key(conn, _key(group, revision, series)) is not None


def keep(
    conn: sa.Connection,
    group: Group,
    revision: Revision,
    series: ImportedSeries,
    *,
    branch: str,
    now: float,
) -> bool:
    """Keep it, in the caller's transaction; False when it was kept before.

    There is no artefact: the image counts as one whose builders failed, so that a request for
    boots has it built. The commit counts as unimportant: nobody measures it elsewhere.
    """
    if is_kept(conn, group, revision, series):
        return False
    if group.metric is not None:
        keep_metric(conn, testbed=series.testbed, workload=series.workload, metric=group.metric)
    add_commits(conn, branch, [NewCommit.of(revision, important=False, arrived_at=now)])
    request = ProbeRequest(
        image_id=_image(conn, revision, branch, group.image, now).id,
        **shared(ProbeRequest, series),
        iterations=len(group.boots),
        reason=ProbeReason.BACKFILL,
        priority=0,
        name=_key(group, revision, series),
    )
    probe = ensure_probe(conn, request, token="", now=now)
    ended = {"state": ProbeState.DONE, "judged": True, "ended_at": now}
    _add_boots(conn, change(conn, probe, **ended) or probe, group, revision)
    return True


def _image(
    conn: sa.Connection, revision: Revision, branch: str, ordinal: int, now: float
) -> ImageRow:
    image = ensure_image(
        conn,
        sha=revision.sha,
        variant=revision.sha,
        ordinal=ordinal,
        position=revision.position,
        label=revision.label,
        branch=branch,
        now=now,
    )
    if image.state == ImageState.WANTED and image.brid is None:
        reason = "its measurements were imported; there is no artefact"
        change(conn, image, changed_at=now, state=ImageState.FAILED, reason=reason)
    return image


def _add_boots(conn: sa.Connection, probe: ProbeRow, group: Group, revision: Revision) -> None:
    begun_at_s = group.built_at_s or float(revision.committed_at_s)
    for ordinal, boot in enumerate(group.boots):
        add_iteration(
            conn,
            probe=probe,
            ordinal=ordinal,
            unit=group.unit,
            value=boot.value,
            failure=None,
            at_s=begun_at_s + ordinal * _DURATION_S if boot.at_s is None else boot.at_s,
            duration_s=boot.duration_s,
            log=boot.log,
            facts={"uname": group.uname, "imported from": group.place},
        )


def _key(group: Group, revision: Revision, series: ImportedSeries) -> str:
    """What names it wherever the archive lies: where it is kept and what was measured."""
    content = [group.series, group.configuration, group.uname, *(str(b.value) for b in group.boots)]
    if group.image or group.unit != PPS.unit:
        content += [str(group.image), group.unit]
    digest = hashlib.sha256("\0".join(content).encode()).hexdigest()
    commit = f"{series.repository}:{revision.sha}" if series.repository else revision.sha
    return f"import:{series.testbed}:{series.workload}:{commit}:{digest[:32]}"
