"""The digest of improvements: everything once, nobody accused, strangers' text harmless."""

from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.legible import display_width
from buildbot_bench.core.links import Links
from buildbot_bench.render.layout import WIDTH
from buildbot_bench.render.message import DigestReport, notice_html, notice_letter, notice_text
from buildbot_bench.render.mime import Envelope, write_message
from tests.fakes import reports

ENVELOPE = Envelope(
    sender="Buildbot Bench <bench@example.org>",
    recipients=["net@example.org"],
    reply_to="keeper@example.org",
    message_id="<bench.digest.3.1795220184@example.org>",
    date=datetime(2026, 11, 21, 0, 16, 24, tzinfo=UTC),
)


def digest(*found):
    return DigestReport(reports=found)


def composed(*found):
    return write_message(notice_letter(digest(*found)), ENVELOPE)


BOTH = (reports.improvement(), reports.hostile_improvement())


def test_digest_reads_as_agreed(golden):
    golden("mail/digest.txt", notice_text(digest(*BOTH)))
    golden("mail/digest.html", notice_html(digest(*BOTH)))
    content = composed(*BOTH).as_bytes()
    golden("mail/digest.eml", content.decode("ascii").replace("\r\n", "\n"))


def test_digest_names_the_branch_of_one_of_several():
    report = reports.of_branch()
    first = "stable/14: r311849 (a1b2c3d4e6): forwarding -25.6 % on apu2 [99 % sure]"
    mail = composed(report)
    assert mail["Subject"] == f"[bench] 1 improvement: {first}"
    told = " ".join(notice_text(digest(report)).split())
    assert "On branch stable/14, r311849 made forwarding on apu2" in told


def test_digest_counts_its_improvements_in_its_subject():
    first = "r311849 (a1b2c3d4e6): forwarding +23.3 % on apu2 [99 % sure]"
    assert composed(*BOTH[:1])["Subject"] == f"[bench] 1 improvement: {first}"
    mail = message_from_bytes(composed(*BOTH).as_bytes(), policy=policy.default)
    assert mail["Subject"] == f"[bench] 2 improvements: {first} and 1 more"


def test_digest_belongs_to_no_incident():
    assert "References" not in composed(*BOTH)


@pytest.mark.parametrize("report", BOTH)
def test_digest_fits_a_terminal_but_for_addresses(report):
    page = report.setting.links.commit(report.headline.new.sha)
    for line in notice_text(digest(report)).splitlines():
        assert display_width(line) <= WIDTH or report.setting.url in line or page in line, line


def test_no_stranger_writes_html_into_the_digest():
    html = notice_html(digest(*BOTH))
    assert "<script" not in html
    assert "{{ 7 * 7 }}" in html


WITH_UNDECIDED = (*BOTH, reports.inconclusive(), reports.slope())


def test_digest_tells_what_was_left_undecided(golden):
    golden("mail/digest-undecided.txt", notice_text(digest(*WITH_UNDECIDED)))
    golden("mail/digest-undecided.html", notice_html(digest(*WITH_UNDECIDED)))


def test_a_digest_of_undecided_searches_alone_says_so():
    subject = composed(reports.inconclusive())["Subject"]
    assert subject == "[bench] 1 improvement: no culprit yet"
    assert "found no improvement" in notice_text(digest(reports.inconclusive()))
    for line in notice_text(digest(*WITH_UNDECIDED[2:])).splitlines():
        assert display_width(line) <= WIDTH or "http" in line, line


def test_the_digest_links_each_commit_and_its_search():
    report = reports.improvement()
    (culprit,) = report.headline.suspects
    page = report.setting.links.commit(culprit.sha)
    assert page in notice_text(digest(report))
    html = notice_html(digest(report))
    for address in (page, report.setting.links.diff(culprit.sha), report.setting.url):
        assert f'href="{address}"' in html.replace("&amp;", "&")


def test_no_stranger_makes_an_address_of_the_digest():
    hostile = replace(reports.SETTING, links=Links(commit_url="javascript:alert('{commit}')"))
    report = replace(reports.improvement(), setting=replace(hostile, url="javascript:alert(1)"))
    assert "href" not in notice_html(digest(report))
