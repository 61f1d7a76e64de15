"""Why it is slower, as a reader is told it: in text, HTML and Markdown."""

import re
from dataclasses import replace

import pytest

from buildbot_bench.core.legible import display_width
from buildbot_bench.core.report.why import FunctionCost
from buildbot_bench.render.html import report_html, report_markdown
from buildbot_bench.render.layout import WIDTH
from buildbot_bench.render.message import report_text
from tests.fakes import counted_report, reports

RENDERED = {"txt": report_text, "html": report_html, "md": report_markdown}


@pytest.mark.parametrize("kind", RENDERED)
def test_report_with_captures_reads_as_agreed(kind, data, golden):
    golden(f"mail/profiled.{kind}", RENDERED[kind](reports.profiled(data)))


@pytest.mark.parametrize("kind", RENDERED)
def test_what_is_counted_is_told_by_packet_and_sums_to_the_change(kind, golden):
    golden(f"mail/counted.{kind}", RENDERED[kind](counted_report.counted()))


@pytest.mark.parametrize("kind", RENDERED)
def test_every_form_has_functions_places_lines_and_the_sum(kind):
    said = RENDERED[kind](counted_report.counted())
    for told in ("in_cksumdata", "+74.00", "sys/netinet/in_cksum.c:108", "2 others", "3,597.00"):
        assert told in said
    assert "+94.00" in said
    assert "+   480  sum = in_cksum_hdr(ip);" in re.sub(r"<[^>]*>", "", said)
    assert (
        "/src/tree/sys/netinet/ip_fastfwd.c?id=a1b2c3d4e6000000000000000000000000000000#n480"
        in said
    )
    assert "ip_never_executed" not in said
    assert "not idle" not in said


@pytest.mark.parametrize("kind", RENDERED)
def test_captures_that_differ_from_what_was_measured_are_doubted(kind):
    report = counted_report.counted()
    table = replace(report.why.per_packet, note="The captures differ.")
    doubted = replace(report, why=replace(report.why, per_packet=table))
    assert "The captures differ." in RENDERED[kind](doubted)


@pytest.mark.parametrize("kind", RENDERED)
def test_lines_for_which_there_is_no_room_are_counted(kind):
    report = counted_report.counted()
    (place,) = report.why.places
    crowded = replace(report.why, places=(place, replace(place, lines=(), unshown=30)))
    assert "and 30 more lines" in RENDERED[kind](replace(report, why=crowded))


@pytest.mark.parametrize("kind", RENDERED)
def test_a_commit_that_meets_none_of_the_functions_is_said_to(kind):
    report = counted_report.counted()
    said = RENDERED[kind](replace(report, why=replace(report.why, places=())))
    assert "The commit changes none of the functions whose cost changed." in said


@pytest.mark.parametrize("kind", RENDERED)
def test_captures_that_could_not_be_had_are_told_with_the_reason(kind):
    said = " ".join(RENDERED[kind](reports.unprofiled()).split())
    assert "he cause is not known: " in said
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


def test_a_name_and_a_place_are_only_text_in_html_and_in_a_cell_of_markdown():
    report = counted_report.counted()
    evil = FunctionCost(name="<em>|`", place="<q>|`:1", old=1.0, new=2.0)
    table = replace(report.why.per_packet, functions=(evil,))
    report = replace(report, why=replace(report.why, per_packet=table))
    assert not re.search("<(em|q)>", report_html(report))
    assert "| `<em>/'` | `<q>/':1` | 1.00 | 2.00 | +1.00 |" in report_markdown(report)


def test_a_table_of_long_names_and_places_fits_a_terminal():
    report = counted_report.counted()
    long = FunctionCost(name="f" * 48, place=f"{'sys/' * 29}a:1", old=1e6, new=1e5)
    table = replace(report.why.per_packet, functions=(long,) * 3)
    for line in report_text(
        replace(report, why=replace(report.why, per_packet=table))
    ).splitlines():
        assert display_width(line) <= WIDTH or "://" in line, line
