"""How a report reads, as text and as HTML; the golden files are the mails' two parts."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.legible import display_width
from buildbot_bench.core.links import Links
from buildbot_bench.core.report import words
from buildbot_bench.core.report.context import Opinion, TrackRecord
from buildbot_bench.core.report.model import ProbeRecord
from buildbot_bench.core.report.words import duration
from buildbot_bench.render.environment import environment, glossary_url
from buildbot_bench.render.html import pictures_of, report_fragment, report_html
from buildbot_bench.render.layout import WIDTH, moment, wrap
from buildbot_bench.render.message import report_text
from buildbot_bench.render.mime import Picture
from tests.fakes import reports

MADE = {
    "culprit": reports.iflib,
    "branch": reports.of_branch,
    "proven": reports.proven,
    "suspects": reports.broken_range,
    "hostile": reports.hostile,
    "not-reproduced": reports.not_reproduced,
    "slope": reports.slope,
    "inconclusive": reports.inconclusive,
}
VOID = {"meta", "br", "hr", "img"}


class Outline(HTMLParser):
    """The tags of a document with their attributes, whether they nest, and its visible text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.links: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", MADE)
def test_text_reads_as_agreed(name, golden):
    golden(f"mail/{name}.txt", report_text(MADE[name]()))


@pytest.mark.parametrize("name", MADE)
def test_html_reads_as_agreed(name, golden):
    golden(f"mail/{name}.html", report_html(MADE[name]()))


@pytest.mark.parametrize("name", MADE)
def test_text_fits_a_terminal_but_for_what_must_be_copied_whole(name):
    report = MADE[name]()
    copied = (*report.reproduce, report.setting.url, "https://cgit.freebsd.org/src/")
    for line in report_text(report).splitlines():
        assert display_width(line) <= WIDTH or any(whole in line for whole in copied), line


@pytest.mark.parametrize("name", MADE)
def test_text_has_neither_trailing_blanks_nor_two_empty_lines_together(name):
    text = report_text(MADE[name]())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == ["-- "]


@pytest.mark.parametrize("name", MADE)
def test_html_has_no_tag_attribute_or_script_of_a_stranger(name):
    outline = Outline(report_html(MADE[name]()))
    assert outline.open == []
    assert outline.tags <= {
        *VOID,
        *(
            "html",
            "head",
            "title",
            "style",
            "body",
            "p",
            "b",
            "i",
            "h3",
            "h4",
            "ul",
            "li",
            "pre",
            "code",
            "a",
        ),
        "div",
        *("table", "tr", "th", "td", "bdi"),
    }
    assert outline.attributes <= {"lang", "charset", "name", "content", "class", "href"}
    assert all(link.startswith("https://") for link in outline.links)


@pytest.mark.parametrize("name", MADE)
def test_html_says_all_that_the_text_says(name):
    report = MADE[name]()
    shown = " ".join(Outline(report_html(report)).text.split())
    for sentence in (*report.summary, *report.reproduce, report.setting.farm):
        assert " ".join(sentence.split()) in shown
    for step in report.steps:
        assert all(suspect.subject in shown for suspect in step.suspects)
        assert " ".join(step.contrast.ministat.split()) in shown
    for probe in report.probes:
        assert (probe.failure or "") in shown
    assert report.disclaimer in shown
    assert all(check.detail in shown for check in report.checks)
    assert all(fact.new in shown and fact.old in shown for fact in report.setup)
    assert all(f"{one.digest}" in shown for one in report.artefacts)
    for row in report.scope:
        assert f"{row.testbed} {row.workload} {words.extent(row)}".strip() in shown


@given(st.text(), st.text())
def test_no_text_of_a_stranger_becomes_markup(subject, author):
    report, harmless = (
        reports.of_one_step(reports.history(1, _1={"subject": subject, "author": author}))
        for subject, author in ((subject, author), ("-", "-"))
    )
    hostile, tame = Outline(report_html(report)), Outline(report_html(harmless))
    assert (hostile.tags, hostile.attributes) == (tame.tags, tame.attributes)
    lines = [line for line in report_text(report).splitlines() if "https://" not in line]
    assert max(map(display_width, lines)) <= WIDTH


def test_a_picture_is_the_only_thing_that_html_shows_besides_text():
    picture = Picture(name="boots.png", png=b"", alternative='"><script>')
    outline = Outline(report_html(reports.iflib(), [picture]))
    assert {"img"} == outline.tags - Outline(report_html(reports.iflib())).tags
    assert {"src", "alt"} == outline.attributes - Outline(report_html(reports.iflib())).attributes


def test_templates_are_not_run_on_what_strangers_wrote():
    assert "{{ 7 * 7 }}" in report_text(reports.hostile())
    assert "{{ 7 * 7 }}" in report_html(reports.hostile())


def test_whatever_is_not_plain_text_is_escaped():
    autoescape = environment().autoescape
    assert [autoescape(name) for name in ("a.html", "a.svg", "a", None, "a.txt")] == [True] * 4 + [
        False
    ]


