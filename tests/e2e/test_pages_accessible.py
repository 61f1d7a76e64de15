"""Each page, wide and narrow, light and dark, by WCAG 2.1 AA: what a program can find of it.

In Chromium, and dark in Firefox, too.

The pictures of each lie in this test's own folder, or in BENCH_SCREENSHOTS.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from buildbot_bench.demo.farm import USER
from tests.asking import ASKED
from tests.axe import violations
from tests.chromium import Page
from tests.contracts.subject import post
from tests.e2e.browsing import CLIPPED, OVERHANG, SIZES, log_in, log_out, show
from tests.e2e.hostile_farm import HARMED, NEW, OLD, hostile_history, hostile_shape
from tests.e2e.replay_farm import ReplayFarm
from tests.firefox import FIREFOX, FirefoxPage, firefox

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(900)]

# A megabyte of one word in a commit's message, and what a mail server or a terminal would obey.
LONG = "x" * 1_000_000 + "\n.\n\x1b[31mred\x1b[0m\n"
# Each page, and what shows that it is drawn.
PAGES = {
    "": ".bench table",
    "history": ".bench .chart",
    "history/replay/forwarding": ".bench .chart",
    "reports": ".bench table",
    "calibration": ".bench table",
    "lab": ".bench h1",
    "searches/1": ".state.found",
    "comparisons/1": ".state.done",
    f"commits/r{OLD + 1}": ".bench .series pre",
}


@pytest.fixture(scope="module")
def farm(farms, data: Path, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """A farm that found a culprit and compared two variants, for commits that mean harm."""
    history = hostile_history(tmp_path_factory.mktemp("hostile") / "src", more=LONG)
    farm = farms(hostile_shape(tmp_path_factory.mktemp("captures"), data), history)
    compared = {"variants": [f"r{OLD}", f"r{OLD + 1}"], "iterations": 3}
    searched = {"old": f"r{OLD}", "new": f"r{NEW}", "workload": "forwarding"}
    farm.wait_for_mirror()
    with httpx.Client(base_url=farm.url, **ASKED) as client:
        client.get("/auth/login", auth=(USER, farm.local.plan.password_file.read_text().strip()))
        for resource, asked in (("comparisons", compared), ("searches", searched)):
            answer = post(client, f"/api/v2/bench/{resource}", "start", asked)
            assert answer.status_code == 200, answer.text
    for table in ("bench_ab_test", "bench_search"):
        ended = f"SELECT ended_at FROM {table} WHERE id = 1"
        farm.wait(lambda: farm.value(ended), f"{table} ends", deadline_s=600)  # noqa: B023 - now
    return farm


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go."""
    return Path(os.environ.get("BENCH_SCREENSHOTS") or tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_wide_and_narrow_in_light_and_dark(
    page: Page, farm: ReplayFarm, pictures: Path, path: str
) -> None:
    found: dict[str, list[str]] = {}
    log_in(page, farm)  # with all the forms and buttons that a member has
    for width in SIZES:
        page.resize(width)
        show(page, farm, path, f"document.querySelector({PAGES[path]!r})")
        for theme in ("light", "dark"):
            page.dark(on=theme == "dark")
            name = f"{path.replace('/', '-') or 'overview'}-{theme}-{width}"
            found[name] = [
                *violations(page, ".bench"),
                *page.run(OVERHANG),
                *page.run(CLIPPED),
            ]
            assert page.run("document.documentElement.scrollWidth") <= width
            page.screenshot(pictures / f"{name}.png", width=width, height=1300)
    page.dark(on=False)
    page.resize()
    log_out(page)
    assert not page.run(HARMED)
    assert {name: what for name, what in found.items() if what} == {}


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirefoxPage]:
    """A tab of a Firefox whose reader prefers it dark."""
    with firefox(tmp_path_factory.mktemp("fox"), dark=True) as tab:
        yield tab


@pytest.mark.skipif(FIREFOX is None, reason="there is no firefox on the PATH")
def test_each_page_is_accessible_in_a_dark_firefox(
    fox: FirefoxPage, farm: ReplayFarm, pictures: Path
) -> None:
    log_in(fox, farm)
    found: dict[str, list[str]] = {}
    for path, drawn in PAGES.items():
        for width in SIZES:
            fox.resize(width)
            show(fox, farm, path, f"document.querySelector({drawn!r})")
            name = f"firefox-{path.replace('/', '-') or 'overview'}-{width}"
            found[name] = [*violations(fox, ".bench"), *fox.run(OVERHANG), *fox.run(CLIPPED)]
            assert fox.run("document.documentElement.scrollWidth") <= width
            fox.screenshot(pictures / f"{name}.png", width=width, height=1300)
    assert {name: what for name, what in found.items() if what} == {}
    assert fox.complaints == []


@pytest.mark.skipif(FIREFOX is None, reason="there is no firefox on the PATH")
def test_two_points_are_chosen_by_keys_alone_in_firefox(fox: FirefoxPage, farm: ReplayFarm) -> None:
    log_in(fox, farm)
    show(fox, farm, "history/replay/forwarding", "document.querySelector('.canvas[data-drawn]')")
    fox.run("document.querySelector('.bench .chart').focus()")
    fox.press("Home", "Enter", "End", "Enter")
    fox.wait("document.querySelectorAll('.chosen .pair b').length === 2")
    button = "document.querySelector('.chosen button.main')"
    fox.wait(f"{button} && !{button}.disabled")
    for _ in range(20):
        if fox.run(f"document.activeElement === {button}"):
            break
        fox.press("Tab")
    assert fox.run(f"document.activeElement === {button}")
