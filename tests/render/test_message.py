"""The mail that carries a report: its headers, its two parts, and what it refuses."""

from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.render.html import report_html
from buildbot_bench.render.message import report_letter, report_text
from buildbot_bench.render.mime import Envelope, Picture, parse_address, write_message
from tests.fakes import reports

PICTURES = (
    Picture(name="boots.png", png=b"\x89PNG boots", alternative="r1 median 5; r2 median 4"),
    Picture(name="search.png", png=b"\x89PNG search", alternative="<b> \u202e \r\nBcc: x@y"),
)
DATE = datetime(2026, 11, 21, 0, 16, 24, tzinfo=UTC)


def composed(report, pictures=(), **changed):
    headers = {
        "sender": "Buildbot Bench <bench@example.org>",
        "recipients": ["Iff Lib <iflib@example.org>", "net@example.org"],
        "reply_to": "Lab Keeper <keeper@example.org>",
        "message_id": "<bench.7.1795220184@example.org>",
        "date": DATE,
    }
    return write_message(report_letter(report, pictures), Envelope(**(headers | changed)))


def received(message):
    return message_from_bytes(message.as_bytes(), policy=policy.default)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("culprit", reports.iflib),
        ("branch", reports.of_branch),
        ("suspects", reports.broken_range),
        ("hostile", reports.hostile),
        ("not-reproduced", reports.not_reproduced),
        ("slope", reports.slope),
    ],
)
def test_mail_is_as_agreed_byte_for_byte(name, made, golden):
    content = composed(made()).as_bytes()
    assert content.replace(b"\r\n", b"").count(b"\n") == 0
    golden(f"mail/{name}.eml", content.decode("ascii").replace("\r\n", "\n"))


def test_mail_with_pictures_is_as_agreed_byte_for_byte(golden):
    content = composed(reports.iflib(), pictures=PICTURES[:1]).as_bytes()
    golden("mail/pictures.eml", content.decode("ascii").replace("\r\n", "\n"))


def test_pictures_stand_beside_the_two_parts_and_the_html_finds_them():
    mail = received(composed(reports.iflib(), pictures=PICTURES))
    told, _whole = mail.iter_parts()
    assert told.get_content_type() == "multipart/related"
    assert told.get_param("type") == "multipart/alternative"
    report, *pictures = told.iter_parts()
    assert [part.get_content_type() for part in report.iter_parts()] == ["text/plain", "text/html"]
    assert [part.get_content() for part in pictures] == [one.png for one in PICTURES]
    html = mail.get_body(("html",)).get_content()
    for part in pictures:
        assert part.get_content_disposition() == "inline"
        assert f'src="cid:{part["Content-ID"].strip("<>")}"' in html
    assert 'alt="r1 median 5; r2 median 4"' in html
    assert "cid:" not in mail.get_body(("plain",)).get_content()


def test_a_picture_adds_no_header_but_its_own():
    mail = received(composed(reports.iflib(), pictures=PICTURES))
    assert mail.keys().count("MIME-Version") == 1
    told, _whole = mail.iter_parts()
    for part in list(told.iter_parts())[1:]:
        assert {name.split("-")[0] for name in part.keys()} == {"Content"}  # noqa: SIM118


def test_mails_of_one_incident_stand_in_one_thread():
    first = composed(reports.iflib(), message_id="<1@example.org>")
    again = composed(
        replace(reports.iflib(), setting=replace(reports.SETTING, search_id=8)),
        message_id="<2@example.org>",
    )
    assert first["References"] == again["References"]
    assert str(first["References"]).endswith("@example.org>")


@pytest.mark.parametrize("other", [{"testbed": "xeon"}, {"workload": "pf-statefull"}])
def test_another_testbed_or_workload_is_another_incident(other):
    report = reports.iflib()
    elsewhere = replace(report, setting=replace(report.setting, **other))
    assert composed(elsewhere)["References"] != composed(report)["References"]
    assert composed(reports.broken_range())["References"] != composed(report)["References"]


