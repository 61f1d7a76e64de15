"""On the embedded testbed: what touches nothing of the kernel is not built; a report counts it.

The culprit makes the kernel lose packets sooner: only the workload lossless sees that.
"""

import re

import pytest

from buildbot_bench.demo.generated_history import CHANGES
from tests.e2e.embedded import embed
from tests.e2e.histories import edited_history
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.edits import DROPS, README, Change, Edit, edits_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

IMPORTED, ROUTE, CULPRIT, LATEST = "r311840", "r311841", "r311844", "r311845"
OF_THE_README = ("r311842", "r311843", LATEST)
WORDS = ("in the size of a page", "no hardware", "a free UDP port")


def of_readme(label: str, word: str) -> Change:
    edit = Edit(path=README, old=word, new=f"*{word}*")
    return Change(label=label, author="ivan", message="README: stress it", edits=(edit,))


def images(farm: ReplayFarm, label: str) -> int:
    query = "SELECT count(*) FROM bench_image WHERE sha = :sha"
    return int(farm.value(query, sha=farm.history.shas[label]))


@pytest.fixture(scope="module")
def farm(farms, inbox: Inbox, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """The farm of `bench-farm demo --change drops`; it is told of no path that it may ignore."""
    first, second, last = map(of_readme, OF_THE_README, WORDS)
    slow = Change(label=CULPRIT, author="heidi", message="netif: queue", edits=DROPS)
    route = Change(
        label=ROUTE,
        author=CHANGES[0].author,
        message=CHANGES[0].message,
        edits=edits_of(CHANGES[0].patches[0]),
    )
    changes = [route, first, second, slow, last]
    history = edited_history(tmp_path_factory.mktemp("history"), 311840, changes)

    def prepare(farm: ReplayFarm) -> None:
        lossless = ("workload: [forwarding]", "workload: [lossless]")
        embed(farm, ("    paths-ignore: ['**.md']", "    #"), lossless, smtp_port=inbox.port)

    return farms(Shape(tip=IMPORTED, poll_s=2.0), history, prepare)


def test_a_culprit_is_found_and_the_report_counts_what_the_commits_touch(farm) -> None:
    measured = "SELECT count(*) FROM bench_iteration WHERE value IS NOT NULL"
    farm.wait(lambda: farm.value(measured) >= 5, "the import is measured")
    farm.history.publish(farm.source, LATEST)
    farm.wait(lambda: farm.value("SELECT count(*) FROM bench_search"), "an alarm")
    search = farm.wait_for_search(1)
    assert search["state"] == "found"
    report = search["report"]
    assert report["headline"]["new"]["label"] == CULPRIT
    classes = {one["touch"]: one["commits"] for one in report["touched"]["classes"]}
    assert classes == {"built": 2, "neither": 2}
    counts, *_, own = report["touched"]["reasons"]
    assert counts == "2 of 4 commits change files that the kernel is built from."
    assert own == f"{CULPRIT} changes files that the kernel is built from."


def test_the_mail_says_which_rate_became_lower(farm, inbox: Inbox) -> None:
    mail = inbox.wait_for(farm, CULPRIT, 240.0)
    assert re.match(rf"\[bench\] {CULPRIT} \(\w+\): lossless -[34]\d\.\d % on", mail["Subject"])
    lowered = r"lowered the rate without loss of lossless on embedded by [34]\d\.\d % \("
    assert re.search(lowered + r"3\d\d,\d{3} → 1\d\d,\d{3} pps without loss\)", flowing(mail))


def test_commits_of_the_readme_were_not_asked_for_on_their_own_account(farm) -> None:
    asked = farm.rows(
        "SELECT bench_image.sha FROM bench_image JOIN bench_probe ON image_id = bench_image.id"
        " WHERE bench_probe.reason IN ('commit', 'backfill')"
    )
    shas = {row["sha"] for row in asked}
    assert farm.history.shas[CULPRIT] in shas
    assert shas.isdisjoint(farm.history.shas[label] for label in OF_THE_README)
    assert images(farm, LATEST) == 0
    told = {one["label"]: one["why"] for one in farm.get("noops")["views"]}
    assert LATEST in told
    assert "changes no file that the kernel of r3118" in told[LATEST]


def test_a_person_may_ask_for_one_all_the_same(farm) -> None:
    number = farm.begin_search(CULPRIT, LATEST)
    search = farm.wait_for_search(number)
    assert images(farm, LATEST) == 1
    assert search["state"] == "not-reproduced"
