"""How the demonstration ends: well only when the mail names the planted commit."""

import time
from email.message import EmailMessage
from pathlib import Path
from types import SimpleNamespace

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.demo.command import _CHANGES
from buildbot_bench.demo.generated_history import PLANTABLE
from buildbot_bench.demo.scenario import _verdict, _watch, _workflow
from buildbot_bench.installed import EMBEDDED_WORKLOADS, registered
from buildbot_bench.workflow.load import load

SUBJECT = "[bench] r311849 (a1b2c3d4e6): forwarding -25.6 % on embedded [99 % sure]"


@pytest.fixture
def mails(tmp_path) -> Path:
    (tmp_path / "mails").mkdir()
    return tmp_path / "mails"


def arrives(mails: Path, subject: str, name: str = "0001.eml") -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", subject
    message.set_content("Forwarding is slower since r311849.\n")
    message.add_alternative("<p>Forwarding is slower</p>", subtype="html")
    (mails / name).write_bytes(message.as_bytes())


def verdict(mails: Path, expected: str = "r311849") -> int:
    return _verdict(mails, expected, time.monotonic())


def test_a_mail_that_names_the_planted_commit_ends_it_well(mails, capsys):
    arrives(mails, SUBJECT)
    assert verdict(mails) == 0
    assert "the mail names r311849" in capsys.readouterr().out


def test_the_mail_is_shown_as_people_read_it(mails, capsys):
    arrives(mails, SUBJECT)
    verdict(mails)
    shown = capsys.readouterr().out
    assert f"Subject: {SUBJECT}" in shown
    assert "Forwarding is slower since r311849." in shown
    assert "<p>" not in shown


@pytest.mark.parametrize("named", ["r311850", "r31184", "r3118490", "xr311849"])
def test_a_mail_that_names_another_commit_does_not(mails, capsys, named):
    arrives(mails, SUBJECT.replace("r311849", named))
    assert verdict(mails) == 1
    assert "The mail should name r311849 and does not" in capsys.readouterr().out


def test_a_mail_about_suspects_of_which_it_is_the_first_does_not(mails):
    arrives(mails, "[bench] r311849 to r311853 (one of 4): forwarding -25.0 % on embedded")
    assert verdict(mails) == 1


def test_the_first_mail_counts(mails):
    arrives(mails, SUBJECT.replace("r311849", "r311842"))
    arrives(mails, SUBJECT, "0002.eml")
    assert verdict(mails) == 1


class Looked:
    """An onlooker that counts its looks."""

    def __init__(self) -> None:
        self.looks = 0

    def look(self) -> None:
        self.looks += 1


def farm(*dead: str):
    return SimpleNamespace(dead=lambda: list(dead), plan=SimpleNamespace(directory=Path("/farm")))


def test_waiting_ends_with_a_last_look_at_what_was_waited_for():
    onlooker = Looked()
    _watch(farm(), onlooker, lambda: onlooker.looks > 0, 60.0)
    assert onlooker.looks == 2


def test_a_process_that_died_ends_the_wait_and_its_log_is_named():
    with pytest.raises(InfraError, match=r"the lab died; its log is /farm/lab\.log"):
        _watch(farm("lab"), Looked(), lambda: False, 60.0)


def test_what_does_not_come_in_time_is_given_up_with_the_logs_to_read():
    with pytest.raises(InfraError) as error:
        _watch(farm(), Looked(), lambda: False, -1.0)
    assert "nothing came within" in str(error.value)
    assert error.value.hint == "see /farm/*.log"


@pytest.mark.parametrize("change", _CHANGES)
def test_what_is_planted_is_measured_by_the_workload_that_sees_it(tmp_path, change):
    path = tmp_path / "bench.yml"
    path.write_text(_workflow(change))
    assert load(path).mail is not None
    workload = PLANTABLE[change]
    assert f"workload: [{workload}]\n" in path.read_text()
    assert workload in registered(EMBEDDED_WORKLOADS)
