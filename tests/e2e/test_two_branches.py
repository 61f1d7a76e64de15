"""A farm of two branches: each judged by its own history, what they share measured once."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.demo.farm import USER
from tests.chromium import Page, chromium
from tests.e2e.browsing import choose, keep, show
from tests.e2e.replay_farm import History, ReplayFarm, Shape
from tests.gitrepo import Commit, add_commits, git, make_repository
from tests.running import ran

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

# What was recorded: r312905 and what follows it count 583 kpps, r313448 an eighth less.
FORK, SLOWER = 312906, 313448
BRANCH = "stable/12"


def kernels(*numbers: int) -> list[Commit]:
    """Commits whose kernels the replayed testbed knows by their names."""
    return [
        Commit(files={"kernel": f"r{n}\n", f"sys/{n}.c": "\n"}, subject=f"Change {n}", svn=n)
        for n in numbers
    ]


class Published(History):
    """A repository of two branches, which is pushed as it is."""

    def publish(self, target: Path, label: str) -> None:
        del label
        shutil.copytree(self.path, target)


@pytest.fixture(scope="module")
def farm(farms: Callable[..., ReplayFarm], tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    source = tmp_path_factory.mktemp("branches") / "src"
    main = make_repository(source, kernels(FORK - 1, FORK))
    history = Published(path=source, shas={f"r{FORK - 1}": main[0], f"r{FORK}": main[1]})

    def watch_both(farm: ReplayFarm) -> None:
        path = farm.local.plan.workflow
        text = path.read_text().replace("branches: [main]", "branches: [main, 'stable/*']")
        path.write_text(text)

    return farms(Shape(poll_s=1.0, iterations=3), history, watch_both)


def measured(farm: ReplayFarm) -> dict[tuple[str, str], int]:
    """How many boots there were of each commit, by branch and label."""
    rows = farm.rows(
        "SELECT bench_image.branch, label, count(*) AS boots FROM bench_iteration"
        " JOIN bench_image ON bench_image.id = image_id GROUP BY bench_image.branch, label"
    )
    return {(row["branch"], row["label"]): row["boots"] for row in rows}


def test_a_branch_point_is_compared_with_the_trunk_and_named_by_commands(farm: ReplayFarm) -> None:
    farm.wait(lambda: measured(farm).get(("main", f"r{FORK}")), "the trunk's tip is measured")
    tip = git(farm.source, "rev-parse", "main")
    add_commits(farm.source, kernels(SLOWER), branch=BRANCH, on=tip)
    add_commits(farm.source, [*kernels(FORK + 1), Commit(files={"README": "x"})], branch="main")
    judged = farm.wait(
        lambda: farm.rows(f"SELECT * FROM bench_judgement WHERE branch = '{BRANCH}'"),
        "the branch's first commit is judged",
    )
    assert [(row["old_sha"], row["new_position"]) for row in judged] == [(tip, 3)]
    assert ("main", f"r{SLOWER}") not in measured(farm)
    assert {name for name, label in measured(farm) if label == f"r{FORK}"} == {"main"}
    branches = {row["branch"] for row in farm.get("series")["views"]}
    assert branches == {"main", BRANCH}
    of_branch = farm.get(f"judgements?branch={BRANCH}")["judgements"]
    assert {row["new_sha"] for row in of_branch} == {judged[0]["new_sha"]}

    forecast = farm.bisect("main~2", f"{BRANCH}", "--dry-run")
    assert forecast.returncode == 0, forecast.stderr
    across = farm.bisect(BRANCH, "main", "--dry-run")
    assert across.returncode == 2
    assert f"r{SLOWER} is on {BRANCH}" in across.stderr
    assert f"the branches part at r{FORK}: search r{FORK} to r{SLOWER} on {BRANCH}" in across.stderr
    both = farm.bisect("n3", f"{BRANCH}", "--dry-run")
    assert (both.returncode, "main-n3 or stable/12-n3" in both.stderr) == (2, True)


@pytest.mark.browser
def test_history_has_a_choice_of_the_branch(farm: ReplayFarm, tmp_path: Path) -> None:
    with chromium(tmp_path) as new_tab:
        page = new_tab()
        show(page, farm, "history", _DRAWN)
        keep(page, "history-main")
        assert f"r{SLOWER}" not in walked(page)
        choose(page, "branch", BRANCH)
        page.wait(f"{_DRAWN} && location.hash.endsWith('?branch=stable%2F12')")
        page.wait("document.querySelector('.series h2 a').href.includes('stable')")
        there = walked(page)
        assert {f"r{FORK}", f"r{SLOWER}"} <= set(there)
        assert f"r{FORK + 1}" not in there
        keep(page, "history-stable")
        assert page.run("location.hash").endswith("?branch=stable%2F12")
        page.run("document.querySelector('.series h2 a').click()")
        page.wait("document.querySelector('h1').textContent === 'replay · forwarding'")
        page.wait(_DRAWN)
        assert f"r{SLOWER}" in walked(page)
        assert page.complaints == []


_CHART = "document.querySelector('.chart')"
_DRAWN = "document.querySelector('.canvas[data-drawn]')"


def walked(page: Page) -> list[str]:
    """The labels of a chart's revisions, by walking along them with the arrow keys."""
    page.run(f"{_CHART}.focus()")
    page.press("Home")
    page.wait(f"{_CHART}.ariaValueText.includes(':')")
    found: list[str] = []
    while (label := page.run(f"{_CHART}.ariaValueText").partition(":")[0]) not in found:
        found.append(label)
        page.press("ArrowRight")
    return found


def test_a_comparison_takes_names_of_branches(farm: ReplayFarm) -> None:
    login = ["--user", USER, "--password-file", str(farm.local.plan.password_file)]
    command = [sys.executable, "-m", "buildbot_bench.cli.compare", "--farm", farm.url, *login]
    done = ran([*command, f"{BRANCH}~1", f"{BRANCH}-r{SLOWER}", "-n", "3", "--json"], timeout=300)
    assert done.returncode == 0, done.stderr
    (comparison,) = json.loads(done.stdout)["series"]
    (change,) = comparison["changes"]
    assert change["effect"] == pytest.approx(-0.13, abs=0.03)
    built = farm.rows("SELECT label, branch FROM bench_image WHERE ordinal = 0 ORDER BY label")
    assert {"label": f"r{FORK}", "branch": "main"} in built
    assert {"label": f"r{SLOWER}", "branch": BRANCH} in built
