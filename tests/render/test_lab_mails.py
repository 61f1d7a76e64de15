"""The mails about the lab: a testbed out of control, and that the farm is alive."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from buildbot_bench.core.control_chart import ChartPolicy, Round, RoundSpread, chart
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import display_width
from buildbot_bench.render.layout import WIDTH
from buildbot_bench.render.message import (
    notice_html,
    notice_letter,
    notice_text,
)
from buildbot_bench.render.mime import Envelope, Picture, write_message
from buildbot_bench.render.plots.canvas import Format
from buildbot_bench.render.plots.history import control
from tests.fakes import labs

ENVELOPE = Envelope(
    sender="Buildbot Bench <bench@example.org>",
    recipients=["owner@example.org"],
    reply_to="keeper@example.org",
    message_id="<bench.quarantine.3.1795220184@example.org>",
    date=datetime(2026, 11, 21, 0, 16, 24, tzinfo=UTC),
)


def composed(notice, pictures=()):
    return write_message(notice_letter(notice, pictures), ENVELOPE)


def test_a_testbed_out_of_control_reads_as_agreed(golden):
    lab = labs.leapt()
    golden("mail/quarantine.txt", notice_text(lab))
    golden("mail/quarantine.html", notice_html(lab))
    content = composed(lab).as_bytes().decode("ascii")
    golden("mail/quarantine.eml", content.replace("\r\n", "\n"))


def test_a_control_image_that_gives_no_value_reads_as_agreed(golden):
    golden("mail/quarantine-silent.txt", notice_text(labs.silent()))
    golden("mail/quarantine-silent.html", notice_html(labs.silent()))


def test_a_week_reads_as_agreed(golden):
    golden("mail/alive.txt", notice_text(labs.week()))
    golden("mail/alive.html", notice_html(labs.week()))


def test_a_week_says_in_its_subject_who_is_held():
    subject = "[bench] alive: 432 iterations, 3 mails; in quarantine: c2558"
    assert notice_letter(labs.week()).subject == subject


def test_a_silent_testbed_reads_as_agreed(golden):
    golden("mail/silence.txt", notice_text(labs.silence()))
    golden("mail/silence.html", notice_html(labs.silence()))
    subject = "[bench] apu2 has measured nothing for 26 hours; 12 requests wait"
    assert notice_letter(labs.silence()).subject == subject


def test_a_testbed_that_never_measured_is_told_without_a_last_boot():
    report = labs.silence(last_boot_s=None, waiting=1, trouble="", connected=True)
    assert report.subject == "[bench] apu2 never measured anything; 1 request waits"
    assert "last boot" not in notice_text(report)


def test_a_testbed_that_runs_commands_is_told_of_runs_and_its_machine():
    lab = replace(labs.leapt(), item=ItemUnderTest.COMMAND)
    silence = labs.silence(item=ItemUnderTest.COMMAND, connected=True)
    assert lab.summary.endswith("Its build is unchanged, so the machine changed.")
    assert "  average  runs\n" in notice_text(lab)
    assert "<th>runs</th>" in notice_html(lab)
    assert "\n  last run       2026-" in notice_text(silence)
    assert "Check the machine and the builds." in silence.worker_line
    told = [
        notice_text(lab),
        notice_html(lab),
        notice_text(silence),
        notice_html(silence),
    ]
    for written in told:
        assert not re.search(r"\b(boots?|kernels?|cables|NIC)\b", written)


def test_no_stranger_writes_html_into_a_mail_about_silence():
    report = labs.silence(farm=labs.HOSTILE, trouble=labs.HOSTILE, worker=labs.HOSTILE)
    assert "<script" not in notice_html(report)
    assert not any(character in notice_text(report) for character in "\x1b\x07\u202e")


def test_a_master_that_hung_reads_as_agreed(golden):
    golden("mail/hang.txt", notice_text(labs.hang()))
    golden("mail/hang.html", notice_html(labs.hang()))
    subject = "[bench] netlab: the master did not answer for 60 s, and was started again"
    assert notice_letter(labs.hang()).subject == subject
    hostile = labs.hang(farm=labs.HOSTILE, what=labs.HOSTILE)
    assert "<script" not in notice_html(hostile)
    assert not any(character in notice_text(hostile) for character in "\x1b\x07\u202e")


def test_a_broken_workload_reads_as_agreed(golden):
    report = labs.broken_workload()
    golden("mail/workload.txt", notice_text(report))
    golden("mail/workload.html", notice_html(report))
    content = composed(report).as_bytes().decode("ascii")
    golden("mail/workload.eml", content.replace("\r\n", "\n"))
    subject = "[bench] forwarding is broken on apu2: r311848 and r311852 fail alike"
    assert notice_letter(report).subject == subject


def test_two_ends_that_never_worked_are_told_without_a_last_value():
    report = labs.broken_workload(stood_well=False, worked_s=None, searches=tuple(range(1, 9)))
    text = " ".join(notice_text(report).split())
    assert "They are the two ends of a search." in text
    assert "Searches 1, 2, 3, 4, 5 and 3 others wait." in text
    assert "last value" not in text


def test_no_stranger_writes_html_into_a_mail_about_a_workload():
    hostile = dict.fromkeys(("farm", "workload", "first", "reason", "output"), labs.HOSTILE)
    report = labs.broken_workload(**hostile)
    assert "<script" not in notice_html(report)
    text = notice_text(report)
    assert not any(character in text for character in "\x1b\x07\u202e")
    for line in text.splitlines():
        assert display_width(line) <= WIDTH or report.url in line, line


@pytest.mark.parametrize("lab", [labs.leapt(), labs.silent(), labs.hostile()])
def test_the_text_fits_a_terminal_but_for_addresses(lab):
    for line in notice_text(lab).splitlines():
        assert display_width(line) <= WIDTH or lab.url in line, line


def test_no_stranger_writes_html_into_it():
    html = notice_html(labs.hostile())
    assert "<script" not in html
    assert "{{ 7 * 7 }}" in html
    text = notice_text(labs.hostile())
    assert not any(character in text for character in "\x1b\x07\u202e")


def test_the_html_shows_the_chart_that_the_mail_carries():
    seen = [Round(at_s=float(day), values=(1e6,) * 3) for day in range(20)]
    seen.append(Round(at_s=20.0, values=(0.95e6,) * 3))
    spread = RoundSpread(boot=0.004, between=0.002, df=50.0)
    shown = chart(seen, spread, ChartPolicy())
    png = control(shown, title="apu2")
    assert png == control(shown, title="apu2")
    picture = Picture(name="control.png", png=png, alternative="the control chart of apu2")
    mail = composed(labs.leapt(), [picture])
    assert f"cid:{picture.content_id}" in mail.get_body(("html",)).get_content()
    assert [part.get_content_type() for part in mail.iter_attachments()] == ["image/png"]
    assert b"out of control" in control(shown, title="apu2", form=Format.SVG)
