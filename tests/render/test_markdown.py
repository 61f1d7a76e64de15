"""The report as a comment: the same content, and nothing in it that a site takes for its own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.legible import one_line
from buildbot_bench.render.environment import cell, code, fence, link, prose
from buildbot_bench.render.html import report_markdown
from tests.fakes import reports

MADE = {
    "culprit": reports.iflib,
    "suspects": reports.broken_range,
    "hostile": reports.hostile,
    "not-reproduced": reports.not_reproduced,
    "slope": reports.slope,
}
FENCED = re.compile(r"^(`{3,})\n.*?\n\1$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`[^`\n]*`")


def outside_of_code(markdown: str) -> str:
    return SPAN.sub("", FENCED.sub("", markdown))


@pytest.mark.parametrize("name", MADE)
def test_comment_reads_as_agreed(name, golden):
    golden(f"mail/{name}.md", report_markdown(MADE[name]()))


@pytest.mark.parametrize("name", MADE)
def test_comment_has_neither_two_empty_lines_together_nor_a_line_of_blanks(name):
    text = report_markdown(MADE[name]())
    assert text.endswith(".\n")
    assert "\n\n\n" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_comment_says_what_the_mail_says():
    report = reports.iflib()
    text = report_markdown(report)
    assert all(sentence in text for sentence in report.summary)
    assert report.disclaimer in text
    assert report.headline.contrast.ministat in text
    assert all(check.detail in text for check in report.checks)
    assert all(command in text for command in report.reproduce)
    assert report.setting.url in text


def test_what_strangers_wrote_stands_in_code_alone():
    left = outside_of_code(report_markdown(reports.hostile()))
    for word in ("script", "everyone", "7 * 7", "quotes", "AAAA"):
        assert word not in left


@given(st.text(), st.text())
def test_no_text_of_a_stranger_leaves_its_code_span(subject, author):
    def shown(subject: str, author: str) -> str:
        suspects = reports.history(1, _1={"subject": subject, "author": author})
        return outside_of_code(report_markdown(reports.of_one_step(suspects)))

    assert shown(subject, author) == shown("-", "-")


@given(st.text())
def test_a_code_span_ends_where_it_was_meant_to(text):
    assert SPAN.fullmatch(code(one_line(text)))
    assert "|" not in cell(one_line(text))


def test_sentences_stay_sentences_unless_they_hold_more_than_words():
    assert prose("It fell by 25.6% (-26% to -25%), since r311849.") == (
        "It fell by 25.6% (-26% to -25%), since r311849."
    )
    for text in ("@everyone", "see #12", "<b>", "![x](y)", "http://x", "`", "> x", "[a](b)"):
        assert prose(text).startswith("`")
    assert prose("p<0.001") == "p<0.001"


def test_only_a_web_address_becomes_a_link():
    assert link(reports.SETTING.url) == reports.SETTING.url
    for text in ("javascript:alert(1)", "https://x) ![y](z", "https://x @everyone"):
        assert link(text).startswith("`")


def test_a_block_that_holds_a_fence_gets_a_longer_one():
    assert fence("a\n```\nb") == "````\na\n```\nb\n````"