def test_a_failed_probe_stands_in_the_log_with_its_reason():
    log = report_text(reports.broken_range()).partition("Log of the probes:")[2]
    assert "     13  r311850       0      -  2017-01-15 17:15:33  38 s\n" in log
    assert "         kernel does not build: if_em.c:42: error: expected ';'\n" in log


def test_a_log_of_thousands_is_cut_and_says_where_the_rest_is():
    probe = ProbeRecord(serial=1, label="r311849", value=1.0, unit="pps")
    report = replace(reports.broken_range(), probes=(probe,) * 2000)
    text = report_text(report)
    assert text.count("1970-01-01") == 200
    assert "... and 1,800 more. To see all: bench-bisect --follow 7 --json" in text
    assert "… and 1,800 more" in report_html(report)


def test_a_report_without_log_page_and_operator_leaves_them_out():
    setting = replace(reports.SETTING, url=None, operator="")
    report = replace(reports.not_reproduced(), probes=(), setting=setting)
    text = report_text(report)
    assert "Log of the probes" not in text
    assert "Search 7 on the farm netlab\nA search may be wrong" in text
    assert "operator" not in report_html(report)


def test_what_somebody_said_and_how_often_the_farm_was_right_stand_at_the_end():
    opinion = Opinion(kind="fixed", author="ann", at_s=1.0, fixed_by="r313448")
    report = replace(reports.iflib(), opinion=opinion, record=TrackRecord(right=11, wrong=1))
    for written in (report_text(report), report_html(report)):
        told = " ".join(written.split())
        assert "ann marked it as fixed by r313448." in told
        assert "People reviewed 12 reports of this farm: 11 were right (92 %" in told


def test_the_log_tells_how_many_suspects_were_left_where_that_is_known():
    log = report_text(reports.iflib()).partition("Log of the probes:")[2]
    assert "took   left\n" in log
    assert "  6  r311849       0  465,402  2017-01-15 17:10:46  38 s    544\n" in log
    assert "left" not in report_text(reports.not_reproduced()).partition("Log of the probes:")[2]


def test_what_differs_between_the_sides_is_marked_in_the_setup():
    text = report_text(reports.broken_range())
    assert "Setup (! marks a difference between before and after):\n" in text
    assert re.search(r"\n! firmware +before: 1\.16\.3\n +after: +1\.17\.0\n", text)


@given(st.text(), st.integers(20, 100))
def test_wrapped_lines_fit_and_lose_no_word(text, width):
    wrapped = wrap(text, first="  a: ", width=width)
    assert all(display_width(line) <= width for line in wrapped.split("\n"))
    assert "".join(wrapped.split()) == "a:" + "".join(text.split())


def test_wide_characters_are_wrapped_by_columns():
    assert wrap("日本語 日本語", first="> ", width=9) == "> 日本語\n  日本語"


@pytest.mark.parametrize(
    ("duration_s", "told"),
    [(0.04, "0.0 s"), (3.21, "3.2 s"), (41.4, "41 s"), (720, "12 min"), (9000, "2.5 h")],
)
def test_durations_are_told_as_a_person_would(duration_s, told):
    assert duration(duration_s) == told


def test_moments_are_in_utc():
    assert moment(1_484_000_600) == "2017-01-09 22:23:20"


def test_a_report_links_its_commit_its_diff_its_review_and_its_page():
    report = reports.proven()
    (culprit,) = report.headline.suspects
    links = report.setting.links
    page = [links.commit(culprit.sha), links.diff(culprit.sha), links.review("D8526")]
    assert Outline(report_html(report)).links == [
        *page,
        report.setting.url,
        glossary_url(report.setting.url),
    ]
    assert all(address in report_text(report) for address in (page[0], page[2]))


def test_an_address_that_is_none_of_the_web_is_no_link():
    hostile = Links(commit_url="javascript:alert('{commit}')")
    setting = replace(reports.SETTING, links=hostile, url="javascript:alert(1)")
    assert Outline(report_html(reports.iflib(setting))).links == []


@pytest.mark.parametrize("name", MADE)
def test_a_page_says_what_the_mail_says_in_a_card_and_sections_that_open(name):
    report = MADE[name]()
    parts = report_fragment(report)
    page, mail = Outline(parts["card"] + parts["sections"]), Outline(report_html(report))
    assert page.open == []
    assert page.tags - mail.tags <= {"details", "summary", "dl", "dt", "dd", "img", "div"}
    assert page.attributes - mail.attributes <= {"open", "src", "alt", "class"}
    said = " ".join(page.text.split())
    for sentence in (*report.summary, *report.reproduce, report.disclaimer):
        assert " ".join(sentence.split()) in said
    whole = parts["card"] + parts["sections"]
    assert whole.count('src="data:image/png;base64,') == len(pictures_of(report))
    assert "<script" not in whole
