"""Kernels that are really compiled, by a real farm: patched, with an option, relinked, the same."""

import difflib
import json
import os
import sys
from dataclasses import dataclass

import pytest

from buildbot_bench.demo.farm import USER
from buildbot_bench.demo.generated_history import make_embedded_history
from tests.e2e.checks import steps_of
from tests.e2e.embedded import embed
from tests.e2e.queued_frames import BASE, queue_edits, share_at, unlucky_share
from tests.e2e.replay_farm import History, ReplayFarm, Shape
from tests.edits import NETIF
from tests.running import ran

pytestmark = pytest.mark.e2e

# r311843 changes a comment of r311842; r311844 is slow, and crashes at start until r311845.
BEFORE, COMMENT, SLOW, REPAIR = "r311842", "r311843", "r311844", "r311845"
MANY_BUILDS_S = 1000.0  # of images, one after the other
WAIT_S = 240.0  # as long as a machine on which many others work may take
FEWER = ("iterations: 5", "iterations: 3")
IMAGES = "(SELECT id FROM bench_image WHERE label = '{}')"
SETTINGS = """\
driver = "embedded"
epoch = "1"
duration_s = 0.2
"""
PATCH = """\
--- a/src/forward.c
+++ b/src/forward.c
@@ -1,3 +1,3 @@
-/* What is done to each packet between the receiving and the sending interface. */
+/* What is done to a packet between the receiving and the sending interface. */
 #include <arpa/inet.h>
 #include <stdbool.h>
"""
# What share of the frames crosses a queue: some, more of them in image 0 alone, many more.
QUEUES = {
    "queue.patch": str(BASE),
    "unlucky.patch": unlucky_share(0.92),
    "slow.patch": str(share_at(0.75)),
}


@dataclass(frozen=True, kw_only=True)
class Farm:
    """A farm of the embedded testbed, whose commits are published when the test wants them."""

    whole: ReplayFarm

    @property
    def shas(self) -> dict[str, str]:
        return self.whole.history.shas

    def publish(self, label: str) -> None:
        self.whole.history.publish(self.whole.source, label)

    def count(self, query: str) -> int:
        return int(self.whole.value(query))

    @property
    def boots(self) -> int:
        """How many iterations the lab ran; each has a row for each of its figures."""
        return self.count(
            "SELECT count(*) FROM (SELECT DISTINCT probe_id, ordinal FROM bench_iteration)"
        )

    @property
    def builds(self) -> int:
        """How often the builder was asked for a kernel."""
        return self.count(
            "SELECT count(*) FROM buildsets WHERE external_idstring LIKE 'bench-image:%'"
        )

    def wait(self, query: str, what: str) -> None:
        self.whole.wait(lambda: self.count(query) > 0, what, WAIT_S)

    def ask(self, command: str, *words: str, wait_s: float = WAIT_S) -> dict:
        """What bench-COMMAND answers, as somebody at a shell in the farm's directory asks it."""
        login = {
            "BENCH_FARM": self.whole.local.plan.url,
            "BENCH_USER": USER,
            "BENCH_PASSWORD_FILE": str(self.whole.local.plan.password_file),
        }
        done = ran(
            [sys.executable, "-m", f"buildbot_bench.cli.{command}", *words, "--json"],
            cwd=self.whole.directory,
            env=os.environ | login,
            timeout=wait_s,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def farm(farms, tmp_path_factory: pytest.TempPathFactory) -> Farm:
    path = tmp_path_factory.mktemp("history") / "src"
    history = History(path=path, shas=make_embedded_history(path, culprit=SLOW))

    def prepare(farm: ReplayFarm) -> None:
        embed(farm, FEWER, settings=SETTINGS)
        (farm.directory / "my.patch").write_text(PATCH)
        for name, share in QUEUES.items():
            (farm.directory / name).write_text(queue_patch(history, share))

    return Farm(whole=farms(Shape(tip=BEFORE, poll_s=2.0), history, prepare))


def queue_patch(history: History, share: str) -> str:
    """A patch of BEFORE that has this share of the frames cross a queue."""
    place = f"{history.shas[BEFORE]}:{NETIF}"
    show = ["git", "-C", str(history.path), "show", place]
    old = ran(show, check=True).stdout
    new = old
    for edit in queue_edits(share):
        assert new.count(edit.old) == 1, edit.old
        new = new.replace(edit.old, edit.new)
    lines = (old.splitlines(keepends=True), new.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, f"a/{NETIF}", f"b/{NETIF}"))