@pytest.mark.parametrize("made", [reports.iflib, reports.hostile])
def test_parts_are_a_letter_and_then_the_html_and_a_file_has_all(made):
    mail = received(composed(made()))
    assert mail.get_content_type() == "multipart/mixed"
    told, whole = mail.iter_parts()
    assert told.get_content_type() == "multipart/alternative"
    letter, html = told.iter_parts()
    assert (letter.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
    assert written(letter) == report_text(made(), whole=False)
    assert written(html) == report_html(made())
    assert whole.get_content_type() == "text/plain"
    assert (whole.get_content_disposition(), whole.get_filename()) == ("attachment", "report.txt")
    assert written(whole) == report_text(made())


def written(part):
    return part.get_content().replace("\r\n", "\n")


@pytest.mark.parametrize("made", [reports.iflib, reports.broken_range, reports.slope])
def test_a_letter_has_at_most_sixty_lines(made):
    assert len(report_text(made(), whole=False).splitlines()) <= 60


@pytest.mark.parametrize(("named", "shown"), [("w{}", 9), ("value BM_{} of suite", 40)])
def test_a_letter_lists_nine_series_and_forty_values_of_a_suite(named, shown):
    report = reports.iflib()
    rows = tuple(replace(report.scope[0], workload=named.format(n)) for n in range(50))
    letter = report_text(replace(report, scope=rows), whole=False)
    listed = [n for n in range(50) if f" {named.format(n)} " in letter]
    assert listed == list(range(shown))
    assert f"... and {50 - shown} more" in letter


def test_a_letter_answers_what_how_sure_who_and_what_now_at_once():
    first = report_text(reports.iflib(), whole=False).splitlines()[:25]
    told = " ".join(" ".join(first).split())
    for words in (
        "r311849 made forwarding on apu2 25.6 % slower",
        "The 95 % interval is",
        "99 % sure that this commit made the change",
        "2 of 6 checks did not pass",
        "author Iff Lib",
        "bench-bisect --mark 7 again",
    ):
        assert words in told


def test_a_letter_names_the_functions_that_moved_most(data):
    told = " ".join(report_text(reports.profiled(data), whole=False).split())
    assert "Why: iflib_txd_db_check +105,610, ifmp_ring_enqueue +84,241, " in told
    assert "called by" not in told


@pytest.mark.parametrize("made", [reports.iflib, reports.hostile])
def test_the_subject_arrives_as_it_was_written(made):
    subject = received(composed(made()))["Subject"]
    assert subject.split() == made().subject.split()  # folding may double a blank


def test_headers_tell_that_a_robot_writes_and_a_person_reads_the_answer():
    mail = received(composed(reports.iflib()))
    assert mail["From"] == "Buildbot Bench <bench@example.org>"
    assert mail["To"] == "Iff Lib <iflib@example.org>, net@example.org"
    assert mail["Reply-To"] == "Lab Keeper <keeper@example.org>"
    assert mail["Message-ID"] == "<bench.7.1795220184@example.org>"
    assert mail["List-Id"] == "Buildbot Bench <bench.example.org>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Precedence"] == "bulk"
    assert mail["Date"].datetime == DATE


def test_hostile_text_adds_no_header_and_makes_no_long_line():
    content = composed(reports.hostile()).as_bytes()
    assert (
        received(composed(reports.hostile())).keys() == received(composed(reports.iflib())).keys()
    )
    assert max(map(len, content.split(b"\r\n"))) <= 78 + len("bench.7.@example.org")
    content.decode("ascii")


def test_an_ascii_subject_stands_on_the_line_of_its_header():
    content = composed(reports.iflib()).as_bytes()
    assert content.startswith(b"Subject: [bench] r311849 ")
    headers = content.split(b"\r\n\r\n")[0]
    assert max(map(len, headers.split(b"\r\n"))) <= 200


def test_the_same_report_gives_the_same_bytes():
    one, other = composed(reports.iflib()), composed(reports.iflib())
    assert one.as_bytes() == other.as_bytes()


def test_a_mail_needs_no_reply_to():
    assert "Reply-To" not in composed(reports.iflib(), reply_to=None)


@pytest.mark.parametrize(
    "field",
    [
        {"sender": "bench@example.org\r\nBcc: all@example.org"},
        {"recipients": ["a@example.org\nBcc: all@example.org"]},
        {"reply_to": "a@example.org, b@example.org"},
        {"message_id": "<1@example.org>\r\nBcc: all@example.org"},
    ],
)
def test_a_header_that_would_become_two_is_refused(field):
    with pytest.raises(UsageError):
        composed(reports.iflib(), **field)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nobody",
        "Some Body",
        "a@",
        "@b",
        "a@b, c@d",
        "a@b\x1b",
        "jörg@example.org",
        "A <a@b Bcc: c@d>",
    ],
)
def test_what_is_no_address_is_refused_by_name(text):
    with pytest.raises(UsageError) as refused:
        parse_address(text)
    assert refused.value.hint


def test_a_name_may_be_anything_printable():
    address = parse_address('"Jörg, the Keeper" <keeper@example.org>')
    assert address.display_name == "Jörg, the Keeper"
    assert address.addr_spec == "keeper@example.org"
