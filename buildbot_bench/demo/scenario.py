"""`bench-farm demo`: publish commits, one of them slow, and wait for the culprit's mail."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.demo.embedded_history import LABELS, make_embedded_history
from buildbot_bench.demo.farm import FarmPlan, LocalFarm
from buildbot_bench.demo.generated_history import publish
from buildbot_bench.demo.onlooker import Onlooker
from buildbot_bench.demo.processes import answers, must_be_free, wait_until
from buildbot_bench.demo.smtp import sink
from buildbot_bench.demo.watching import clear, watched
from buildbot_bench.shipped import shipped
from buildbot_bench.workflow import load

# Where one calls us from, as `bench-farm run` has its farms.
DIRECTORY = Path(".farm")
SOURCE = "src"
_REPOSITORY = re.compile(r"^repository: .*$", re.MULTILINE)
BASELINE_S = 120.0
MAIL_S = 600.0


def run_demo(*, planted: str, expected: str, www_port: int, pb_port: int) -> int:
    """Run the demonstration in .farm; 0 when the mail names the culprit.

    Raises InfraError when the farm does not get that far.
    """
    started = time.monotonic()
    directory = DIRECTORY.resolve()
    mails, home = directory / "mails", directory / "demo"
    with watched(home, lambda text: _say(started, text)):
        clear(home)
        shutil.rmtree(mails, ignore_errors=True)
        _run(_farm(home, www_port, pb_port), mails, planted, started)
    return _verdict(mails, expected, started)


def _run(farm: LocalFarm, mails: Path, planted: str, started: float) -> None:
    """Publish the history, keep the farm, and wait for the mail.

    Raises:
        InfraError: When the workflow sends no mail.
    """
    home, workflow = farm.plan.directory, farm.plan.workflow
    source = home / SOURCE
    _say(started, f"generating the kernel's history, {LABELS[0]} to {LABELS[-1]}")
    shas = make_embedded_history(home / "history", culprit=planted)
    publish(home / "history", source, LABELS[0], shas)
    example = shipped("bench.yml")
    workflow.write_text(_REPOSITORY.sub(f"repository: {SOURCE}", example.read_text("utf-8")))
    mail = load(workflow).mail
    if mail is None:
        raise InfraError(f"{example} has no `mail:`, so no mail would come")
    must_be_free(mail.smtp_port)
    server = sink(mails, port=mail.smtp_port, log=home / "mail.log")
    try:
        server.start()
        wait_until(
            lambda: answers(mail.smtp_port), what="the mail server", timeout_s=20, child=server
        )
        _say(started, "starting the master, the builder worker and the lab worker")
        farm.prepare()
        farm.start()
        _say(started, f"the farm runs: {farm.plan.url}")
        onlooker = Onlooker(farm.plan.url, lambda text: _say(started, text))
        _watch(farm, onlooker, lambda: onlooker.measured(LABELS[0]), BASELINE_S)
        _say(started, f"{LABELS[0]} is measured; pushing {len(LABELS) - 1} commits at once")
        publish(home / "history", source, LABELS[-1], shas)
        _watch(farm, onlooker, lambda: any(mails.glob("*.eml")), MAIL_S)
    finally:
        farm.stop()
        server.stop()


def _farm(directory: Path, www_port: int, pb_port: int) -> LocalFarm:
    plan = FarmPlan(
        directory=directory,
        workflow=directory / "bench.yml",
        www_port=www_port,
        pb_port=pb_port,
        poll_s=2.0,
        reconcile_s=5.0,
    )
    return LocalFarm(plan)


def _watch(farm: LocalFarm, onlooker: Onlooker, done: Callable[[], bool], timeout_s: float) -> None:
    """Show what the farm does until something is done."""
    deadline = time.monotonic() + timeout_s
    while not done():
        onlooker.look()
        if dead := farm.dead():
            raise InfraError(f"the {dead[0]} died; its log is {farm.plan.directory / dead[0]}.log")
        if time.monotonic() > deadline:
            raise InfraError(
                f"nothing came within {timeout_s:.0f} s", hint=f"see {farm.plan.directory}/*.log"
            )
        time.sleep(0.5)
    onlooker.look()


def _verdict(mails: Path, expected: str, started: float) -> int:
    (path,) = sorted(mails.glob("*.eml"))[:1]
    mail = message_from_bytes(path.read_bytes(), policy=policy.default)
    subject = str(mail["Subject"]).strip()
    print(f"\n{'=' * 80}\nFrom: {mail['From']}\nTo: {mail['To']}\nSubject: {subject}\n")
    print(_text(mail))
    print("=" * 80)
    if not _names(subject, expected):
        print(f"The mail should name {expected} and does not: {subject}")
        return 1
    _say(started, f"the mail names {expected}, the commit with the planted slowdown")
    return 0


def _names(subject: str, label: str) -> bool:
    """Whether the subject is about that commit alone, not about a range that begins with it."""
    return re.match(rf"\[bench\] {re.escape(label)} \(", subject) is not None


def _text(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    return "" if body is None else str(body.get_content())


def _say(started: float, text: str) -> None:
    print(f"[{time.monotonic() - started:5.0f} s] {text}", flush=True)
