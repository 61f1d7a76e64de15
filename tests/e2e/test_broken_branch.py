"""A branch that stops building, then booting: one mail each, and one in its thread when it is well.

Everything is real: master, builder, lab, git, the C compiler, the program that is booted, SMTP.
"""

from __future__ import annotations

import json
from email import message_from_bytes, policy
from email.message import EmailMessage
from importlib import resources
from pathlib import Path

import pytest

from buildbot_bench.demo.edited_history import Change, Edit, edited_commits
from buildbot_bench.demo.farm import CHECKOUT
from buildbot_bench.demo.generated_history import write_history
from buildbot_bench.demo.processes import free_port
from buildbot_bench.demo.smtp import sink
from tests.chromium import CHROMIUM, chromium
from tests.e2e.browsing import NARROW, OVERHANG, keep
from tests.e2e.replay_farm import History, ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

FIRST, LAST = 500000, 500034
NOT_BUILT, MENDED = 500003, 500010  # r500003 to r500009 do not build
NOT_BOOTED, WELL = 500015, 500022  # r500015 to r500021 do not boot
NOT_PASSED, PASSED = 500026, 500032  # r500026 to r500031 end with the first packet
MAIN = "src/main.c"
OOPS = "\toops = 1;\n"
PANIC = '\terrx(70, "panic: no such route");\n'
UNDER_TRAFFIC = '\t\tif (count > 0)\n\t\t\terrx(70, "panic: a packet");\n'
BURST = "\t\tcheck_burst(count);\n"
MAILS = "SELECT * FROM bench_report ORDER BY id"


def change(svn: int) -> Change:
    """Each commit changes a byte of the program, and some of them more."""
    old, new = f'puts("step {svn - 1}");\n', f'puts("step {svn}");\n'
    if svn == FIRST + 1:
        old, new = "puts(version);\n", f"puts(version);\n\t{new}"
    match svn:
        case 500003:
            new += OOPS
        case 500010:
            old += OOPS
        case 500015:
            new += PANIC
        case 500022:
            old += PANIC
    edits = [Edit(path=MAIN, old=old, new=new)]
    if svn == NOT_PASSED:
        edits.append(Edit(path=MAIN, old=BURST, new=UNDER_TRAFFIC + BURST))
    if svn == PASSED:
        edits.append(Edit(path=MAIN, old=UNDER_TRAFFIC, new=""))
    return Change(label=f"r{svn}", author="ivan", message=f"main: step {svn}", edits=tuple(edits))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("history") / "src"
    first = Change(label=f"r{FIRST}", author="alice", message="Import the embedded kernel")
    sources = resources.files("buildbot_bench.demo") / "kernel"
    changes = [change(svn) for svn in range(FIRST + 1, LAST + 1)]
    return History(
        path=path, shas=write_history(path, list(edited_commits(sources, first, changes)))
    )


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory):
    """Where the mails arrive, and the port of the real server that takes them."""
    home = tmp_path_factory.mktemp("inbox")
    port = free_port()
    server = sink(home / "mails", port=port, log=home / "smtp.log")
    server.start()
    yield home / "mails", port
    server.stop()


@pytest.fixture(scope="module")
def farm(farms, history: History, inbox) -> ReplayFarm:
    """The farm of the example, with this history and a mail server of its own."""

    def prepare(farm: ReplayFarm) -> None:
        text = (CHECKOUT / "bench.yml").read_text()
        text = text.replace("repository: .farm/src", f"repository: {farm.source}")
        text = text.replace("smtp-port: 2525", f"smtp-port: {inbox[1]}")
        text = text.replace("iterations: 5", "iterations: 3").replace(", profile: 2m", "")
        farm.local.plan.workflow.write_text(text)
        farm.local.plan.testbeds.write_text('[testbeds.embedded]\ndriver = "embedded"\n')

    return farms(Shape(tip=f"r{FIRST}", poll_s=2.0), history, prepare)


def arrived(inbox: Path) -> list[EmailMessage]:
    """The mails, in the order in which they were written."""
    found = [
        message_from_bytes(path.read_bytes(), policy=policy.default) for path in inbox.glob("*.eml")
    ]
    return sorted(found, key=lambda mail: mail["Date"].datetime)


def about(mails: list[EmailMessage], words: str) -> list[EmailMessage]:
    return [mail for mail in mails if words in str(mail["Subject"])]


