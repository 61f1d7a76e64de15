"""A culprit whose author means harm, found while no mail server is there: one harmless mail."""

import unicodedata
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from tests.e2e.checks import steps_of
from tests.e2e.inbox import Inbox, plain
from tests.e2e.replay_farm import History, ReplayFarm, Shape
from tests.gitrepo import Commit, add_commits, make_repository

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

RED, BELL, RIGHT_TO_LEFT = "\x1b[31m", "\x07", "\u202e"
SCRIPT = "<script>alert(1)</script>"
SUBJECT = f"{SCRIPT} {RED}{RIGHT_TO_LEFT}{BELL}{{{{ 7*7 }}}} $(touch pwned) " + "A" * 10_000
# Git ends a name at an angle bracket; everything else may stand in it.
AUTHOR = f'" onload="alert(1) {RED}{RIGHT_TO_LEFT}Mallory'
CULPRIT = "r313448"


def commit(number: int) -> Commit:
    hostile = f"r{number}" == CULPRIT
    return Commit(
        files={"kernel": f"r{number}\n"},
        subject=SUBJECT if hostile else f"Change {number}",
        author=f"{AUTHOR} <--help@example.org>" if hostile else "A Committer <a@example.org>",
        svn=number,
    )


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("hostile") / "src"
    make_repository(path, [])
    # One by one, so that each has a commit of notes of its own.
    shas = {f"r{n}": add_commits(path, [commit(n)])[0] for n in range(313445, 313449)}
    return History(path=path, shas=shas)


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Inbox:
    """Where the mails are to arrive: its server is down."""
    return Inbox(tmp_path_factory.mktemp("inbox"))


@pytest.fixture(scope="module")
def farm(farms, history: History, inbox: Inbox) -> ReplayFarm:
    """A farm whose search has found the culprit, and whose mail server is down."""
    farm = farms(Shape(tip=CULPRIT, smtp_port=inbox.port), history)
    search = farm.wait_for_search(farm.begin_search("r313445", CULPRIT))
    assert steps_of(search["report"]) == [("r313447", CULPRIT, -1)]
    return farm


@pytest.fixture(scope="module")
def mails(farm: ReplayFarm, inbox: Inbox) -> Iterator[Inbox]:
    """Where the mails arrive once the server is there; the master is killed before."""
    tried = "SELECT attempts FROM bench_report WHERE state = 'new' AND last_error IS NOT NULL"
    farm.wait(lambda: farm.value(tried), "a try to send the mail in vain")
    farm.kill("master")
    # The minute until the next try is not waited for.
    farm.change("UPDATE bench_report SET next_try_at = 0")
    with inbox:
        farm.resume("master")
        yield inbox


def wait_for_mail(farm: ReplayFarm, mails: Inbox) -> EmailMessage:
    farm.wait(lambda: farm.value("SELECT sent_at FROM bench_report"), "the mail was taken")
    return mails.only()


def assert_harmless(text: str) -> None:
    """Nothing that moves a cursor, hides or turns text, and no line that goes on for ever."""
    bad = {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs"} and c not in "\n\t\r"}
    assert not bad
    assert max(map(len, text.splitlines())) < 600


def test_mail_arrives_once_when_its_server_and_the_master_come_back(
    farm: ReplayFarm, mails: Inbox
) -> None:
    mail = wait_for_mail(farm, mails)
    assert CULPRIT in str(mail["Subject"]).split()
    assert farm.rows("SELECT state, attempts FROM bench_report") == [
        {"state": "sent", "attempts": 2}
    ]
    farm.kill("master")
    farm.resume("master")
    # A search that begins and ends after that shows that the broker has looked at the mails again.
    farm.wait_for_search(farm.begin_search("r313445", "r313447"))
    assert len(list(mails.directory.glob("*"))) == 1


def test_mail_of_a_hostile_commit_is_harmless(farm: ReplayFarm, mails: Inbox) -> None:
    mail = wait_for_mail(farm, mails)
    html = mail.get_body(("html",))
    assert html is not None
    assert SCRIPT not in html.get_content()
    assert "&lt;script&gt;" in html.get_content()
    assert_harmless(plain(mail))
    assert_harmless(str(mail["Subject"]))
    assert [str(mail[name]) for name in ("From", "To")] == [
        "Buildbot Bench <bench@example.org>",
        "freebsd-net@example.org",
    ]


def test_rest_and_terminal_show_a_hostile_commit_harmlessly(farm: ReplayFarm) -> None:
    report = farm.get("searches/1")["searches"][0]
    assert_harmless(report["text"])
    for arguments in (["--follow", "1"], ["--list"], ["r313447", CULPRIT, "--dry-run"]):
        done = farm.bisect(*arguments)
        assert done.returncode == 0, done.stderr
        assert_harmless(done.stdout + "\n" + done.stderr)


def test_nothing_that_a_commit_says_is_run_or_kept_at_any_length(farm: ReplayFarm) -> None:
    (row,) = farm.rows("SELECT author, subject FROM bench_commit WHERE svn = 313448")
    assert row["subject"].startswith(SCRIPT)
    assert len(row["subject"]) < 1000
    assert row["author"].endswith("<--help@example.org>")
    assert not list(farm.directory.rglob("pwned"))
