"""A farm of two repositories, one of them a fork: each has verdicts, searches and mails of its own.

Both hold the same commits, up to where the fork goes on: the same hashes at the same positions.
"""

from pathlib import Path

import httpx
import pytest

from tests.asking import ASKED
from tests.e2e.histories import numbered_history, record_levels
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import API, ReplayFarm, Row, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

FIRST, BEFORE, SLOW, TIP, LAST = 500000, 500003, 500004, 500005, 500008
LEVEL, LOST = 620e3, 0.1
PATIENCE_S = 700.0
GONE = "repository fork is no longer in bench.yml"
WAITING = "SELECT count(*) FROM buildrequests WHERE complete = 0"
CONFIRMED = f"""\
SELECT count(*) FROM bench_probe JOIN bench_image ON bench_image.id = bench_probe.image_id
WHERE bench_image.repository = 'fork' AND label = 'r{SLOW}' AND judged
AND bench_probe.reason IN ('commit', 'backfill')
AND NOT EXISTS (SELECT 1 FROM bench_judgement WHERE state = 'suspicion')"""
BLASTING = "SELECT count(*) FROM bench_probe WHERE state = 'issued'"

TWO = """\
repositories:
  src: {{url: {source}}}
  fork: {{url: {fork}, branches: [main]}}
"""
BUILDS_FORK = """\
  fork-kernel:
    runs-on: builder
    steps:
      - uses: checkout
        with: {repository: fork}
      - run: echo "image $BENCH_IMAGE" >> kernel
      - uses: upload-artefact
        with: {path: kernel}

  bench:
"""


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded lab in which r500004 and what follows it are slower by a tenth."""
    path = tmp_path_factory.mktemp("recording") / "series.jsonl"
    levels = {svn: LEVEL * (1 - LOST * (svn >= SLOW)) for svn in range(FIRST, LAST + 1)}
    return record_levels(path, levels, seed=11)


def fork_of(farm: ReplayFarm) -> Path:
    return farm.directory / "fork"


@pytest.fixture(scope="module")
def farm(farms, inbox: Inbox, series: Path, tmp_path_factory) -> ReplayFarm:
    history = numbered_history(tmp_path_factory.mktemp("history"), FIRST, LAST)

    def watch_both(farm: ReplayFarm) -> None:
        history.publish(fork_of(farm), f"r{FIRST}")
        path = farm.local.plan.workflow
        text = path.read_text()
        both = TWO.format(source=farm.source, fork=fork_of(farm))
        for old, new in (
            ("repository: src\n", both),
            ("  bench:\n", BUILDS_FORK),
            ("needs: kernel\n", "needs: [kernel, fork-kernel]\n"),
        ):
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)

    shape = Shape(tip=f"r{FIRST}", poll_s=5.0, iterations=3, smtp_port=inbox.port, series=series)
    return farms(shape, history, watch_both)


def measured(farm: ReplayFarm, repository: str) -> list[str]:
    """The labels of what was measured of a repository's own commits."""
    rows = farm.rows(
        "SELECT DISTINCT bench_image.label, bench_image.position FROM bench_iteration"
        " JOIN bench_image ON bench_image.id = bench_iteration.image_id"
        " WHERE bench_image.repository = :repository ORDER BY bench_image.position",
        repository=repository,
    )
    return [row["label"] for row in rows]


def verdicts(farm: ReplayFarm, branch: str) -> list[Row]:
    """Those on a branch but for its first commit, which has none before it."""
    query = "SELECT * FROM bench_judgement WHERE branch = :branch AND new_position > 1"
    return farm.rows(query, branch=branch)


def test_a_push_to_each_repository_has_a_verdict_of_its_own(farm: ReplayFarm) -> None:
    for repository in ("", "fork"):
        farm.wait(lambda of=repository: measured(farm, of), "the tip of each is measured")
    shared = farm.rows("SELECT sha FROM bench_image GROUP BY sha HAVING count(*) > 1")
    assert shared, "the same commit is built of each repository"
    builders = farm.rows(
        "SELECT bench_image.repository, builders.name FROM bench_image"
        " JOIN buildrequests ON buildrequests.id = bench_image.brid"
        " JOIN builders ON builders.id = buildrequests.builderid GROUP BY 1, 2"
    )
    assert {(row["repository"], row["name"]) for row in builders} == {
        ("", "kernel"),
        ("fork", "fork-kernel"),
    }

    farm.history.publish(farm.source, f"r{FIRST + 1}")
    farm.wait(lambda: verdicts(farm, "main"), "the push to src is judged", PATIENCE_S)
    assert measured(farm, "") == [f"r{FIRST}", f"r{FIRST + 1}"]
    assert measured(farm, "fork") == [f"r{FIRST}"]
    assert verdicts(farm, "fork:main") == []


def test_a_regression_in_the_fork_is_mailed_with_its_name(farm: ReplayFarm, inbox: Inbox) -> None:
    farm.history.publish(fork_of(farm), f"r{BEFORE}")
    farm.wait(lambda: len(measured(farm, "fork")) >= 4, "a past of the fork", PATIENCE_S)
    assert {row["state"] for row in verdicts(farm, "main")} <= {"nothing", "suspicion"}
    farm.history.publish(fork_of(farm), f"r{TIP}")
    farm.wait(inbox.mails, "the mail about the culprit", PATIENCE_S)
    mail = inbox.only()
    assert str(mail["Subject"]).startswith(f"[bench] fork:main: r{SLOW} ")
    assert "fork:main" in flowing(mail)
    (search,) = farm.rows("SELECT * FROM bench_search WHERE state = 'found'")
    assert (search["branch"], search["repository"]) == ("fork:main", "fork")
    assert f"r{SLOW}" not in measured(farm, "")
    assert not [row for row in verdicts(farm, "main") if row["state"] == "regression"]


