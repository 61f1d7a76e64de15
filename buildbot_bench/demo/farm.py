"""The processes of a farm on this machine: master, builder worker and lab worker."""

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.demo.watching import Child, answers, must_be_free, wait_until
from buildbot_bench.installed import shipped
from buildbot_bench.plugin.operations.hangs import DIRECTORY as HANGS
from buildbot_bench.plugin.operations.hangs import has_hung
from buildbot_bench.plugin.private_files import PRIVATE_UMASK, SESSION_KEY, make_private

START_S = 120.0
_LOOK_S = 1.0
USER = "bench"


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmPlan:
    """Where a farm lives and what it listens on; `labs` and `builders` are its workers.

    `db_url` is SQLAlchemy's. Where there is a `router`, the `master` of this plan is one of
    several; workers connect to one of those at `pb_ports`.
    """

    directory: Path
    workflow: Path
    testbeds: Path = field(default_factory=lambda: shipped("workers/lab/testbeds.toml"))
    www_port: int = 8010
    pb_port: int = 9989
    db_url: str = "sqlite:///state.sqlite"
    poll_s: float = 5.0
    reconcile_s: float = 5.0
    labs: tuple[str, ...] = ("lab",)
    builders: tuple[str, ...] = ("builder",)
    master: str = "master"
    router: str | None = None
    pb_ports: tuple[int, ...] = ()

    @property
    def url(self) -> str:
        """Where the farm's pages and its REST interface are."""
        return f"http://localhost:{self.www_port}/"

    @property
    def password_file(self) -> Path:
        """The password of the user who may start and cancel searches."""
        return self.directory / self.master / "secrets" / f"{USER}.login"

    @property
    def password(self) -> str:
        """What is in the password file; the farm must have been prepared."""
        return self.password_file.read_text().strip()


class LocalFarm:
    """The processes of one farm; a directory that held one before is taken over as it is."""

    def __init__(self, plan: FarmPlan) -> None:
        self.plan = plan
        self.master = self._child(
            plan.master, [_tool("twistd"), "--nodaemon", "--no_save", "-y", "buildbot.tac"]
        )
        self.workers = {name: self._worker(name) for name in (*plan.builders, *plan.labs)}

    def prepare(self) -> None:
        """Make the directories, the passwords and the database where they are missing."""
        master = self.plan.directory / self.plan.master
        keep = master / "secrets"
        keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        for secret in (*(f"{name}.pass" for name in self.workers), f"{USER}.login", SESSION_KEY):
            path = keep / secret
            if not path.exists():
                path.touch(mode=0o600)
                path.write_text(secrets.token_urlsafe(32) + "\n")
        for name in self.workers:
            home = self.plan.directory / name
            home.mkdir(exist_ok=True)
            kind = "lab" if name in self.plan.labs else "builder"
            shutil.copyfile(shipped(f"workers/{kind}/buildbot.tac"), home / "buildbot.tac")
        if not (master / "buildbot.tac").exists():
            self._run_buildbot(
                "create-master",
                "--quiet",
                "--no-logrotate",
                f"--config={shipped('master.cfg')}",
                f"--db={self.plan.db_url}",
                str(master),
            )
        make_private(self.plan.directory)

    def start(self) -> None:
        """Start the master, then the workers; InfraError with its last words if it dies."""
        must_be_free(self.plan.www_port, self.plan.pb_port)
        self.start_master()
        for worker in self.workers.values():
            worker.start()

    def start_master(self) -> None:
        """Start the master and wait until its REST interface listens."""
        # What a killed master leaves behind; twistd refuses to start beside it.
        (self.plan.directory / self.plan.master / "twistd.pid").unlink(missing_ok=True)
        self.master.start()
        wait_until(
            lambda: answers(self.plan.www_port),
            what="the master starts",
            timeout_s=START_S,
            child=self.master,
        )

    def stop(self) -> None:
        """Stop everything, the workers first."""
        for child in (*self.workers.values(), self.master):
            child.stop()

    def dead(self) -> list[str]:
        """The names of processes that should run and do not."""
        return [c.name for c in (self.master, *self.workers.values()) if not c.running]

    def _worker(self, name: str) -> Child:
        return self._child(
            name, [_tool("twistd"), "--nodaemon", "--pidfile=", "--no_save", "-y", "buildbot.tac"]
        )

    def _child(self, name: str, command: list[str]) -> Child:
        home = self.plan.directory / name
        return Child(
            name=name,
            command=command,
            cwd=home,
            env=self._environment(name),
            log=self.plan.directory / f"{name}.log",
        )

    def _environment(self, name: str) -> dict[str, str]:
        plan = self.plan
        here = str(Path(sys.executable).parent)
        ports = plan.pb_ports or (plan.pb_port,)
        return {
            **({"BENCH_ROUTER": plan.router} if plan.router else {}),
            "PATH": os.pathsep.join([here, os.environ.get("PATH", os.defpath)]),
            "BENCH_WORKFLOW": str(plan.workflow),
            "BENCH_URL": plan.url,
            "BENCH_DB": plan.db_url,
            "BENCH_WWW": f"tcp:{plan.www_port}:interface=127.0.0.1",
            "BENCH_PB": f"tcp:{plan.pb_port}:interface=127.0.0.1",
            "BENCH_POLL_S": str(plan.poll_s),
            "BENCH_RECONCILE_S": str(plan.reconcile_s),
            "BENCH_MASTER": ",".join(f"127.0.0.1:{port}" for port in ports),
            "BENCH_WORKER": name,
            "BENCH_PASSWORD_FILE": str(plan.directory / plan.master / "secrets" / f"{name}.pass"),
            "BENCH_LAB_TESTBEDS": str(plan.testbeds),
            "BENCH_LAB_STATE": str(plan.directory / name / "state"),
        }

    def _run_buildbot(self, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 - a list of our own making
            [_tool("buildbot"), *arguments],
            env={**os.environ, **self._environment(self.plan.master)},
            capture_output=True,
            text=True,
            check=False,
            umask=PRIVATE_UMASK,
        )
        if done.returncode:
            raise InfraError(f"buildbot {arguments[0]} failed:\n{done.stdout}{done.stderr}")


def serve(farm: LocalFarm, say: Callable[[str], None]) -> None:
    """Keep a started farm until one of its processes dies. A master that hung is started again."""
    home = farm.plan.directory / farm.plan.master
    while True:
        dead = farm.dead()
        if farm.master.name in dead and has_hung(home):
            say(f"The master hung or crashed: starting it again. See {home / HANGS}.")
            farm.start_master()
        elif dead:
            child = farm.workers.get(dead[0], farm.master)
            raise InfraError(f"the {dead[0]} died:\n{child.tail()}")
        time.sleep(_LOOK_S)


def _tool(name: str) -> str:
    """Return the path of a command of our environment, else of the PATH (`pip install --user`)."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise UsageError(
            f"there is no {beside}", hint="install it: pip install 'buildbot-bench[demo]'"
        )
    return found
