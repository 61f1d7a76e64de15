"""The mail of a breakage, its page, and the mail of its end: one model, commits with links."""

import pytest

from buildbot_bench.core.links import Links
from buildbot_bench.render.message import (
    breakage_fragment,
    notice_html,
    notice_text,
)
from tests.fakes import breakages, labs

COMMIT = breakages.LINKS.commit(breakages.panic().broken.sha)
HOSTILE_LINKS = Links(commit_url="javascript:alert('{commit}')")


def test_a_breakage_reads_as_agreed(golden):
    golden("mail/breakage.txt", notice_text(breakages.panic()))
    golden("mail/breakage.html", notice_html(breakages.panic()))
    golden("mail/breakage-several.txt", notice_text(breakages.several()))
    golden("mail/breakage-several.html", notice_html(breakages.several()))


def test_the_end_of_a_breakage_reads_as_agreed(golden):
    golden("mail/recovery.txt", notice_text(breakages.over()))
    golden("mail/recovery.html", notice_html(breakages.over()))


@pytest.mark.parametrize("render", [notice_text, notice_html])
@pytest.mark.parametrize("report", [breakages.panic(), breakages.several()])
def test_each_suspect_has_the_address_of_its_commit(render, report):
    text = render(report).replace("&amp;", "&")
    for suspect in report.suspects:
        assert report.links.commit(suspect.sha) in text


def test_the_mail_of_the_end_has_the_address_of_the_commit_that_mended_it():
    report = breakages.over()
    for text in (notice_text(report), notice_html(report)):
        assert report.links.commit(report.new.sha) in text


def test_the_page_has_what_the_mail_has_and_sections_that_open():
    parts = breakage_fragment(breakages.panic())
    assert f'<a href="{COMMIT}">commit</a>' in parts["card"]
    assert '<a href="https://reviews.freebsd.org/D8526">review D8526</a>' in parts["card"]
    assert "panic: page fault" in parts["sections"]
    assert parts["sections"].count("<details") == 3
    assert "<details" not in notice_html(breakages.panic())


def test_no_stranger_writes_html_or_addresses():
    hostile = dict.fromkeys(("farm", "workload", "reason", "console", "operator"), labs.HOSTILE)
    report = breakages.panic(**hostile, links=HOSTILE_LINKS, url="javascript:alert(1)", reviews=())
    parts = breakage_fragment(report)
    for html in (parts["card"], parts["sections"], notice_html(report)):
        assert "<script" not in html
        assert "href" not in html
    assert "href" not in notice_html(
        breakages.over(links=HOSTILE_LINKS, url="javascript:alert(1)", found=labs.HOSTILE)
    )