@pytest.fixture(scope="module")
def settled(farm: Farm) -> Farm:
    """The farm when it has measured the first commits that it saw."""
    done = "SELECT count(*) FROM bench_probe WHERE state = 'done' AND image_id IN "
    farm.wait(f"{done} {IMAGES.format(BEFORE)}", f"{BEFORE} is measured")
    return farm


def test_a_commit_that_changes_a_comment_is_built_and_not_booted(settled: Farm) -> None:
    settled.publish(COMMENT)
    settled.wait(
        "SELECT count(*) FROM bench_judgement"
        f" WHERE verdict LIKE '%no-op change: same kernel as {BEFORE}%'",
        f"{COMMENT} is a no-op change",
    )
    booted = "SELECT count(*) FROM bench_iteration WHERE image_id IN "
    assert settled.count(booted + IMAGES.format(COMMENT)) == 0
    both = f"FROM bench_image WHERE label IN ('{BEFORE}', '{COMMENT}')"
    assert settled.count(f"SELECT count(DISTINCT digest) {both}") == 2
    assert settled.count(f"SELECT count(DISTINCT kernel_digest) {both}") == 1


def test_a_patch_is_compiled_once_and_seen_to_change_no_code(settled: Farm) -> None:
    variants = (BEFORE, f"{BEFORE}+file:my.patch")
    assert "no-op change" in json.dumps(settled.ask("compare", *variants))
    assert settled.count("SELECT count(*) FROM bench_image WHERE variant LIKE '%+patch:%'") == 1
    builds, boots = settled.builds, settled.boots
    assert "no-op change" in json.dumps(settled.ask("compare", *variants))
    assert (settled.builds, settled.boots) == (builds, boots)


def test_an_option_is_compiled_and_measured_with_the_patch(settled: Farm) -> None:
    boots = settled.boots
    variants = (BEFORE, f"{BEFORE}+INVARIANTS+file:my.patch", "-n", "3", "--images", "1")
    (measured,) = settled.ask("compare", *variants)["series"]
    assert measured["workload"] == "forwarding"
    assert settled.boots == boots + 6
    kernels = "SELECT count(DISTINCT kernel_digest) FROM bench_image WHERE variant LIKE '{}%'"
    assert settled.count(kernels.format(settled.shas[BEFORE])) == 2


@pytest.mark.timeout(1500)
def test_luck_with_the_layout_of_one_image_is_called_no_change_and_a_change_is_one(
    settled: Farm,
) -> None:
    variants = [f"{BEFORE}+file:{name}" for name in QUEUES]
    asked = ("compare", *variants, "-n", "3", "--images", "3")
    report = settled.ask(*asked, wait_s=MANY_BUILDS_S)
    (series,) = report["series"]
    unlucky, slow = series["changes"]
    assert unlucky["verdict"] not in {"worse", "better"}, unlucky["beyond_luck"]
    assert slow["verdict"] == "worse", slow["beyond_luck"]
    base, luck, _ = series["images"]
    assert min(len(base), len(luck)) >= 2
    first, *others = (image["level"] for image in luck)
    assert all(other > 1.03 * first for other in others)
    booted = sum(image["boots"] for images in series["images"] for image in images)
    assert booted == sum(len(sample["values"]) for sample in series["samples"])
    built = "SELECT count(DISTINCT kernel_digest) FROM bench_image WHERE ordinal > 0"
    assert settled.count(f"{built} AND label LIKE '%unlucky%'") >= 1


def test_the_culprit_is_named_where_it_crashes_without_a_later_repair(settled: Farm) -> None:
    settled.publish(REPAIR)
    seen = f"SELECT count(*) FROM bench_commit WHERE sha = '{settled.shas[REPAIR]}'"
    settled.wait(seen, f"{REPAIR} is seen")
    report = settled.ask("bisect", BEFORE, REPAIR, "--with", REPAIR)
    assert steps_of(report) == [(COMMENT, SLOW, -1)]
    fix = settled.shas[REPAIR][:12]
    told = " ".join(report["summary"])
    assert f"The search applied {fix} to 1 revision." in told
    assert f"It does not apply to {BEFORE}" in told
    patched = f"label = '{SLOW}+commit:{fix}'"
    assert settled.count(f"SELECT count(*) FROM bench_image WHERE state = 'built' AND {patched}")
