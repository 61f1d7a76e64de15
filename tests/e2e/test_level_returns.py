"""A regression that a later commit takes back: its incident closes by itself, in its thread."""

from __future__ import annotations

import json
import random
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from buildbot_bench.demo.processes import free_port
from buildbot_bench.demo.smtp import sink
from tests.e2e.replay_farm import History, ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

FIRST, BEFORE, SLOW, TIP, BACK, LAST = 400000, 400011, 400012, 400016, 400020, 400024
LEVEL, LOST = 620e3, 0.1


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("history") / "src"
    commits = [
        GeneratedCommit(
            svn=svn, author="alice", message=f"Change {svn}\n", files={"kernel": f"r{svn}\n"}
        )
        for svn in range(FIRST, LAST + 1)
    ]
    return History(path=path, shas=write_history(path, commits))


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded lab in which r400012 to r400019 are slower by a tenth."""
    noise = random.Random(7)
    points = [
        {
            "revision": f"r{svn}",
            "pps": [
                LEVEL * (1 - LOST * (SLOW <= svn < BACK)) * (1 + noise.gauss(0, 0.002))
                for _ in range(9)
            ],
        }
        for svn in range(FIRST, LAST + 1)
    ]
    path = tmp_path_factory.mktemp("recording") / "series.jsonl"
    dut = {"dut": "AMD_GX-412TC_4Cores", "label": "fbsd12-head.iflib", "workload": "forwarding"}
    path.write_text(json.dumps(dut | {"points": points}))
    return path


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory):
    """Where the mails arrive, and the port of the real server that takes them."""
    home = tmp_path_factory.mktemp("inbox")
    port = free_port()
    server = sink(home / "mails", port=port, log=home / "smtp.log")
    server.start()
    yield home / "mails", port
    server.stop()


@pytest.fixture(scope="module")
def farm(farms, history: History, inbox, series: Path) -> ReplayFarm:
    shape = Shape(tip=f"r{FIRST}", poll_s=2.0, iterations=3, smtp_port=inbox[1], series=series)
    return farms(shape, history)


def wait_for_mails(farm: ReplayFarm, inbox: Path, number: int) -> list[EmailMessage]:
    def arrived() -> list[EmailMessage]:
        mails = [
            message_from_bytes(path.read_bytes(), policy=policy.default)
            for path in inbox.glob("*.eml")
        ]
        return mails if len(mails) >= number else []

    farm.wait(arrived, f"{number} mails", deadline_s=400.0)
    return sorted(arrived(), key=lambda mail: mail["Date"].datetime)


def test_the_mail_that_closes_it_stands_in_its_thread(farm: ReplayFarm, inbox) -> None:
    measured = "SELECT count(DISTINCT image_id) FROM bench_iteration"
    farm.history.publish(farm.source, f"r{BEFORE}")
    farm.wait(lambda: farm.value(measured) >= 5, "a past")
    farm.history.publish(farm.source, f"r{TIP}")
    (found,) = wait_for_mails(farm, inbox[0], 1)
    assert str(found["Subject"]).startswith(f"[bench] r{SLOW} ")
    farm.history.publish(farm.source, f"r{LAST}")
    _, closing = wait_for_mails(farm, inbox[0], 2)
    assert "[bench] forwarding on replay is back at its level since " in str(closing["Subject"])
    assert closing["In-Reply-To"] == found["Message-ID"]
    assert closing["References"].split()[-1] == found["Message-ID"]
    body = closing.get_body(("plain",))
    assert body is not None
    assert f"what r{SLOW} brought is over." in " ".join(body.get_content().split())


def test_the_record_says_closed_with_its_commits(farm: ReplayFarm) -> None:
    (search,) = farm.get("searches")["searches"]
    assert search["kind"] == "effect"
    old, new = (search["recovery"][side]["position"] for side in ("old", "new"))
    shas = list(farm.history.shas)
    first = shas.index(f"r{BACK}") + 1  # positions count from 1
    assert old < first <= new
    assert search["recovery"]["difference"] == pytest.approx(0, abs=0.01)
