"""`bench-farm demo`: publish commits, one of them slow, and wait for the culprit's mail."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes, policy
from pathlib import Path
from statistics import mean
from typing import Any

import httpx

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import one_line
from buildbot_bench.demo.farm import FarmPlan, LocalFarm
from buildbot_bench.demo.generated_history import LABELS, PLANTABLE, make_embedded_history, publish
from buildbot_bench.demo.watching import Child, answers, clear, must_be_free, wait_until, watched
from buildbot_bench.installed import shipped
from buildbot_bench.workflow.load import load

# Where one calls us from, as `bench-farm run` has its farms.
DIRECTORY = Path(".farm")
SOURCE = "src"
_REPOSITORY = re.compile(r"^repository: .*$", re.MULTILINE)
_WORKLOADS = re.compile(r"workload: \[.*\]")
BASELINE_S = 120.0
MAIL_S = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """What is planted in which commit: the name of one of PLANTABLE, and a label."""

    change: str
    culprit: str


def run_demo(*, planted: Planted, expected: str, www_port: int, pb_port: int) -> int:
    """Run the demonstration in .farm; 0 when the mail names the culprit."""
    started = time.monotonic()
    directory = DIRECTORY.resolve()
    mails, home = directory / "mails", directory / "demo"
    with watched(home, lambda text: _say(started, text)):
        clear(home)
        shutil.rmtree(mails, ignore_errors=True)
        _run(_farm(home, www_port, pb_port), mails, planted, started)
    return _verdict(mails, expected, started)


def _run(farm: LocalFarm, mails: Path, planted: Planted, started: float) -> None:
    home, workflow = farm.plan.directory, farm.plan.workflow
    source = home / SOURCE
    _say(started, f"generating the kernel's history, {LABELS[0]} to {LABELS[-1]}")
    shas = make_embedded_history(home / "history", planted.culprit, planted.change)
    publish(home / "history", source, LABELS[0], shas)
    workflow.write_text(_workflow(planted.change))
    mail = load(workflow).mail
    if mail is None:
        raise InfraError(f"{shipped('bench.yml')} has no `mail:`, so no mail would come")
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


def _workflow(change: str) -> str:
    text = shipped("bench.yml").read_text("utf-8")
    text = _REPOSITORY.sub(f"repository: {SOURCE}", text)
    return _WORKLOADS.sub(f"workload: [{PLANTABLE[change]}]", text)


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
    body = mail.get_body(("plain",))
    print("" if body is None else body.get_content())
    print("=" * 80)
    # About that commit alone, not about a range that begins with it.
    if not re.match(rf"\[bench\] {re.escape(expected)} \(", subject):
        print(f"The mail should name {expected} and does not: {subject}")
        return 1
    _say(started, f"the mail names {expected}, the commit with the planted change")
    return 0


def _say(started: float, text: str) -> None:
    print(f"[{time.monotonic() - started:5.0f} s] {text}", flush=True)


class Onlooker:
    """Says each thing once: an image that is built, a sample that is there, a verdict, a search."""

    def __init__(self, url: str, say: Callable[[str], None]) -> None:
        self._client = httpx.Client(base_url=f"{url}api/v2/bench/", timeout=10)
        self._say = say
        self._known: dict[str, str] = {}
        self._measured: set[str] = set()

    def measured(self, label: str) -> bool:
        """Whether all iterations of a revision's sample were seen to be there."""
        self.look()
        return label in self._measured

    def look(self) -> None:
        """Say what is new; a master that is busy or away is asked again the next time."""
        for probe in reversed(self._get("probes")):
            self.tell(f"probe {probe['probeid']}", _probe_text(probe), indent="  ")
            if probe["state"] == "done" and probe["values"]:
                self._measured.add(probe["label"])
        for one in reversed(self._get("judgements")):
            text = f"verdict on {one['new_sha'][:10]}: {one['state']}: {one['reason']}"
            self.tell(f"judgement {one['judgementid']}", text)
        for one in reversed(self._get("searches")):
            named = f"search {one['searchid']}"
            ends = f"({one['old']['label']}, {one['new']['label']}]"
            self.tell(named, f"{named} in {ends}, {one['commits']} commits: {one['state']}")

    def _get(self, collection: str) -> list[dict[str, Any]]:
        try:
            answer = self._client.get(collection)
            answer.raise_for_status()
        except httpx.HTTPError:
            return []
        found: list[dict[str, Any]] = answer.json()[collection]
        return found

    def tell(self, key: str, text: str, *, indent: str = "") -> None:
        """Say a text, unless the last one of this key was the same."""
        if self._known.get(key) != text:
            self._known[key] = text
            self._say(indent + one_line(text))


def _probe_text(probe: dict[str, Any]) -> str:
    what = f"{probe['label']} for {probe['reason']}"
    if probe["failure"]:
        return f"{what}: {probe['failure']}"
    if probe["state"] == "done" and probe["values"]:
        unit = probe["unit"]
        return f"{what}: {mean(probe['values']):,.0f} {unit} (n={len(probe['values'])})"
    if probe["image_state"] in {"wanted", "building"}:
        return f"{what}: building"
    done = len(probe["values"])
    return f"{what}: measuring {done}/{probe['iterations']}"


def sink(mails: Path, *, port: int, log: Path) -> Child:
    """A real SMTP server that keeps each mail as a file in `mails`."""
    return Child(
        name="mail server",
        command=[
            sys.executable,
            "-m",
            "buildbot_bench.demo.smtp_sink",
            f"--port={port}",
            f"--dir={mails}",
        ],
        cwd=log.parent,
        env={},
        log=log,
    )
