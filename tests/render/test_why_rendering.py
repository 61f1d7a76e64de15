"""Why it is slower, as a reader is told it: in text, HTML and Markdown."""

from __future__ import annotations

import pytest

from buildbot_bench.core.report import display_width
from buildbot_bench.render.html import report_html
from buildbot_bench.render.layout import WIDTH
from buildbot_bench.render.markdown import report_markdown
from buildbot_bench.render.text import report_text
from tests.fakes import reports

RENDERED = {"txt": report_text, "html": report_html, "md": report_markdown}


@pytest.mark.parametrize("kind", RENDERED)
def test_report_with_captures_reads_as_agreed(kind, data, golden):
    golden(f"mail/profiled.{kind}", RENDERED[kind](reports.profiled(data)))


@pytest.mark.parametrize("kind", RENDERED)
def test_captures_that_could_not_be_had_are_told_with_the_reason(kind):
    said = " ".join(RENDERED[kind](reports.unprofiled()).split())
    assert "here the cycles went is not known: " in said
    assert "r311848: 94.3% of 224953 samples are idle" in said


@pytest.mark.parametrize("kind", RENDERED)
def test_a_farm_that_takes_no_captures_says_nothing_of_them(kind):
    said = RENDERED[kind](reports.proven())
    assert "Why" not in said
    assert "cycles" not in said


def test_text_fits_a_terminal_but_for_links(data):
    for line in report_text(reports.profiled(data)).splitlines():
        assert display_width(line) <= WIDTH or "://" in line, line
    assert "\n\n\n" not in report_text(reports.profiled(data))
