"""A farm made by `bench-farm init`, as its units start it, takes a push to a mail."""

import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from buildbot_bench.demo.generated_history import LABELS, make_embedded_history, publish
from buildbot_bench.demo.watching import answers
from tests.crossbar_router import crossbar
from tests.e2e.inbox import Inbox
from tests.e2e.made_farm import MadeFarm
from tests.e2e.replay_farm import end_processes_in
from tests.ports import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

OLD, SLOWER = LABELS[:2]


@dataclass(kw_only=True)
class Pushed:
    """A repository, and the history that is pushed to it."""

    history: Path
    source: Path
    shas: dict[str, str]

    def push(self, label: str) -> None:
        publish(self.history, self.source, label, self.shas)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("pushed") / "history"
    return path, make_embedded_history(path, culprit=SLOWER)


@pytest.fixture
def repository(history: tuple[Path, dict[str, str]], tmp_path: Path) -> Pushed:
    """Its own for each farm: nothing but the first commit is there yet."""
    path, shas = history
    pushed = Pushed(history=path, source=tmp_path / "src", shas=shas)
    pushed.push(OLD)
    return pushed


@pytest.fixture
def made(tmp_path: Path, repository: Pushed) -> Iterator[Callable[..., MadeFarm]]:
    """Types `bench-farm init` with more options; the farm ends with the test."""
    with ExitStack() as ends:

        def make(*options: str, **environ: str) -> MadeFarm:
            directory = tmp_path.resolve() / "farm"
            ends.callback(end_processes_in, directory)
            farm = MadeFarm.make(
                directory,
                "--lab=embedded",
                "--units=systemd",
                f"--repository={repository.source}",
                *options,
                BENCH_POLL_S="1",
                BENCH_RECONCILE_S="2",
                **environ,
            )
            ends.callback(farm.end)
            return farm

        yield make


@dataclass(frozen=True, kw_only=True)
class SystemdsEar:
    """The socket on which systemd hears of a unit."""

    socket: socket.socket

    @property
    def environ(self) -> dict[str, str]:
        return {"NOTIFY_SOCKET": self.socket.getsockname(), "WATCHDOG_USEC": "60000000"}

    def heard(self) -> list[str]:
        """All that was said, the oldest first."""
        said = []
        with suppress(BlockingIOError):
            while True:
                said.append(self.socket.recv(1000).decode())
        return said


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[SystemdsEar]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.setblocking(False)
        yield SystemdsEar(socket=ear)


def is_measured(farm: MadeFarm) -> bool:
    probes = farm.get(farm.urls[0], "probes")["probes"]
    return "done" in [one["state"] for one in probes if one["label"] == OLD]


def test_a_push_ends_in_a_mail_that_names_it_and_so_does_a_hang(
    made, repository: Pushed, inbox: Inbox, systemd: SystemdsEar
):
    farm: MadeFarm = made(
        "--tls",
        "--mail-to=net@example.org",
        "--mail-from=bench@example.org",
        f"--smtp=localhost:{inbox.port}",
        f"--port={free_port()}",
        f"--pb-port={free_port()}",
        **systemd.environ,
    )
    assert "control: takes traffic" in farm.type("bench-lab check")
    farm.type("upgrade-master")
    for part in ("master", "builder", "lab"):
        farm.start(part)
    farm.wait(lambda: is_measured(farm), f"{OLD} is measured")
    repository.push(SLOWER)
    (mail,) = farm.wait(lambda: inbox.about(SLOWER), "the mail")
    assert str(mail["Subject"]).startswith(f"[bench] {SLOWER} (")
    assert (mail["From"], mail["To"]) == ("bench@example.org", "net@example.org")
    assert "error" not in farm.type("bench-farm doctor")
    said = systemd.heard()
    assert said.index("READY=1") < said.index("WATCHDOG=1")
    assert set(said) == {"READY=1", "WATCHDOG=1", "EXTEND_TIMEOUT_USEC=60000000"}
    assert farm.children["master"].process is not None
    for number in (signal.SIGSTOP, signal.SIGABRT, signal.SIGCONT):  # as systemd's watchdog does
        farm.children["master"].process.send_signal(number)
    (mail,) = farm.wait(lambda: inbox.about("did not answer"), "the mail about the hang")
    assert str(mail["Subject"]).startswith("[bench] farm: the master was aborted: it did not")
    assert "it did not answer" in farm.type("bench-farm doctor")
    metrics = httpx.get(f"{farm.urls[0]}plugins/bench/metrics", timeout=60, trust_env=False)
    assert "bench_master_hangs 1.0" in metrics.text
    log = (farm.directory / "master" / "twistd.log").read_text()
    assert re.search(r"the master before this one was aborted.*in doPoll", log, re.DOTALL)


def test_two_masters_hear_one_another_and_measure(made, database: str):
    router = free_port()
    farm: MadeFarm = made(
        "--masters=2",
        f"--database={database}",
        f"--router=ws://127.0.0.1:{router}",
        f"--port={adjacent_ports()}",
        f"--pb-port={adjacent_ports()}",
        BENCH_CROSSBAR=str(crossbar()),
    )
    farm.type("upgrade-master")
    farm.start("router")
    farm.wait(lambda: answers(router), "the router")
    for part in ("master", "master2", "builder", "lab"):
        farm.start(part)
    for url in farm.urls:
        farm.wait(lambda url=url: troubles(farm, url) == ["", ""], f"both masters at {url}")
    farm.wait(lambda: is_measured(farm), f"{OLD} is measured")


def troubles(farm: MadeFarm, url: str) -> list[str]:
    """What each master lacks, by the Lab page of one."""
    (lab,) = farm.get(url, "lab")["views"]
    return [one["trouble"] for one in lab["masters"]]


def adjacent_ports() -> int:
    """The first of two ports that nothing listens on, and that nobody else is given."""
    while True:
        port = free_port()
        holder = socket.socket()
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            holder.bind(("127.0.0.1", port + 1))
            holder.detach()  # bound until this process ends, as the first one is
            return port
        holder.close()
