"""The sink of the demo is a real mail server that keeps what it gets."""

import re
import smtplib
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email import message_from_bytes, policy

from buildbot_bench.render.message import report_letter
from buildbot_bench.render.mime import Envelope, write_message
from tests.fakes import reports
from tests.running import ran

SINK = (sys.executable, "-m", "buildbot_bench.demo.smtp_sink")


@contextmanager
def sink(directory) -> Iterator[tuple[subprocess.Popen, int]]:
    command = [*SINK, "--port", "0", "--dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            yield process, int(re.match(r"takes mail at 127\.0\.0\.1:(\d+), ", line)[1])
        finally:
            process.terminate()
    assert process.returncode == 0


def a_report() -> bytes:
    return write_message(
        report_letter(reports.hostile()),
        Envelope(
            sender="bench@example.org",
            recipients=["ann@example.org"],
            reply_to=None,
            message_id="<1@example.org>",
            date=datetime(2026, 11, 21, tzinfo=UTC),
        ),
    ).as_bytes()


def test_each_mail_is_a_file_of_its_own_and_a_line(tmp_path):
    mails = tmp_path / "not" / "there"
    for ordinal in (1, 2):  # the second life of the sink keeps what the first one got
        with sink(mails) as (process, port), smtplib.SMTP("127.0.0.1", port) as client:
            client.sendmail("bench@example.org", ["ann@example.org"], a_report())
            line = process.stdout.readline()
        path = mails / f"000{ordinal}.eml"
        assert line.startswith(f"{path}: to ann@example.org: [bench] r311849 (a1b2c3d4e6): ")
        assert line.rstrip("\n").isprintable()
        assert path.read_bytes() == a_report()
    assert sorted(path.name for path in mails.iterdir()) == ["0001.eml", "0002.eml"]
    assert message_from_bytes(path.read_bytes(), policy=policy.default)["List-Id"]


def test_a_taken_port_ends_the_sink_with_one_clear_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [*SINK, "--port", str(taken.getsockname()[1]), "--dir", str(tmp_path)]
        ended = ran(command)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "try another --port" in ended.stderr
