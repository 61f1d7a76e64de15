"""A report on a command speaks of its own unit and of runs, and says which way is better."""

import re
from datetime import UTC, datetime

import pytest

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.metric import Metric
from buildbot_bench.render.html import pictures_of, report_html, report_markdown
from buildbot_bench.render.message import report_letter, report_text
from buildbot_bench.render.mime import Envelope, write_message
from tests.fakes import reports

SPEED = reports.of_command(Metric(name="value", unit="MB/s"), 98.4, 93.4)
TIME = reports.of_command(Metric(name="time", unit="s", higher_is_better=False), 2.04, 2.31)
SLOWER_TWICE = reports.of_two_commands(Metric(name="value", unit="MB/s"))
LOCAL = reports.of_local(Metric(name="value", unit="MB/s"))
MADE = {"command-speed": SPEED, "command-time": TIME, "command-local": LOCAL}


@pytest.mark.parametrize("name", MADE)
def test_mails_of_both_directions_read_as_agreed(name, golden):
    golden(f"mail/{name}.txt", report_text(MADE[name]))


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (SPEED, "r311849 lowered the value of compress on runner by 5.1 %"),
        (TIME, "r311849 raised the time of compress on runner by 13.2 %"),
    ],
)
def test_the_first_sentence_says_what_became_worse_and_nothing_of_packets(report, words):
    assert report.headline.regression
    for written in (report_text(report), report_html(report), report_markdown(report)):
        told = " ".join(written.split())
        assert words in told
        assert report.setting.metric.unit in told
        assert "packet" not in told
        assert "pps" not in told
        assert not re.search(r"\b(boot(s|ed)?|kernels?|lab)\b", told)
    assert "compress" in report.subject


def test_the_whole_mail_of_a_farm_reads_as_agreed(golden):
    mail = write_message(
        report_letter(SLOWER_TWICE),
        Envelope(
            sender="Buildbot Bench <bench@example.org>",
            recipients=["library@example.org"],
            reply_to=None,
            message_id="<bench.search.12.1795220184@example.org>",
            date=datetime(2026, 11, 21, 0, 16, 24, tzinfo=UTC),
        ),
    )
    golden("mail/command.eml", mail.as_bytes().decode("ascii").replace("\r\n", "\n"))
    whole = [mail.get_body(("html",)), *mail.iter_attachments()]
    for part in (mail.get_body(("plain",)), *whole):
        told = " ".join(part.get_content().split())
        assert not re.search(r"\b(boot(s|ed)?|kernels?|lab)\b", told)
        assert part not in whole or "not proved by runs of both sides" in told


def test_a_local_report_is_told_in_all_its_forms(golden):
    golden("mail/command-local.md", report_markdown(LOCAL))
    golden("mail/command-local.html", report_html(LOCAL))
    assert to_json(LOCAL)["headline"]["separated"] is False


@pytest.mark.parametrize("name", MADE)
def test_its_pictures_are_drawn(name):
    assert all(one.png.startswith(b"\x89PNG") for one in pictures_of(MADE[name]))
