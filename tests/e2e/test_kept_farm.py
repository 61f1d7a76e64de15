"""The pages on upgrading, moving and PostgreSQL, typed whole by somebody who keeps a farm."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from tests.databases import postgresql_server
from tests.e2e.made_farm import BIN, MadeFarm
from tests.e2e.replay_farm import end_processes_in
from tests.ports import free_port
from tests.readme import CHECKOUT, KEPT, RUN_BLOCKS, on
from tests.running import ran

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

UPGRADE, MOVE, POSTGRESQL = KEPT
ADDRESS = "postgresql://bench@localhost/bench"
ELSEWHERE = re.search(
    r"If the farm lies elsewhere, (.*?)\n\n", (CHECKOUT / MOVE).read_text(), re.DOTALL
)
assert ELSEWHERE is not None
PARTS = ("master", "builder", "lab")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path.resolve()
    end_processes_in(tmp_path.resolve())


def ports() -> tuple[str, str]:
    return f"--port={free_port()}", f"--pb-port={free_port()}"


def made(home: Path, *options: str) -> MadeFarm:
    return MadeFarm.make(home / "farm", "--lab=embedded", "--units=systemd", *ports(), *options)


def started(farm: MadeFarm) -> MadeFarm:
    for part in PARTS:
        farm.start(part)
    farm.wait(lambda: measured(farm), "a commit is measured")
    return farm


def measured(farm: MadeFarm) -> int:
    probes = farm.get(farm.urls[0], "probes")["probes"]
    return sum(one["state"] == "done" for one in probes)


def ended(farm: MadeFarm) -> None:
    for child in farm.children.values():
        child.stop()


def commands_of(page: str) -> list[str]:
    return [command for block in RUN_BLOCKS if block in on(page) for command in block.commands]


def is_well(home: Path, doctor: str) -> bool:
    """Whether the doctor finds no error, as soon as workers have come back."""
    try:
        return "error" not in typed(home, [doctor])
    except AssertionError:
        return False


def typed(
    home: Path, commands: list[str], change: Callable[[str], str] = str, **environ: str
) -> str:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = ran(
        ["sh", "-e", "-c", "\n".join(map(change, commands))],
        cwd=home,
        env=os.environ | {"HOME": str(home), "PATH": path} | environ,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_farm_that_moved_is_whole_and_its_upgrade_goes_on_and_back(home: Path) -> None:
    pack, unpack, verify, doctor = commands_of(MOVE)
    farm = made(home)
    farm.type("upgrade-master")
    started(farm)
    ended(farm)
    typed(home, [pack])
    assert (home / "farm.tar").stat().st_mode & 0o077 == 0
    shutil.rmtree(home / "farm")
    assert "no violation" in typed(home, [unpack, verify])
    started(farm)
    farm.wait(lambda: is_well(home, doctor), "all is well")

    backup, tables, doctor, *back = commands_of(UPGRADE)
    typed(home, [backup])
    before = measured(farm)
    farm.children["master"].stop()
    typed(home, [tables])
    farm.children["master"].start()
    farm.wait(lambda: measured(farm) >= before, "it goes on")
    farm.wait(lambda: is_well(home, doctor), "the workers are back")
    ended(farm)
    typed(home, back)
    started(farm)
    farm.wait(lambda: is_well(home, doctor), "all is well")


def test_a_farm_under_another_path_ends_the_search_that_it_had_begun(home: Path) -> None:
    farm = made(home)
    farm.type("upgrade-master")
    started(farm)
    asked = {"BENCH_FARM": farm.urls[0], "BENCH_USER": "bench"}
    asked["BENCH_PASSWORD_FILE"] = str(home / "farm" / "master" / "secrets" / "bench.login")
    typed(home, ["bench-bisect r311847 r311851 --no-wait"], **asked)
    farm.wait(lambda: measured(farm) >= 2, "the search has begun")
    ended(farm)
    elsewhere = MadeFarm.make(home / "new" / "farm", "--lab=embedded", "--units=systemd", *ports())
    named = re.findall(r"`([\w./]+)`", ELSEWHERE[1].partition("copy ")[2].partition(" into it")[0])
    assert len(named) == 5
    for name in named:
        old, new = home / "farm" / name, elsewhere.directory / name
        if old.is_dir():
            shutil.copytree(old, new, dirs_exist_ok=True)
        else:
            shutil.copyfile(old, new)
    for worker in ("builder", "lab"):  # as the page says of passwords
        shutil.copyfile(home / f"farm/{worker}/password", elsewhere.directory / worker / "password")
    for part in PARTS:
        elsewhere.start(part)

    def search() -> dict[str, object]:
        (one,) = elsewhere.get(elsewhere.urls[0], "searches")["searches"]
        return one

    elsewhere.wait(lambda: search()["state"] == "found", "the search is over", 900)


def test_tables_in_postgresql_are_made_backed_up_and_restored(home: Path) -> None:
    server = postgresql_server().url
    role = f"bench_test_{uuid4().hex}"
    address = server.set(drivername="postgresql", database=role)
    environ = {"PGHOST": str(server.host or server.query["host"])}
    environ |= {"PGPORT": str(server.port or server.query["port"]), "PGUSER": server.username or ""}
    environ = {name: value for name, value in environ.items() if value}

    def here(command: str) -> str:
        """A role of the test's own, whom this server need not let in, and ports of its own."""
        command = command.replace("postgresql+psycopg://bench@localhost/bench2", theirs(f"{role}2"))
        command = command.replace(ADDRESS, address.render_as_string(hide_password=False))
        command = command.replace("init ~/farm", f"init ~/farm --lab=embedded {' '.join(ports())}")
        for name in ("bench2", "bench"):
            command = command.replace(
                f"createdb --owner=bench {name}", f"createdb --owner={role} {role}{name[5:]}"
            )
        return command.replace("createuser bench", f"createuser {role}")

    def theirs(database: str) -> str:
        return server.set(database=database).render_as_string(hide_password=False)

    *new, backup, again, restore = commands_of(POSTGRESQL)
    try:
        typed(home, new, here, **environ)
        farm = MadeFarm(directory=home / "farm", said="", environ={})
        farm.start("master")
        farm.wait(lambda: farm.get(farm.urls[0], "probes")["probes"], "the master asks for boots")
        farm.end()
        typed(home, [backup, again, restore], here, **environ)
        restored = sa.create_engine(theirs(f"{role}2"))
        assert "bench_probe" in sa.inspect(restored).get_table_names()
        restored.dispose()
    finally:
        for command in (f"dropdb --force {role}", f"dropdb {role}2", f"dropuser {role}"):
            typed(home, [f"{command.replace(' ', ' --if-exists ', 1)}"], **environ)
