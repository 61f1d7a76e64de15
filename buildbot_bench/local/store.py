"""The SQLite file of one repository's builds and runs, each stored when it ends."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import Metric, RunTimes
from buildbot_bench.core.wire import FailureKind

SCHEMA_VERSION = 3
_NEWEST = 32  # builds whose median is what one usually takes
# With a log written ahead, a transaction is on the disk after one sync, not after four.
_PRAGMAS = ("journal_mode = WAL",)
# A sync takes as long as a short run. One that took less than this waits for the next sync: a power
# cut may cost such runs, which are soon made again, and nothing else does.
_SYNCED_S = 1.0

_SCHEMA = """
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, told TEXT NOT NULL, begun_at REAL NOT NULL
);
CREATE TABLE images (
    id INTEGER PRIMARY KEY, recipe TEXT NOT NULL, sha TEXT NOT NULL, ordinal INTEGER NOT NULL,
    kernel TEXT, size INTEGER, place TEXT NOT NULL, build_s REAL NOT NULL, reason TEXT,
    carried TEXT NOT NULL, made_at REAL NOT NULL, used_at REAL NOT NULL, is_kept INTEGER NOT NULL,
    UNIQUE (recipe, sha, ordinal)
);
CREATE TABLE iterations (
    id INTEGER PRIMARY KEY, campaign_id INTEGER NOT NULL REFERENCES campaigns,
    image_id INTEGER NOT NULL REFERENCES images, value REAL, unit TEXT NOT NULL, failure TEXT,
    kind TEXT, log TEXT NOT NULL, at_s REAL NOT NULL, duration_s REAL NOT NULL,
    epoch TEXT NOT NULL, facts TEXT NOT NULL, times TEXT
);
CREATE INDEX iterations_of ON iterations (campaign_id, image_id);
"""
# The names are stored once for all runs that have the same: a value takes up to 20 bytes. Version 3
# has them in addition to version 2.
_SUITES = """
CREATE TABLE suites (id INTEGER PRIMARY KEY, metrics TEXT NOT NULL UNIQUE);
ALTER TABLE iterations ADD COLUMN suite_id INTEGER REFERENCES suites;
ALTER TABLE iterations ADD COLUMN named TEXT
"""
_TABLES = {0: f"{_SCHEMA};{_SUITES}", 2: _SUITES}
"""What is to be done to a file, by its version."""
_DIGITS = 12  # of a value of a suite: more than any tool measures


@dataclass(frozen=True, kw_only=True, slots=True)
class NewBuild:
    """A build that ended: `kernel` is the digest of what it made, or `reason` why there is none.

    `recipe` is the digest of how it was built; `place` is the directory, below ours, in which it
    was built and is run; `size` is in bytes, `build_s` in seconds.
    `carried` is what became of a commit that is carried along.
    """

    recipe: str
    sha: str
    ordinal: int
    place: str
    build_s: float
    kernel: str | None = None
    size: int = 0
    reason: str | None = None
    carried: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBuild(NewBuild):
    """A build as stored; `is_kept`: what it made is still on the disk."""

    id: int
    is_kept: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    """A run that ended: a value in `unit`, or the `failure` and its kind, with the output's end.

    `times` are what the clocks say of it. `named` are the values of a suite; then `value` is how
    many they are. They are stored with 12 digits, and are NaN where the suite says no number.
    """

    image_id: int
    unit: str
    at_s: float
    duration_s: float
    value: float | None = None
    failure: str | None = None
    kind: FailureKind | None = None
    log: str = ""
    epoch: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    times: RunTimes | None = None
    named: Mapping[Metric, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun(NewRun):
    """A run as stored; ids count up in the order in which runs ended."""

    id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredCampaign:
    """A stored campaign, identified by a JSON object."""

    id: int
    told: Mapping[str, Any]


class Store:
    """The file of one repository."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._path = path
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            with self._writing() as db:
                self._prepare(db, path)
            for pragma in _PRAGMAS:
                self._db.execute(f"PRAGMA {pragma}")
        except (OSError, sqlite3.Error) as error:
            raise InfraError(
                f"{path} cannot be used: {error}",
                hint="move the file away to begin anew, what was measured is in it",
            ) from error

    def _prepare(self, db: sqlite3.Connection, path: Path) -> None:
        """Make the tables of a new file; add those that the version before did not have."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version in _TABLES:
            for statement in _TABLES[version].split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise InfraError(
                f"{path} has version {version} of the tables, this release {SCHEMA_VERSION}",
                hint="use the release that wrote it, or move the file away",
            )

    @contextmanager
    def _writing(self, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction; the threads take turns."""
        with self._lock:
            try:
                self._db.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield self._db
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise InfraError(
                    f"{self._path} cannot be written: {error}",
                    hint="make room, or move the file away to begin anew",
                ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def campaign(self, digest: str, told: Mapping[str, object], *, now: float) -> int:
        """The number of the campaign with this digest, which begins now if it is new."""
        with self._writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO campaigns (digest, told, begun_at) VALUES (?, ?, ?)",
                (digest, json.dumps(told), now),
            )
            found = db.execute("SELECT id FROM campaigns WHERE digest = ?", (digest,))
            return int(found.fetchone()[0])

    def campaigns(self) -> list[StoredCampaign]:
        """All campaigns, that which ran last first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT id, told FROM campaigns ORDER BY max(begun_at, coalesce((SELECT max(at_s)"
                " FROM iterations WHERE campaign_id = campaigns.id), 0)) DESC, id DESC"
            )
            return [StoredCampaign(id=row[0], told=json.loads(row[1])) for row in rows.fetchall()]

    def put_image(self, image: NewBuild, *, now: float) -> StoredBuild:
        """Store a build; one that was made anew, as it was kept no longer, is the same image."""
        kept = image.reason is None
        with self._writing() as db:
            db.execute(
                "INSERT INTO images (recipe, sha, ordinal, kernel, size, place, build_s, reason,"
                " carried, made_at, used_at, is_kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (recipe, sha, ordinal) DO UPDATE SET size = excluded.size,"
                " place = excluded.place, used_at = excluded.used_at, is_kept = excluded.is_kept,"
                " reason = excluded.reason, kernel = coalesce(kernel, excluded.kernel)",
                (
                    *(image.recipe, image.sha, image.ordinal, image.kernel, image.size),
                    *(image.place, image.build_s, image.reason, image.carried, now, now, kept),
                ),
            )
            row = db.execute(
                f"SELECT {_IMAGE} FROM images WHERE recipe = ? AND sha = ? AND ordinal = ?",  # noqa: S608
                (image.recipe, image.sha, image.ordinal),
            )
            return _image(row.fetchone())

    def images(self, recipe: str) -> list[StoredBuild]:
        """All builds by one recipe."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_IMAGE} FROM images WHERE recipe = ? ORDER BY id",  # noqa: S608
                (recipe,),
            )
            return [_image(row) for row in rows.fetchall()]

    def least_used(self) -> list[StoredBuild]:
        """All builds that are kept, that which was used longest ago first."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_IMAGE} FROM images WHERE is_kept ORDER BY used_at, id"  # noqa: S608
            )
            return [_image(row) for row in rows.fetchall()]

    def drop_image(self, image_id: int) -> None:
        """What a build made is not kept any more; what it measured is."""
        with self._writing() as db:
            db.execute("UPDATE images SET is_kept = 0 WHERE id = ?", (image_id,))

    def adopt(self, image: StoredBuild, recipe: str, runs_of: int, campaign_id: int) -> None:
        """Have a build that did not fail, and its runs in one campaign, be another recipe's too.

        What it made is from now on kept as that recipe's, in place of a build of it that failed.
        """
        with self._writing() as db:
            db.execute(
                "DELETE FROM images WHERE recipe = ? AND sha = ? AND ordinal = ?",
                (recipe, image.sha, image.ordinal),
            )
            made = db.execute(
                "INSERT INTO images (recipe, sha, ordinal, kernel, size, place, build_s, reason,"
                " carried, made_at, used_at, is_kept) SELECT ?, sha, ordinal, kernel, size, place,"
                " build_s, reason, carried, made_at, used_at, is_kept FROM images WHERE id = ?",
                (recipe, image.id),
            )
            db.execute("UPDATE images SET is_kept = 0 WHERE id = ?", (image.id,))
            db.execute(
                f"INSERT INTO iterations (campaign_id, image_id, {_RUN}) SELECT ?, ?, {_RUN}"  # noqa: S608
                " FROM iterations WHERE campaign_id = ? AND image_id = ? AND value IS NOT NULL"
                " ORDER BY id",
                (campaign_id, made.lastrowid, runs_of, image.id),
            )

    def usual_build_s(self) -> float | None:
        """Return what the newest builds took that did not fail, by any recipe; None without any."""
        with self._lock:
            rows = self._db.execute(
                "SELECT build_s FROM images WHERE reason IS NULL AND ordinal >= 0"
                " ORDER BY id DESC LIMIT ?",
                (_NEWEST,),
            ).fetchall()
        return median(row[0] for row in rows) if rows else None

    def forget_failures(self, campaign_id: int, recipe: str, shas: Sequence[str]) -> None:
        """What failed at some revisions is tried again: the runs, and then the builds."""
        with self._writing() as db:
            for sha in shas:
                db.execute(
                    "DELETE FROM iterations WHERE campaign_id = ? AND value IS NULL AND image_id IN"
                    " (SELECT id FROM images WHERE recipe = ? AND sha = ?)",
                    (campaign_id, recipe, sha),
                )
                db.execute(
                    "DELETE FROM images WHERE recipe = ? AND sha = ? AND reason IS NOT NULL"
                    " AND NOT EXISTS (SELECT 1 FROM iterations WHERE image_id = images.id)",
                    (recipe, sha),
                )
                db.execute(  # one that was measured before it was built anew, and failed
                    "UPDATE images SET reason = NULL WHERE recipe = ? AND sha = ?", (recipe, sha)
                )

    def put_iteration(self, campaign_id: int, one: NewRun) -> None:
        """Store a run; its build is of use now."""
        with self._writing(synced=one.duration_s >= _SYNCED_S) as db:
            db.execute(
                f"INSERT INTO iterations (campaign_id, image_id, {_RUN})"  # noqa: S608
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(campaign_id, one.image_id, one.value, one.unit, one.failure, one.kind),
                    *(one.log, one.at_s, one.duration_s, one.epoch, json.dumps(dict(one.facts))),
                    one.times and json.dumps(one.times.as_json()),
                    *_put_suite(db, one.named),
                ),
            )
            db.execute("UPDATE images SET used_at = ? WHERE id = ?", (one.at_s, one.image_id))

    def iterations(self, campaign_id: int) -> list[StoredRun]:
        """All runs of a campaign, in the order in which they ended."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT id, image_id, {_RUN} FROM iterations WHERE campaign_id = ?"  # noqa: S608
                " ORDER BY id",
                (campaign_id,),
            ).fetchall()
            suites = {
                row[0]: [Metric(**told) for told in json.loads(row[1])]
                for row in self._db.execute("SELECT id, metrics FROM suites")
            }
        return [_iteration(row, suites) for row in rows]