def test_commands_name_the_repository(farm: ReplayFarm) -> None:
    done = farm.bisect("main~3", "main", "--repository", "fork", "--dry-run")
    assert done.returncode == 0, done.stderr
    same = farm.bisect("fork:main~3", "fork:main", "--dry-run")
    assert same.returncode == 0, same.stderr
    unknown = farm.bisect("main~3", "main", "--repository", "ports", "--dry-run")
    assert (unknown.returncode, "this farm has src, fork" in unknown.stderr) == (2, True)
    across = farm.bisect("main", "fork:main", "--dry-run")
    assert (across.returncode, "of two repositories" in across.stderr) == (2, True)
    lacking = farm.bisect(f"r{SLOW}", f"r{TIP}", "--dry-run")
    assert lacking.returncode == 2, "src has no such commit"


def reconfigured(farm: ReplayFarm, text: str, told: str = "configuration update complete") -> None:
    """Write bench.yml and say so, as an editor and `buildbot reconfig` do."""
    farm.local.plan.workflow.write_text(text)
    farm.reread(told)


def without_fork(farm: ReplayFarm) -> str:
    text = farm.local.plan.workflow.read_text()
    (line,) = (line for line in text.splitlines(keepends=True) if line.startswith("  fork: "))
    job = BUILDS_FORK.partition("  bench:")[0]
    for cut in (line, job, ", fork-kernel"):
        assert cut in text
        text = text.replace(cut, "")
    return text


def pages(farm: ReplayFarm, search_id: int) -> dict[str, bytes]:
    """What is shown of what the fork measured."""
    paths = (
        *(f"{API}/searches/{search_id}{part}" for part in ("", "/probes", "/strip", "/commits/1")),
        f"{API}/samples/replay/forwarding/csv?branch=fork:main",
        "plugins/bench/history/replay/forwarding?branch=fork:main",
        *(f"{API}/{path}" for path in ("searches", "reports", "verdicts", "incidents")),
    )
    found = {}
    for path in paths:
        answer = httpx.get(f"{farm.url}{path}", **ASKED)
        assert answer.status_code == 200, (path, answer.text)
        found[path] = answer.content
    return found


def test_a_repository_goes_and_comes_back(farm: ReplayFarm) -> None:
    """By a reconfiguration while it is searched, then through a restart without it."""
    found = farm.value("SELECT id FROM bench_search WHERE state = 'found'")
    both = farm.local.plan.workflow.read_text()
    alone = without_fork(farm)
    # The verdict on the culprit's push, which had waited for the search, adds boots and a mark.
    farm.wait(lambda: farm.value(CONFIRMED), "the end of measuring", PATIENCE_S)
    before = pages(farm, found)
    known = measured(farm, "fork")
    farm.let_blasts_last(200)
    farm.history.publish(fork_of(farm), f"r{LAST}")
    farm.wait(lambda: farm.value(BLASTING), "a boot of the fork")
    running = farm.begin_search(f"fork:r{TIP}", f"fork:r{LAST}")

    reconfigured(farm, alone)
    farm.let_blasts_last(0)
    assert farm.wait_for_search(running)["state"] == "cancelled"
    followed = farm.bisect("--follow", str(running))
    assert (followed.returncode, GONE in " ".join(followed.stdout.lower().split())) == (3, True)
    farm.wait(lambda: farm.value(WAITING) == 0, "the end of all requests")
    told_again(farm, found, before)
    refused = farm.bisect("fork:main~3", "fork:main", "--dry-run")
    assert (refused.returncode, "there is no repository 'fork'" in refused.stderr) == (2, True)

    farm.terminate("master")
    farm.resume("master")
    told_again(farm, found, before)
    farm.history.publish(farm.source, f"r{FIRST + 2}")
    farm.wait(lambda: f"r{FIRST + 2}" in measured(farm, ""), "a push to src", PATIENCE_S)
    assert measured(farm, "fork") == known

    src = f"  src: {{url: {farm.source}}}\n"
    fork = both.partition(src)[2].splitlines(keepends=True)[0]
    swapped = both.replace(src + fork, fork + src)
    assert swapped != both
    reconfigured(farm, swapped, "fork cannot be the first repository")
    assert measured(farm, "") == sorted({*measured(farm, ""), f"r{FIRST + 2}"})

    reconfigured(farm, both)
    again = farm.begin_search(f"fork:r{BEFORE}", f"fork:r{SLOW}")
    assert farm.wait_for_search(again)["state"] == "found"
    log = (farm.directory / "master.log").read_text()
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


def told_again(farm: ReplayFarm, search_id: int, before: dict[str, bytes]) -> None:
    """What was measured of the fork is shown as it was, and listed with why it ends."""
    now = farm.wait(lambda: pages(farm, search_id), "its pages")
    assert now.keys() == before.keys()
    assert (
        now["plugins/bench/history/replay/forwarding?branch=fork:main"]
        == (before["plugins/bench/history/replay/forwarding?branch=fork:main"])
    )
    (listed,) = (one for one in farm.get("series")["views"] if one["branch"] == "fork:main")
    assert listed["gone"] == GONE
