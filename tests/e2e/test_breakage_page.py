"""The page of a breakage in a real headless Chromium: a card, sections that open, links."""

import json

import pytest

from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from tests.chromium import Page
from tests.e2e.browsing import NARROW, OVERHANG, keep, show, text, with_links
from tests.e2e.replay_farm import History, ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(600)]

OLD, NEW = 311848, 311858
HOSTILE = "<img src=x onerror=window.harmed=1>\u202e\x1b[31m"
ANSWER = {"ending": "broken", "old": 4, "new": 5, "before": None, "detail": "proved", "hidden": []}
SEARCH = (
    "INSERT INTO bench_search (branch, testbed, workload, unit, old_sha, old_position, new_sha,"
    " new_position, min_effect, error, reason, requester, state, created_at, ended_at, version,"
    " kind, breakage, priority, repository) VALUES ('main', 'replay', 'forwarding', 'pps',"
    " '{old}', 1, '{new}', 11, .02, .01, 'alarm', '', 'found', 1, 2, 0, 'boot', '{breakage}',"
    " 'normal', '')"
)


@pytest.fixture(scope="module")
def farm(farms, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """A farm that found out which commit does not boot; the commit means harm."""
    path = tmp_path_factory.mktemp("broken") / "src"
    commits = [
        GeneratedCommit(
            svn=svn,
            author="mallory",
            message=f"{HOSTILE} {svn}\n",
            files={"kernel": f"r{svn}\n"},
        )
        for svn in range(OLD, NEW + 1)
    ]
    history = History(path=path, shas=write_history(path, commits))
    farm = farms(Shape(tip=f"r{NEW}", commits=False), history, with_links)
    farm.wait_for_mirror()
    breakage = json.dumps(ANSWER | {"reason": f"panic: {HOSTILE}"})
    shas = [history.shas[f"r{svn}"] for svn in (OLD, NEW)]
    farm.change(SEARCH.format(old=shas[0], new=shas[1], breakage=breakage))
    return farm


def test_a_breakage_is_a_card_and_sections_that_open(page: Page, farm: ReplayFarm) -> None:
    page.resize()
    show(page, farm, "searches/1", "document.querySelector('.report.sections details')")
    card = text(page, ".report.card")
    assert "r311853" in card
    assert "r311852" in card
    links = page.run("[...document.querySelectorAll('.report.card a')].map((a) => a.href)")
    sha = farm.history.shas["r311853"]
    assert links == [f"https://git.example.org/src/commit/?id={sha}"]
    assert "panic: <img" in text(page, ".report.sections")
    assert page.run("window.harmed") is None
    assert not page.run(
        "[...document.querySelectorAll('button')].some((b) => b.innerText === 'Bisect again')"
    )
    page.wait("document.querySelector('.strip .shift.worse text')")
    assert text(page, ".strip .shift text") == "r311853"
    assert "\u202e" not in text(page)
    for width in (1400, 700, NARROW):
        page.resize(width)
        page.run("document.querySelectorAll('.report details').forEach((one) => one.open = true)")
        assert page.run(OVERHANG) == []
        assert page.run("document.documentElement.scrollWidth") <= width
    page.resize()
    keep(page, "breakage")
    assert page.complaints == []
