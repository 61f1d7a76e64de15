"""The page that explains the words of mails, and the link to it in each mail of a farm."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from buildbot_bench.render.environment import PAGE, glossary_url
from buildbot_bench.render.html import glossary_html, report_html, report_markdown
from buildbot_bench.render.message import report_text
from tests.fakes import reports

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "mail"
TEXT = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
FARM = "https://bench.example.org/"
FARMS_MAILS = sorted(
    path for path in GOLDEN.glob("*.txt") if not path.stem.startswith(("command-local", "hostile"))
)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (f"{FARM}#/bench/searches/7", f"{FARM}{PAGE}"),
        (f"{FARM}#/bench", f"{FARM}{PAGE}"),
        ("https://example.org/farm/#/bench/lab", f"https://example.org/farm/{PAGE}"),
        ("https://example.org/", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_glossary_lies_beneath_the_address_of_the_farms_pages(page, told):
    assert glossary_url(page) == told


@pytest.mark.parametrize("mail", FARMS_MAILS, ids=lambda path: path.stem)
def test_each_mail_of_a_farm_links_to_the_glossary_once(mail):
    line = f"What the words mean: {FARM}{PAGE}"
    assert mail.read_text(encoding="utf-8").count(line) == 1
    page = mail.with_suffix(".html")
    if page.exists():
        assert re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")).count(line) == 1


@pytest.mark.parametrize("render", [report_text, report_html, report_markdown])
def test_a_report_without_a_page_links_to_no_glossary(render):
    setting = replace(reports.SETTING, url=None)
    assert "What the words mean" not in render(replace(reports.not_reproduced(), setting=setting))


def test_the_page_has_each_term_once_and_loads_nothing():
    page = glossary_html()
    terms = re.findall(r"^\* \*\*(.+?)\*\*:", TEXT, re.MULTILINE)
    assert len(terms) > 40
    assert len(set(terms)) == len(terms)
    assert all(f"<strong>{term}</strong>" in page for term in terms)
    assert "<script" not in page
    assert "src=" not in page


@pytest.mark.parametrize("check", [check.name for check in reports.proven().checks])
def test_each_check_of_a_report_is_explained(check):
    assert f"**{check}**" in TEXT


def test_html_within_the_text_is_escaped():
    rendered = MarkdownIt("commonmark", {"html": False}).render("a <script>alert(1)</script>")
    assert "<script" not in rendered
