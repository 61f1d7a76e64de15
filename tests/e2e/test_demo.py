"""`make demo` in a copy of the checkout: commits arrive, and a mail names the planted culprit."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from buildbot_bench.demo import scenario
from buildbot_bench.demo.generated_history import CRASHES, DOES_NOT_COMPILE
from tests.e2e.inbox import plain
from tests.e2e.replay_farm import DEADLINE_S, end_processes_in, processes_in
from tests.ports import free_port
from tests.readme import CHECKOUT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

COPIED = ("buildbot_bench", "templates", "workers", "master.cfg", "bench.yml")
RUN = "import sys; from buildbot_bench.demo.command import main; sys.exit(main())"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A demonstration that has ended."""

    status: int
    output: str
    mails: list[Path]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of what the demo needs, whose mail server has a port that nobody else uses."""
    root = tmp_path_factory.mktemp("checkout").resolve()
    for name in COPIED:
        source = CHECKOUT / name
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, root / name)
    workflow = root / "bench.yml"
    text = workflow.read_text()
    workflow.write_text(text.replace("smtp-port: 2525", f"smtp-port: {free_port()}"))
    yield root
    end_processes_in(root)


def begin(checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, "demo", f"--port={free_port()}", f"--pb-port={free_port()}"],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def demo(checkout: Path) -> Demo:
    running = begin(checkout)
    output, _ = running.communicate(timeout=1100)
    mails = sorted((checkout / ".farm" / "mails").glob("*"))
    return Demo(status=running.returncode, output=output, mails=mails)


@pytest.mark.parametrize(
    ("number", "when"), [(signal.SIGHUP, "the farm runs"), (signal.SIGKILL, "measuring")]
)
def test_a_demo_that_is_interrupted_leaves_nothing_running(
    checkout: Path, number: signal.Signals, when: str
) -> None:
    running = begin(checkout)
    assert running.stdout is not None
    assert any(when in line for line in running.stdout)
    assert len(processes_in(checkout)) >= 4  # the mail server is one
    running.send_signal(number)
    running.communicate()
    assert running.returncode == (128 + number if number == signal.SIGHUP else -number)
    deadline = time.monotonic() + DEADLINE_S
    while processes_in(checkout):
        assert time.monotonic() < deadline, processes_in(checkout)
        time.sleep(0.1)


def read(path: Path) -> EmailMessage:
    """A mail as a person sees it: SMTP's line ends are not their concern."""
    content = path.read_bytes().replace(b"\r\n", b"\n")
    return message_from_bytes(content, policy=policy.default)


def test_demo_names_the_planted_commit(demo: Demo) -> None:
    assert demo.status == 0, demo.output
    assert "the mail names r311849" in demo.output.splitlines()[-1]


def test_demo_sends_one_mail_with_text_and_html(demo: Demo) -> None:
    (path,) = demo.mails
    mail = read(path)
    subject = str(mail["Subject"])
    assert "r311849" in subject.split()
    assert "forwarding" in subject
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    assert "x r311848\n+ r311849\n" in text.get_content()
    assert "r311849" in html.get_content()


def test_demo_steps_around_what_does_not_compile_or_crashes(demo: Demo) -> None:
    """Which of the broken commits the search meets follows from what it measured before."""
    text = plain(read(demo.mails[0]))
    skipped = set(re.findall(r"^  (r\d+): (?:src/forward|the kernel)", text, re.MULTILINE))
    met = {label for label in sorted(DOES_NOT_COMPILE | CRASHES) if broken(demo.output, label)}
    assert met
    assert skipped == met


def broken(output: str, label: str) -> bool:
    complaint = "MULTICAST_CLASS" if label in DOES_NOT_COMPILE else "killed by SIGSEGV"
    return any(complaint in line for line in output.splitlines() if f" {label} for" in line)


def test_demo_shows_what_it_does_while_one_waits(demo: Demo) -> None:
    for sign in ("building", "measuring", "suspicion", "regression", "search 1 in", "Subject:"):
        assert sign in demo.output


def test_mail_that_names_another_commit_makes_the_demo_fail(
    demo: Demo, capsys: pytest.CaptureFixture[str]
) -> None:
    mails = demo.mails[0].parent
    assert scenario._verdict(mails, "r311849", 0.0) == 0
    assert scenario._verdict(mails, "r311845", 0.0) != 0
    assert "should name r311845 and does not" in capsys.readouterr().out
