"""A mail and a flame graph 400 pixels wide: what is wider scrolls, and no letter shrinks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chromium import Page, chromium
from tests.words import words

pytestmark = pytest.mark.browser

GOLDEN = Path(__file__).parents[1] / "golden"
NARROW = 400
WHOLE_MAILS = (
    "culprit",
    "profiled",
    "suspects",
    "hostile",
    "breakage",
    "digest",
    "recovery",
    "workload",
)
# Words of the wide tables that stand on more than one line.
BROKEN_WORDS = words(".scrolls :is(th, td)", "new Set(lines.map(({ top }) => top)).size > 1")
SMALLEST_LETTERS = """
Math.min(...[...document.querySelectorAll('text')].filter((text) => text.textContent.trim())
  .map((text) => text.getBoundingClientRect().height))"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as new_tab:
        page = new_tab()
        page.resize(NARROW)
        yield page


def show(page: Page, path: Path) -> None:
    page.open(path.as_uri())
    page.wait(f"location.href === {path.as_uri()!r} && document.readyState === 'complete'")


@pytest.mark.parametrize("name", ["culprit", "profiled", "suspects", "not-reproduced"])
def test_tables_of_a_mail_scroll_by_themselves_and_keep_their_words_whole(page, name):
    show(page, GOLDEN / "mail" / f"{name}.html")
    assert page.run("document.querySelectorAll('.scrolls table').length") > 0
    assert page.run(BROKEN_WORDS) == []


@pytest.mark.parametrize("name", WHOLE_MAILS)
def test_a_mail_is_no_wider_than_the_screen(page, name):
    show(page, GOLDEN / "mail" / f"{name}.html")
    assert page.run("document.documentElement.scrollWidth") <= NARROW


@pytest.mark.parametrize("name", ["one", "difference"])
def test_a_flame_graph_scrolls_instead_of_shrinking(page, name):
    show(page, GOLDEN / "flamegraph" / f"{name}.svg")
    assert page.run(SMALLEST_LETTERS) >= 10
    page.run("document.documentElement.scrollTo(9999, 0)")
    right = "document.querySelector('.box rect').getBoundingClientRect().right"
    assert page.run(right) <= NARROW
