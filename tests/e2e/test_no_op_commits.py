"""On the embedded testbed: what touches nothing of the kernel is not built; a report counts it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from buildbot_bench.demo.edited_history import Change, Edit, edited_commits
from buildbot_bench.demo.embedded_commits import CHANGES, README, SLOWDOWN
from buildbot_bench.demo.embedded_history import IMPORT
from buildbot_bench.demo.farm import CHECKOUT, FarmPlan, LocalFarm
from buildbot_bench.demo.generated_history import write_history
from buildbot_bench.demo.processes import free_port
from tests.e2e.checks import assert_every_page_answers
from tests.e2e.replay_farm import History, ReplayFarm, end_processes_in

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

IMPORTED, ROUTE, CULPRIT, LATEST = "r311840", "r311841", "r311844", "r311845"
OF_THE_README = ("r311842", "r311843", LATEST)
WORDS = ("in the size of a page", "no hardware", "a free UDP port")


def of_readme(label: str, word: str) -> Change:
    edit = Edit(path=README, old=word, new=f"*{word}*")
    return Change(label=label, author="ivan", message="README: stress it", edits=(edit,))


def make_history(path: Path) -> History:
    first, second, last = map(of_readme, OF_THE_README, WORDS)
    slow = Change(label=CULPRIT, author="heidi", message="netif: queue", edits=SLOWDOWN)
    sources = resources.files("buildbot_bench.demo") / "kernel"
    changes = [CHANGES[0], first, second, slow, last]
    shas = write_history(path, list(edited_commits(sources, IMPORT, changes)))
    return History(path=path, shas=shas)


class EmbeddedFarm(ReplayFarm):
    """The farm of `make demo`, which is told of no path that it may ignore."""

    def __init__(self, directory: Path, history: History) -> None:
        self.directory = directory
        self.history = history
        self.source = directory / "src"
        self.publish(IMPORTED)
        text = (CHECKOUT / "bench.yml").read_text().partition("mail:\n")[0]
        ignored = "    paths-ignore: ['**.md']"
        assert ignored in text
        text = text.replace(ignored, "    #").replace("repository: .farm/src", "repository: src")
        workflow = directory / "bench.yml"
        workflow.write_text(text.replace(", profile: 2m", ""))
        plan = FarmPlan(
            directory=directory,
            workflow=workflow,
            www_port=free_port(),
            pb_port=free_port(),
            poll_s=2.0,
            reconcile_s=2.0,
        )
        self.local = LocalFarm(plan)
        self.lab_state = directory / "lab" / "state"
        self._db_url = f"sqlite:///{directory}/master/state.sqlite"

    def publish(self, label: str) -> None:
        self.history.publish(self.source, label)

    def images(self, label: str) -> int:
        query = "SELECT count(*) FROM bench_image WHERE sha = :sha"
        return int(self.value(query, sha=self.history.shas[label]))


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory):
    history = make_history(tmp_path_factory.mktemp("history") / "src")
    directory = tmp_path_factory.mktemp("farm").resolve()
    farm = EmbeddedFarm(directory, history)
    try:
        farm.start()
        yield farm
    finally:
        farm.end()
        end_processes_in(directory)


def test_a_culprit_is_found_and_the_report_counts_what_the_commits_touch(farm) -> None:
    measured = "SELECT count(*) FROM bench_iteration WHERE value IS NOT NULL"
    farm.wait(lambda: farm.value(measured) >= 5, "the import is measured")
    farm.publish(LATEST)
    farm.wait(lambda: farm.value("SELECT count(*) FROM bench_search"), "an alarm")
    search = farm.wait_for_search(1)
    assert search["state"] == "found"
    report = search["report"]
    assert report["headline"]["new"]["label"] == CULPRIT
    classes = {one["touch"]: one["commits"] for one in report["touched"]["classes"]}
    assert classes == {"built": 2, "neither": 2}
    counts, _, own = report["touched"]["reasons"]
    assert counts == "2 of 4 commits touch what the kernel is built from."
    assert own == f"{CULPRIT} touches what the kernel is built from."


def test_commits_of_the_readme_were_not_asked_for_on_their_own_account(farm) -> None:
    asked = farm.rows(
        "SELECT bench_image.sha FROM bench_image JOIN bench_probe ON image_id = bench_image.id"
        " WHERE bench_probe.reason IN ('commit', 'backfill')"
    )
    shas = {row["sha"] for row in asked}
    assert farm.history.shas[CULPRIT] in shas
    assert shas.isdisjoint(farm.history.shas[label] for label in OF_THE_README)
    assert farm.images(LATEST) == 0
    told = {one["label"]: one["why"] for one in farm.get("noops")["views"]}
    assert LATEST in told
    assert "touches nothing that the kernel of r3118" in told[LATEST]


def test_a_person_may_ask_for_one_all_the_same(farm) -> None:
    number = farm.begin_search(CULPRIT, LATEST)
    search = farm.wait_for_search(number)
    assert farm.images(LATEST) == 1
    assert search["state"] == "not-reproduced"


def test_every_page_answers(farm) -> None:
    assert_every_page_answers(farm)