def plain(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return " ".join(body.get_content().split())


def wait_for_mail(farm: ReplayFarm, inbox: Path, words: str) -> EmailMessage:
    farm.wait(lambda: about(arrived(inbox), words), f"the mail {words!r}", deadline_s=400.0)
    (mail,) = about(arrived(inbox), words)
    return mail


def publish(farm: ReplayFarm, svn: int) -> None:
    farm.history.publish(farm.source, f"r{svn}")


def wait_for_boot(farm: ReplayFarm, svn: int) -> None:
    done = (
        "SELECT 1 FROM bench_iteration i JOIN bench_image m ON m.id = i.image_id"
        f" WHERE m.label = 'r{svn}' AND i.value IS NOT NULL"
    )
    farm.wait(lambda: farm.rows(done), f"a boot of r{svn}")


def test_a_branch_that_does_not_build_is_told_of_once_and_so_is_its_end(
    farm: ReplayFarm, inbox
) -> None:
    wait_for_boot(farm, FIRST)
    publish(farm, MENDED - 1)
    mail = wait_for_mail(farm, inbox[0], "does not build")
    assert f"[bench] does not build since r{NOT_BUILT}: " in str(mail["Subject"])
    assert "error:" in str(mail["Subject"])
    assert f"r{NOT_BUILT - 1} works" in plain(mail)
    publish(farm, MENDED)
    closing = wait_for_mail(farm, inbox[0], "builds again")
    assert str(closing["Subject"]) == f"[bench] builds again since r{MENDED}"
    assert closing["In-Reply-To"] == mail["Message-ID"]
    assert mail["Message-ID"] in closing["References"]
    assert closing["To"] == mail["To"]


def test_a_branch_that_does_not_boot_is_told_of_once_and_so_is_its_end(
    farm: ReplayFarm, inbox
) -> None:
    wait_for_boot(farm, MENDED)
    publish(farm, WELL - 1)
    mail = wait_for_mail(farm, inbox[0], "does not boot")
    assert f"[bench] does not boot on embedded since r{NOT_BOOTED}: " in str(mail["Subject"])
    assert "panic: no such route" in str(mail["Subject"])
    assert "panic: no such route" in plain(mail)
    farm.kill("master")
    farm.resume("master")
    publish(farm, WELL + 1)
    closing = wait_for_mail(farm, inbox[0], "boots on embedded again")
    assert closing["In-Reply-To"] == mail["Message-ID"]


def test_a_branch_that_boots_and_passes_no_traffic_is_told_of_as_that(
    farm: ReplayFarm, inbox
) -> None:
    wait_for_boot(farm, WELL + 1)
    publish(farm, PASSED - 1)
    mail = wait_for_mail(farm, inbox[0], "does not pass")
    expected = f"[bench] does not pass forwarding on embedded since r{NOT_PASSED}: panic: a packet"
    assert str(mail["Subject"]) == expected
    publish(farm, LAST)
    closing = wait_for_mail(farm, inbox[0], "passes forwarding on embedded again")
    assert closing["In-Reply-To"] == mail["Message-ID"]


def test_nobody_is_told_anything_twice(farm: ReplayFarm, inbox) -> None:
    kinds = [row["key"].split(":")[0] for row in farm.rows(MAILS)]
    assert sorted(kinds) == ["recovery"] * 3 + ["search"] * 3
    assert len(arrived(inbox[0])) == 6


def test_rest_shows_both_as_searches_of_a_kind_that_are_closed(farm: ReplayFarm) -> None:
    _, boot, build = farm.get("searches")["searches"]
    assert (build["kind"], build["state"]) == ("build", "found")
    assert build["breakage"]["suspects"] == [f"r{NOT_BUILT}"]
    assert build["recovery"]["new"]["label"] == f"r{MENDED}"
    assert (boot["kind"], boot["testbed"], boot["breakage"]["broken"]) == (
        "boot",
        "embedded",
        f"r{NOT_BOOTED}",
    )
    assert boot["recovery"]["new"]["label"] in {f"r{svn}" for svn in range(WELL, WELL + 2)}
    (shown,) = farm.get(f"searches/{boot['searchid']}")["searches"]
    assert "A boot on embedded fails" in shown["text"]
    (strip,) = farm.get(f"searches/{boot['searchid']}/strip")["views"]
    assert strip["culprits"][0]["label"] == f"r{NOT_BOOTED}"
    (strip,) = farm.get(f"searches/{build['searchid']}/strip")["views"]
    assert strip["works"][0] == 0


def test_bench_bisect_follows_and_lists_them(farm: ReplayFarm) -> None:
    _, boot, build = farm.rows("SELECT id, kind FROM bench_search ORDER BY id DESC")
    followed = farm.bisect("--follow", str(boot["id"]))
    assert followed.returncode == 0, followed.stderr
    assert f"since r{NOT_BOOTED}" in followed.stdout
    as_json = farm.bisect("--follow", str(build["id"]), "--json")
    report = json.loads(as_json.stdout)
    assert (report["kind"], report["broken"]["label"]) == ("breakage", f"r{NOT_BUILT}")
    listed = farm.bisect("--list")
    assert "what does not boot forwarding on embedded" in listed.stdout
    assert "what does not build" in listed.stdout


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")
def test_the_pages_show_what_broke_and_that_it_is_over(farm: ReplayFarm, tmp_path: Path) -> None:
    (build,) = farm.rows("SELECT id FROM bench_search WHERE kind = 'build'")
    with chromium(tmp_path / "profile") as new_tab:
        page = new_tab()
        page.open(f"{farm.url}#/bench/searches/{build['id']}")
        page.wait("document.querySelector('.strip') && document.querySelector('.facts')")
        facts = page.run("document.querySelector('.facts').innerText")
        assert "what does not build" in facts
        assert f"well again since r{MENDED}" in facts
        assert "all testbeds" in facts
        page.wait(f"document.body.innerText.includes('r{NOT_BUILT} broke it')")
        keep(page, "breakage")
        page.resize(NARROW)
        page.wait(f"document.querySelector('.strip svg').clientWidth < {NARROW}")
        assert page.run(OVERHANG) == []
        page.resize()
        page.open(f"{farm.url}#/bench/reports")
        page.wait(f"document.body.innerText.includes('does not build since r{NOT_BUILT}')")
        page.wait(f"document.body.innerText.includes('(well again since r{MENDED})')")
        assert page.complaints == []