_RUN = "value, unit, failure, kind, log, at_s, duration_s, epoch, facts, times, suite_id, named"
_IMAGE = "id, recipe, sha, ordinal, kernel, size, place, build_s, reason, carried, is_kept"


def _image(row: Sequence[object]) -> StoredBuild:
    values = dict(zip(_IMAGE.split(", "), row, strict=True))
    return StoredBuild(**values | {"is_kept": bool(values["is_kept"])})  # type: ignore[arg-type]


def _put_suite(
    db: sqlite3.Connection, named: Mapping[Metric, float]
) -> tuple[int | None, str | None]:
    """Return the number of the names, stored if they are new, and the values as they are stored."""
    if not named:
        return None, None
    told = [
        {"name": one.name, "unit": one.unit, "higher_is_better": one.higher_is_better}
        for one in named
    ]
    metrics = json.dumps(told)
    db.execute("INSERT OR IGNORE INTO suites (metrics) VALUES (?)", (metrics,))
    found = db.execute("SELECT id FROM suites WHERE metrics = ?", (metrics,))
    values = [float(f"{value:.{_DIGITS}g}") for value in named.values()]
    return int(found.fetchone()[0]), json.dumps(values, separators=(",", ":"))


def _iteration(row: Sequence[object], suites: Mapping[int, Sequence[Metric]]) -> StoredRun:
    values = dict(zip(("id", "image_id", *_RUN.split(", ")), row, strict=True))
    values["kind"] = values["kind"] and FailureKind(str(values["kind"]))
    values["facts"] = json.loads(str(values["facts"]))
    values["times"] = values["times"] and RunTimes.heard(json.loads(str(values["times"])))
    metrics = suites.get(values.pop("suite_id"), ())  # type: ignore[call-overload]
    named = json.loads(str(values["named"])) if metrics else []
    values["named"] = dict(zip(metrics, named, strict=True))
    return StoredRun(**values)  # type: ignore[arg-type]
