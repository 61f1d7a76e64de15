"""`python -m benchmarks year`: a farm that has lived a year, and what keeping it costs.

It generates 10,000 commits on five branches, 20 series, 300 searches and a testbed whose DUT was
replaced. That farm is restored from a backup, moves to another directory, and is upgraded: a later
release has one more revision of the tables. The later release also restores what this one backed
up. On the farm that came through all of it each kind of page opens, mails are sent, what has
expired is deleted, and `backup`, `verify` and `doctor` run beside its master. The master and the
commands are processes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import sqlalchemy as sa

import buildbot_bench
from benchmarks.many_labs import Size, make_repositories
from benchmarks.progress import keep
from benchmarks.year_farm import DAY_S, LOGS_DAYS, UNTOLD, keep_kernels, live, settings
from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.demo.farm import FarmPlan, LocalFarm
from buildbot_bench.demo.watching import wait_until
from buildbot_bench.plugin.db.schema import ARTEFACT, CHANGE, ITERATION, METADATA
from buildbot_bench.plugin.operations.copies import url_of
from tests.chromium import CHROMIUM, Page, chromium
from tests.contracts.pages.named import RESOURCES, places, programs, targets
from tests.databases import DATABASES, new_database, postgresql_server
from tests.fakes.second_revision import NAME, write_revision
from tests.ports import free_port
from tests.readme import CHECKOUT

WHOLE = Size(commits=10_000, searches=3, ended=300, groups=2)
QUICK = Size(commits=400, searches=1, ended=20, groups=1)
PAGE_GOAL_S = 2.0
_LATER, _SLOWEST = "idle", 4
RETENTION_S = 900.0
MAILS_S = 600.0
_PATIENCE_S = 900.0  # of who opens a page while a busy machine does its first cycle
_QUIET_S = 30.0  # some cycles of the broker
_DELETED = 100  # letters of a log that says that it was deleted, and more
_SHOWN = {
    "Overview": "bench",
    "History": "bench/history",
    "a commit": "bench/commits/{s:revision}",
    "Reports": "bench/reports",
    "a report": "bench/searches/{n:searchid}",
    "a comparison": "bench/comparisons/{n:comparisonid}",
    "Calibration": "bench/calibration",
    "Lab": "bench/lab",
}
_DRAWN = "document.querySelector('.bench h1') && !document.querySelector('.loading, .wait')"
_BIN = Path(sys.executable).parent


@dataclass(kw_only=True)
class Notes:
    """What was seen: a line each, with its figure, and what should not be."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, figure: str) -> None:
        """Keep a figure, and print it as it comes."""
        self.lines.append((what, figure))
        print(f"{what:58} {figure:>16}", flush=True)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Keep how long something takes, and what it takes of the processor, with its children."""
        began_s, before = time.monotonic(), sum(os.times()[:4])
        yield
        of_processor = sum(os.times()[:4]) - before
        self.add(what, f"{time.monotonic() - began_s:.1f} s, {of_processor:.1f} s")

    def page(
        self, what: str, when: str, took_s: tuple[float, float], *, shown: bool = True
    ) -> None:
        """Keep what a page took, and as a defect where the master idles and it is too much.

        Of a busy machine the processor's seconds are judged.
        """
        if shown:
            self.add(f"{what}, {when}", "{:.2f} s, {:.2f} s".format(*took_s))
        is_busy = os.getloadavg()[0] > (os.cpu_count() or 1)
        if when == _LATER and took_s[is_busy] > PAGE_GOAL_S:
            self.complain(f"{what}: {took_s[0]:.2f} s, of the master's processor {took_s[1]:.2f} s")

    def complain(self, what: str) -> None:
        """Keep a defect."""
        self.wrong.append(what)
        print(f"WRONG: {what}", flush=True)


class Taken:
    """What is taken since now: seconds, and seconds of the master's and its children's processor.

    On a busy machine the first are much more; in them is what the broker did meanwhile.
    """

    def __init__(self, farm: LocalFarm) -> None:
        process = farm.master.process
        self._master = process.pid if process else 0
        self._began = self._now()

    def so_far(self) -> tuple[float, float]:
        """Both."""
        now = self._now()
        return now[0] - self._began[0], now[1] - self._began[1]

    def _now(self) -> tuple[float, float]:
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text(errors="replace").rpartition(")")[2].split()
                if str(self._master) in {fields[1], stat.parent.name}:
                    ticks += int(fields[11]) + int(fields[12])
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Place:
    """One farm of the year's: its directory, its database, the release that keeps it."""

    directory: Path
    db_url: str
    home: Path
    release: str = ""  # PYTHONPATH

    @property
    def url(self) -> sa.URL:
        """The database, as commands name it."""
        return url_of(self.db_url, self.directory / "master")

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run bench-farm of its release."""
        environment = os.environ | {"PYTHONPATH": self.release, "BENCH_DB": str(self._named)}
        return subprocess.run(  # noqa: S603 - commands of ours
            [_BIN / "bench-farm", *words],
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def here(self, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command on this farm."""
        return self.command(verb, *words, f"--dir={self.directory}")

    @property
    def _named(self) -> str:
        return self.url.render_as_string(hide_password=False)

    def farm(self, size: Size) -> LocalFarm:
        """Its master, with directories and secrets of workers that are away."""
        plan = FarmPlan(
            directory=self.directory,
            workflow=self.directory / "bench.yml",
            www_port=free_port(),
            pb_port=free_port(),
            db_url=self.db_url,
            poll_s=3600.0,
            labs=tuple(size.testbeds),
        )
        farm = LocalFarm(plan)
        farm.prepare()
        farm.master.env["PYTHONPATH"] = self.release
        return farm

    def bytes(self) -> int:
        """The size of the database."""
        if self.url.get_backend_name() == "sqlite":
            return Path(str(self.url.database)).stat().st_size
        with sa.create_engine(self.url, poolclass=sa.NullPool).connect() as conn:
            asked = "SELECT pg_database_size(current_database())"
            return int(conn.exec_driver_sql(asked).scalar_one())


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table; 1 when a page is too slow, or something of the farm is not whole."""
    parser = argparse.ArgumentParser(prog="benchmarks year", description=__doc__)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--quick", action="store_true", help="a small year, to try it")
    parser.add_argument("--dir", type=Path, help="where it works, and leaves the farms")
    options = parser.parse_args(argv)
    size = QUICK if options.quick else WHOLE
    with ExitStack() as stack:
        home = options.dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="year-")))
        home = home.resolve()
        home.mkdir(parents=True, exist_ok=True)
        urls = ["sqlite:///state.sqlite"] * 3
        if options.database == "postgresql":
            server = postgresql_server()
            urls = [stack.enter_context(new_database(server)) for _ in urls]
        notes = Notes()
        with notes.timed("all of it"):
            _live(home, size, urls, notes)
        notes.add("load average", f"{os.getloadavg()[2]:.0f}")
    keep(f"year-{options.database}", {"figures": notes.lines, "wrong": notes.wrong})
    return int(bool(notes.wrong))


def _live(home: Path, size: Size, urls: Sequence[str], notes: Notes) -> None:
    first = Place(directory=home / "farm", db_url=urls[0], home=home)
    mails, port = home / "mails", free_port()
    _generate(first, size, port, notes)
    moved = _through_backup_and_move(first, urls[1], notes)
    later = _later_release(home / "later")
    _through_upgrade(moved, later, urls[2], notes)
    last = replace(moved, release=later)
    with _mail_server(port, mails), ExitStack() as stack:
        farm = last.farm(size)
        stack.callback(farm.stop)
        with notes.timed("start of the later release, which upgrades the tables"):
            farm.start_master()
        began_s = time.monotonic()
        _see_pages(last, farm, size, notes, "first cycle")
        _see_mails(mails, began_s, notes)
        _see_retention(last, began_s, notes)
        _see_pages(last, farm, size, notes, _LATER)
        _see_operations(last, notes)
    refused = first.command(
        "restore", str(home / "backup-of-the-later"), f"--dir={home / 'refused'}"
    )
    if refused.returncode != 2 or NAME not in refused.stderr:
        notes.complain(f"the old release takes the later one's backup: {refused.stderr}")


def _generate(place: Place, size: Size, smtp_port: int, notes: Notes) -> None:
    """Fill the tables, and check them before anything else touches them."""
    make_repositories(place.home, size)
    place.directory.mkdir()
    (place.directory / "bench.yml").write_text(settings(place.home, size, smtp_port))
    place.farm(size)
    with notes.timed(f"to generate {size.commits} commits on {len(size.series)} series"):
        live(place.url, place.home, size, time.time())
        kernels = keep_kernels(place.url, place.directory / "master" / "artefacts")
    notes.add("kernels on the disk", str(kernels))
    notes.add("database", _mib(place.bytes()))
    _verify(place, "verify, where nothing runs", notes)


def _through_backup_and_move(first: Place, db_url: str, notes: Notes) -> Place:
    """The farm dies with its disk and is restored, and then its directory moves."""
    _backup(first, "backup", "backup with kernels", notes)
    restored = replace(first, directory=first.home / "restored", db_url=db_url)
    _restore(restored, "backup", "restore", notes)
    if _rows(restored) != _rows(first):
        notes.complain("the restored tables have other rows")
    moved = replace(restored, directory=first.home / "disk" / "farm")
    moved.directory.parent.mkdir()
    shutil.move(restored.directory, moved.directory)
    _verify(moved, "verify of the restored farm, moved", notes)
    return moved


def _through_upgrade(moved: Place, later: str, db_url: str, notes: Notes) -> None:
    """The later release makes a farm of what this one backed up."""
    _backup(moved, "backup-of-the-moved", "backup of the moved farm", notes)
    copy = replace(moved, directory=moved.home / "copy", db_url=db_url, release=later)
    _restore(copy, "backup-of-the-moved", "restore by the later release", notes)
    _verify(copy, "verify of that by the later release", notes)
    if _rows(copy) != _rows(moved):
        notes.complain("the tables restored by the later release have other rows")


def _later_release(home: Path) -> str:
    """A copy of this release with one more revision of the tables; its PYTHONPATH."""
    package = Path(buildbot_bench.__file__).parent
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, home / package.name, ignore=without)
    for name in ("docs", "manual", "master.cfg", "templates", "workers"):
        (home / name).symlink_to(CHECKOUT / name)
    write_revision(home / package.name / "plugin" / "db" / "migrations" / "versions")
    return str(home)


@contextmanager
def _mail_server(port: int, mails: Path) -> Iterator[None]:
    module = "buildbot_bench.demo.smtp_sink"
    command = [sys.executable, "-m", module, f"--port={port}", f"--dir={mails}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:  # noqa: S603
        try:
            yield
        finally:
            server.terminate()


def _see_mails(mails: Path, began_s: float, notes: Notes) -> None:
    """The searches that ended last are told of."""
    _wait(lambda: len(list(mails.glob("*.eml"))) >= UNTOLD, "mails", MAILS_S, notes)
    number = len(list(mails.glob("*.eml")))
    notes.add(f"{number} mails written and sent since the start", _seconds(began_s))


def _see_retention(place: Place, began_s: float, notes: Notes) -> None:
    """Wait until nothing more is deleted, for some cycles of the broker."""
    engine = sa.create_engine(place.url, poolclass=sa.NullPool)
    log = ITERATION.c.log
    before_s = time.time() - LOGS_DAYS * DAY_S
    count = sa.select(
        sa.select(sa.func.count()).select_from(ARTEFACT).scalar_subquery(),
        sa.select(sa.func.count())
        .where(ITERATION.c.at_s < before_s, sa.func.length(log) > _DELETED)
        .scalar_subquery(),
    )
    seen: list[tuple[float, Sequence[int]]] = []
    while not seen or time.monotonic() - seen[-1][0] < _QUIET_S:
        with engine.connect() as conn:
            now = tuple(conn.execute(count).one())
        if not seen or now != seen[-1][1]:
            seen.append((time.monotonic(), now))
        if time.monotonic() - began_s > RETENTION_S:
            notes.complain("the retention does not come to an end")
            break
        time.sleep(2)
    kernels, logs = seen[-1][1]
    notes.add("kernels that stay, and old logs behind reports", f"{kernels}, {logs}")
    notes.add("retention was done, since the start", f"{seen[-1][0] - began_s:.0f} s")


def _see_pages(place: Place, farm: LocalFarm, size: Size, notes: Notes, when: str) -> None:
    """Open all kinds of pages and of what programs read, on the newest things that there are."""
    engine = sa.create_engine(place.url, poolclass=sa.NullPool)
    there = {
        name: found[:2]
        for name, found in places(engine, size.series, positions=(size.of_main - 1,)).items()
    }
    asked = [*(RESOURCES), "programs"]
    longest: dict[str, tuple[float, float]] = {}
    with httpx.Client(timeout=_PATIENCE_S, trust_env=False, base_url=farm.plan.url) as client:
        for pattern in asked:
            paths = programs(there) if pattern == "programs" else targets(pattern, there)
            for path in paths:
                took = Taken(farm)
                answer = client.get(path)
                kind = path.partition("?")[0] if pattern == "programs" else pattern
                longest[kind] = max(longest.get(kind, (0.0, 0.0)), took.so_far())
                if answer.status_code != 200:
                    notes.complain(f"{path} answers {answer.status_code}: {answer.text[:200]}")
    slowest = sorted(longest.items(), key=lambda one: one[1], reverse=True)
    for number, (kind, took_s) in enumerate(slowest):
        notes.page(kind, when, took_s, shown=number < _SLOWEST)
    _see_in_a_browser(farm, there, notes, when)


def _see_in_a_browser(
    farm: LocalFarm, there: dict[str, list[str]], notes: Notes, when: str
) -> None:
    """Each page of ours in a fresh tab, which has nothing in its cache."""
    if CHROMIUM is None:
        notes.add(f"pages in a browser, {when}", "no chromium")
        return
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as new_tab:
        for name, path in _SHOWN.items():
            part = path.partition("{")[2].rstrip("}")
            whole = path.replace(f"{{{part}}}", there[part][0]) if part else path
            took = Taken(farm)
            _open(new_tab(), f"{farm.plan.url}#/{whole}")
            notes.page(f"{name} in a browser", when, took.so_far(), shown=True)


def _open(page: Page, url: str) -> None:
    """Open a page and wait until all is drawn."""
    page.call("Network.enable")
    page.call("Network.setCacheDisabled", cacheDisabled=True)
    page.open(url)
    page.wait(_DRAWN)
    page.call("Page.close")


def _see_operations(place: Place, notes: Notes) -> None:
    """What an operator runs beside the master."""
    _backup(place, "backup-of-the-later", "backup beside the upgraded master", notes)
    _verify(place, "verify beside the upgraded master", notes)
    with notes.timed("doctor"):
        said = place.here("doctor", "--json")
    findings = json.loads(said.stdout or "{}").get("findings", said.stderr)
    for one in findings:
        # The year's workers are away.
        if not isinstance(one, dict) or one["part"] != "workers":
            notes.complain(f"doctor: {one}")


def _backup(place: Place, name: str, what: str, notes: Notes) -> None:
    target = place.home / name
    with notes.timed(what):
        said = place.here("backup", str(target), "--artefacts")
    if said.returncode:
        notes.complain(f"{what}: {said.stderr}")
        return
    notes.add(f"size of the {what}", _mib(sum(f.stat().st_size for f in target.rglob("*"))))


def _restore(place: Place, name: str, what: str, notes: Notes) -> None:
    with notes.timed(what):
        said = place.here("restore", str(place.home / name))
    if said.returncode:
        raise InfraError(f"{what} failed: {said.stderr}")


def _verify(place: Place, what: str, notes: Notes) -> None:
    with notes.timed(what):
        said = place.here("verify")
    if said.returncode:
        notes.complain(f"{what}: {said.stdout}{said.stderr}")


def _rows(place: Place) -> dict[str, int]:
    """How many rows the tables have, but the one that counts the changes of each."""
    with sa.create_engine(place.url, poolclass=sa.NullPool).connect() as conn:
        return {
            table.name: conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in METADATA.sorted_tables
            if table is not CHANGE
        }


def _wait(holds: Callable[[], bool], what: str, timeout_s: float, notes: Notes) -> None:
    try:
        wait_until(holds, what=what, timeout_s=timeout_s)
    except BenchError as error:
        notes.complain(str(error))


def _seconds(began_s: float) -> str:
    return f"{time.monotonic() - began_s:.0f} s"


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


if __name__ == "__main__":
    sys.exit(main())
