"""The mails about the lab: a testbed out of control, and that the farm is alive."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from buildbot_bench.core.health import ChartPolicy, Round, RoundSpread, chart
from buildbot_bench.core.legible import display_width
from buildbot_bench.render.farm_mails import (
    compose_quarantine,
    compose_silence,
    compose_week,
    quarantine_html,
    quarantine_text,
    silence_html,
    silence_text,
    week_html,
    week_text,
)
from buildbot_bench.render.layout import WIDTH
from buildbot_bench.render.mime import Envelope
from buildbot_bench.render.picture import Picture
from buildbot_bench.render.plots import Format, control
from tests.fakes import labs

ENVELOPE = Envelope(
    sender="Buildbot Bench <bench@example.org>",
    recipients=["owner@example.org"],
    reply_to="keeper@example.org",
    message_id="<bench.quarantine.3.1795220184@example.org>",
    date=datetime(2026, 11, 21, 0, 16, 24, tzinfo=UTC),
)


def test_a_testbed_out_of_control_reads_as_agreed(golden):
    lab = labs.leapt()
    golden("mail/quarantine.txt", quarantine_text(lab))
    golden("mail/quarantine.html", quarantine_html(lab))
    content = compose_quarantine(lab, ENVELOPE).as_bytes().decode("ascii")
    golden("mail/quarantine.eml", content.replace("\r\n", "\n"))


def test_a_control_image_that_gives_no_value_reads_as_agreed(golden):
    golden("mail/quarantine-silent.txt", quarantine_text(labs.silent()))
    golden("mail/quarantine-silent.html", quarantine_html(labs.silent()))


def test_a_week_reads_as_agreed(golden):
    golden("mail/alive.txt", week_text(labs.week()))
    golden("mail/alive.html", week_html(labs.week()))


def test_a_week_says_in_its_subject_who_is_held():
    subject = "[bench] alive: 432 iterations, 3 mails; in quarantine: c2558"
    assert compose_week(labs.week(), ENVELOPE)["Subject"] == subject


def test_a_silent_testbed_reads_as_agreed(golden):
    golden("mail/silence.txt", silence_text(labs.silence()))
    golden("mail/silence.html", silence_html(labs.silence()))
    subject = "[bench] apu2 has measured nothing for 26 hours; 12 requests wait"
    assert compose_silence(labs.silence(), ENVELOPE)["Subject"] == subject


def test_a_testbed_that_never_measured_is_told_without_a_last_boot():
    report = labs.silence(last_boot_s=None, waiting=1, trouble="", connected=True)
    assert report.subject == "[bench] apu2 never measured anything; 1 request waits"
    assert "last boot" not in silence_text(report)


def test_no_stranger_writes_html_into_a_mail_about_silence():
    report = labs.silence(farm=labs.HOSTILE, trouble=labs.HOSTILE, worker=labs.HOSTILE)
    assert "<script" not in silence_html(report)
    assert not any(character in silence_text(report) for character in "\x1b\x07\u202e")


@pytest.mark.parametrize("lab", [labs.leapt(), labs.silent(), labs.hostile()])
def test_the_text_fits_a_terminal_but_for_addresses(lab):
    for line in quarantine_text(lab).splitlines():
        assert display_width(line) <= WIDTH or lab.url in line, line


def test_no_stranger_writes_html_into_it():
    html = quarantine_html(labs.hostile())
    assert "<script" not in html
    assert "{{ 7 * 7 }}" in html
    text = quarantine_text(labs.hostile())
    assert not any(character in text for character in "\x1b\x07\u202e")


def test_the_html_shows_the_chart_that_the_mail_carries():
    seen = [Round(at_s=float(day), values=(1e6,) * 3) for day in range(20)]
    seen.append(Round(at_s=20.0, values=(0.95e6,) * 3))
    spread = RoundSpread(boot=0.004, between=0.002, df=50.0)
    shown = chart(seen, spread, ChartPolicy())
    png = control(shown, title="apu2")
    assert png == control(shown, title="apu2")
    picture = Picture(name="control.png", png=png, alternative="the control chart of apu2")
    mail = compose_quarantine(labs.leapt(), ENVELOPE, [picture])
    assert f"cid:{picture.content_id}" in mail.get_body(("html",)).get_content()
    assert [part.get_content_type() for part in mail.iter_attachments()] == ["image/png"]
    assert b"out of control" in control(shown, title="apu2", form=Format.SVG)
