"""Two persons' comparisons and a commit wait for one builder: each gets its share of the builds.

All builds wait at a gate until all is asked for, so that their order is the farm's, not the test's.
"""

import os
import sys
from itertools import accumulate
from pathlib import Path

import pytest

from buildbot_bench.core.sharing import Weights
from buildbot_bench.demo.farm import USER
from tests.e2e.histories import numbered_history, record_levels
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.fakes.fairness import waits_at_most_s
from tests.running import ran

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

FIRST, TIP, PUSHED = 500000, 500020, 500021
URGENT, PLAIN = range(FIRST, FIRST + 8), range(FIRST + 8, FIRST + 12)
COMPARISONS = Weights().comparisons
WEIGHTS = {"urgent": 4 * COMPARISONS, "plain": COMPARISONS}  # of high priority, and of normal
ASKED = """\
SELECT bench_image.label FROM bench_image
JOIN buildrequests ON buildrequests.id = bench_image.brid WHERE buildrequests.complete = 0"""
BOOTED = "SELECT count(*) FROM bench_probe WHERE state = 'done'"
BUILT = """\
SELECT bench_image.label FROM bench_image
JOIN builds ON builds.buildrequestid = bench_image.brid ORDER BY builds.id"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """While it is there no build ends."""
    return tmp_path / "gate"


@pytest.fixture
def farm(farms, gate: Path, tmp_path: Path) -> ReplayFarm:
    history, series = numbered_history(tmp_path, FIRST, PUSHED), tmp_path / "series.jsonl"
    record_levels(series, dict.fromkeys(range(FIRST, PUSHED + 1), 620e3), seed=5)

    def wait_at_gate(farm: ReplayFarm) -> None:
        path = farm.local.plan.workflow
        text = path.read_text()
        assert text.count("run: sleep 0.0; echo") == 1
        wait = f"while [ -e {gate} ]; do sleep 0.1; done"
        path.write_text(text.replace("run: sleep 0.0; echo", f"run: {wait}; echo"))

    shape = Shape(tip=f"r{TIP}", poll_s=2.0, iterations=3, series=series)
    farm = farms(shape, history, wait_at_gate)
    farm.wait(lambda: farm.value(BOOTED), "the tip's boots")
    return farm


def compare(farm: ReplayFarm, user: str, revisions: range, *options: str) -> None:
    """Ask as a person at a shell does, and go away."""
    password = farm.local.plan.password_file.with_name(f"{user}.login")
    if not password.exists():
        password.write_text("let-me-in\n")
    login = {"BENCH_FARM": farm.url, "BENCH_USER": user, "BENCH_PASSWORD_FILE": str(password)}
    names = [f"r{svn}" for svn in revisions]
    command = [sys.executable, "-m", "buildbot_bench.cli.compare", *names, "--no-wait", *options]
    done = ran([*command, "--images", "1"], env=os.environ | login, timeout=300)
    assert done.returncode == 0, done.stderr


def asked(farm: ReplayFarm) -> set[str]:
    return {row["label"] for row in farm.rows(ASKED)}


def whose(label: str) -> str:
    svn = int(label.removeprefix("r"))
    return "urgent" if svn in URGENT else "plain" if svn in PLAIN else "commits"


def test_each_gets_its_share_of_the_one_builder(farm: ReplayFarm, gate: Path) -> None:
    gate.touch()
    compare(farm, USER, URGENT, "--priority", "high")
    compare(farm, "guest", PLAIN)
    all_of_them = {f"r{svn}" for svn in (*URGENT, *PLAIN)}
    farm.wait(lambda: asked(farm) == all_of_them, "requests for all")
    farm.wait(lambda: len(farm.rows(BUILT)) == 2, "a build at the gate")
    farm.history.publish(farm.source, f"r{PUSHED}")
    farm.wait(lambda: f"r{PUSHED}" in asked(farm), "the commit's")

    gate.unlink()
    number = 2 + len(URGENT) + len(PLAIN)
    farm.wait(lambda: len(farm.rows(BUILT)) >= number, "all builds")
    order = [whose(row["label"]) for row in farm.rows(BUILT)][1:number]
    # Behind the build at the gate it waits for no more than the others' shares of its last one.
    others = [(weight, 1.0) for weight in WEIGHTS.values()]
    most = waits_at_most_s(Weights().commits, 1.0, others)
    assert order.index("commits") <= 1 + most, order
    assert_shared(order)


def assert_shared(order: list[str]) -> None:
    """While both want builds neither is ahead by more than start-time fair queueing allows."""
    counts = {name: [0, *accumulate(one == name for one in order)] for name in WEIGHTS}
    most = sum(1 / weight for weight in WEIGHTS.values())
    for urgent, plain in zip(counts["urgent"], counts["plain"], strict=True):
        if urgent < len(URGENT) and plain < len(PLAIN):
            ahead = urgent / WEIGHTS["urgent"] - plain / WEIGHTS["plain"]
            assert abs(ahead) <= most, order
