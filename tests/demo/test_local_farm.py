"""A farm on this machine, as far as it can be looked at without running it."""

import socket
import sys
import threading
from collections.abc import Callable

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.demo.farm import FarmPlan, LocalFarm, serve
from buildbot_bench.demo.watching import Child, wait_until
from tests.ports import free_port
from tests.readme import CHECKOUT


@pytest.fixture
def plan(tmp_path) -> FarmPlan:
    return FarmPlan(
        directory=tmp_path,
        workflow=CHECKOUT / "bench.yml",
        www_port=free_port(),
        pb_port=free_port(),
        db_url="sqlite:///state.sqlite",
    )


@pytest.fixture
def made(plan) -> LocalFarm:
    """A farm that was prepared, as on another day."""
    (plan.directory / "master").mkdir()
    (plan.directory / "master" / "buildbot.tac").write_text("# made before\n")
    farm = LocalFarm(plan)
    farm.prepare()
    return farm


def test_each_of_its_passwords_is_a_secret_of_its_own(made, plan):
    secrets = plan.directory / "master" / "secrets"
    files = sorted(secrets.iterdir())
    assert [path.name for path in files] == [
        "bench.login",
        "builder.pass",
        "lab.pass",
        "session.key",
    ]
    assert len({path.read_text() for path in files}) == 4
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert secrets.stat().st_mode & 0o777 == 0o700
    assert plan.password_file == secrets / "bench.login"


def test_a_farm_that_is_prepared_again_keeps_its_passwords_and_its_master(made, plan):
    before = plan.password_file.read_text()
    LocalFarm(plan).prepare()
    assert plan.password_file.read_text() == before
    tac = plan.directory / "master" / "buildbot.tac"
    assert tac.read_text() == "# made before\n"


def test_its_workers_are_configured_as_any_workers_are(made, plan):
    for name in ("builder", "lab"):
        tac = CHECKOUT / "workers" / name / "buildbot.tac"
        assert (plan.directory / name / "buildbot.tac").read_text() == tac.read_text()


def test_its_processes_listen_to_this_machine_alone(made):
    env = made.master.env
    assert env["BENCH_WWW"].endswith(":interface=127.0.0.1")
    assert env["BENCH_PB"].endswith(":interface=127.0.0.1")


def test_no_password_is_handed_on_but_by_the_name_of_its_file(made, plan):
    words = {(plan.directory / "master" / "secrets" / f"{n}.pass").read_text() for n in ("lab",)}
    for child in (made.master, *made.workers.values()):
        assert not any(word.strip() in " ".join(child.command) for word in words)
        assert not any(word.strip() in child.env.values() for word in words)


@pytest.mark.parametrize("port", ["www_port", "pb_port"])
def test_a_port_that_is_taken_is_named_before_anything_starts(made, plan, port):
    number = getattr(plan, port)
    with (
        socket.create_server(("127.0.0.1", number)),
        pytest.raises(InfraError, match=f"{number} is taken"),
    ):
        made.start()
    assert made.dead() == ["master", "builder", "lab"]


def test_a_master_that_hangs_or_crashes_is_started_again_and_one_that_ends_is_told(made, plan):
    home = plan.directory / "master"
    beating = [sys.executable, "-m", "tests.fakes.beating_master"]
    made.master = Child(
        name="master",
        command=[*beating, str(home), "1", str(plan.www_port), "sleep"],
        cwd=CHECKOUT,
        env={},
        log=plan.directory / "master.log",
    )
    made.workers.clear()
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)

    made.start()
    watching = threading.Thread(target=lambda: said.append(problem_of(serve, made, say)))
    watching.start()
    log = plan.directory / "master.log"
    wait_until(lambda: "after did not answer" in log.read_text(), what="it runs", timeout_s=60)
    assert "in stand_still" in log.read_text()
    made.master.stop()
    watching.join()
    assert said[0] == f"The master hung or crashed: starting it again. See {home}/hangs."
    assert said[1].startswith("the master died:\n")
    assert len(said) == 2


def problem_of(act: Callable[..., None], *args: object) -> str:
    with pytest.raises(InfraError) as problem:
        act(*args)
    return str(problem.value)


def test_a_farm_that_never_ran_may_be_stopped(made):
    made.stop()
