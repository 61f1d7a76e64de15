"""A branch that stops building, then booting: one mail each, and one in its thread when it is well.

Everything is real: master, builder, lab, git, the C compiler, the program that is booted, SMTP.
"""

import json
from pathlib import Path

import pytest

from tests.chromium import chromium
from tests.e2e.browsing import NARROW, OVERHANG, keep
from tests.e2e.embedded import embed
from tests.e2e.histories import edited_history
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.edits import Change, Edit

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
UNSENT = "SELECT count(*) FROM bench_report WHERE state <> 'sent'"
# What fails here fails at once, and nobody asks how fast the others are: their boots are short.
# A busy machine may take its time.
SETTINGS = """\
driver = "embedded"
duration_s = 0.2
retry_pause_s = 0.1
boot_timeout_s = 60.0
"""
PATIENCE_S = 400.0


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
def farm(farms, inbox: Inbox, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """The farm of the example, with this history and a mail server of its own."""
    changes = [change(svn) for svn in range(FIRST + 1, LAST + 1)]
    history = edited_history(tmp_path_factory.mktemp("history"), FIRST, changes)

    def prepare(farm: ReplayFarm) -> None:
        unlike = ("iterations: 5", "iterations: 3"), ("min-effect: 5%", "min-effect: 30%")
        embed(farm, *unlike, smtp_port=inbox.port, settings=SETTINGS)

    return farms(Shape(tip=f"r{FIRST}", poll_s=2.0), history, prepare)


def publish(farm: ReplayFarm, svn: int) -> None:
    farm.history.publish(farm.source, f"r{svn}")


def wait_for_boot(farm: ReplayFarm, svn: int) -> None:
    done = (
        "SELECT 1 FROM bench_iteration i JOIN bench_image m ON m.id = i.image_id"
        f" WHERE m.label = 'r{svn}' AND i.value IS NOT NULL"
    )
    farm.wait(lambda: farm.rows(done), f"a boot of r{svn}")


def test_a_branch_that_does_not_build_is_told_of_once_and_so_is_its_end(
    farm: ReplayFarm, inbox: Inbox
) -> None:
    wait_for_boot(farm, FIRST)
    publish(farm, MENDED - 1)
    mail = inbox.wait_for(farm, "does not build", PATIENCE_S)
    assert f"[bench] does not build since r{NOT_BUILT}: " in str(mail["Subject"])
    assert "error:" in str(mail["Subject"])
    assert f"r{NOT_BUILT - 1} works" in flowing(mail)
    publish(farm, MENDED)
    closing = inbox.wait_for(farm, "builds again", PATIENCE_S)
    assert str(closing["Subject"]) == f"[bench] builds again since r{MENDED}"
    assert closing["In-Reply-To"] == mail["Message-ID"]
    assert mail["Message-ID"] in closing["References"]
    assert closing["To"] == mail["To"]


def test_a_branch_that_does_not_boot_is_told_of_once_and_so_is_its_end(
    farm: ReplayFarm, inbox: Inbox
) -> None:
    wait_for_boot(farm, MENDED)
    publish(farm, WELL - 1)
    mail = inbox.wait_for(farm, "does not boot", PATIENCE_S)
    assert f"[bench] does not boot on embedded since r{NOT_BOOTED}: " in str(mail["Subject"])
    assert "panic: no such route" in str(mail["Subject"])
    assert "panic: no such route" in flowing(mail)
    # One that was cut off before it noted that would send the mail again, minutes later.
    farm.wait(lambda: farm.value(UNSENT) == 0, "the mail is noted as sent")
    farm.kill("master")
    farm.resume("master")
    publish(farm, WELL + 1)
    closing = inbox.wait_for(farm, "boots on embedded again", PATIENCE_S)
    assert closing["In-Reply-To"] == mail["Message-ID"]


def test_a_branch_that_boots_and_passes_no_traffic_is_told_of_as_that(
    farm: ReplayFarm, inbox: Inbox
) -> None:
    wait_for_boot(farm, WELL + 1)
    publish(farm, PASSED - 1)
    mail = inbox.wait_for(farm, "does not pass", PATIENCE_S)
    expected = f"[bench] does not pass forwarding on embedded since r{NOT_PASSED}: panic: a packet"
    assert str(mail["Subject"]) == expected
    publish(farm, LAST)
    closing = inbox.wait_for(farm, "passes forwarding on embedded again", PATIENCE_S)
    assert closing["In-Reply-To"] == mail["Message-ID"]


def test_nobody_is_told_anything_twice(farm: ReplayFarm, inbox: Inbox) -> None:
    kinds = [row["key"].split(":")[0] for row in farm.rows(MAILS)]
    assert sorted(kinds) == ["recovery"] * 3 + ["search"] * 3
    assert len(inbox.mails()) == 6


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
def test_the_pages_show_what_broke_and_that_it_is_over(farm: ReplayFarm, tmp_path: Path) -> None:
    (build,) = farm.rows("SELECT id FROM bench_search WHERE kind = 'build'")
    with chromium(tmp_path / "profile") as new_tab:
        page = new_tab()
        page.open(f"{farm.url}#/bench/searches/{build['id']}")
        page.wait("document.querySelector('.strip') && document.querySelector('.facts')")
        facts = page.run("document.querySelector('.facts').innerText")
        assert "what does not build" in facts
        assert f"works again since r{MENDED}" in facts
        assert "all testbeds" in facts
        page.wait(f"document.body.innerText.includes('r{NOT_BUILT} broke it')")
        keep(page, "breakage")
        page.resize(NARROW)
        page.wait(f"document.querySelector('.strip svg').clientWidth < {NARROW}")
        assert page.run(OVERHANG) == []
        page.resize()
        page.open(f"{farm.url}#/bench/reports")
        page.wait(f"document.body.innerText.includes('does not build since r{NOT_BUILT}')")
        page.wait(f"document.body.innerText.includes('(works again since r{MENDED})')")
        assert page.complaints == []
