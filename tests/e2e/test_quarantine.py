"""A testbed that becomes 5 % slower overnight: held, its owner told once, and well again."""

import csv
import io
import json
import random
import time
from pathlib import Path

import httpx
import pytest

from tests.asking import ASKED
from tests.chromium import chromium
from tests.e2e.browsing import NARROW, OVERHANG, keep
from tests.e2e.histories import numbered_history, record
from tests.e2e.inbox import Inbox
from tests.e2e.replay_farm import API, ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CONTROL, OLD, NEW = 311848, 311849, 311856
OWNER = "lab-owner@example.org"
WELL, ILL = 1.0, 0.95
ROUNDS = 4  # of the control image, before it becomes ill
BOOTS = 900  # more than any testbed here makes
SLOWLY_S = 3.0
# Whether no two names of the chart's axis stand in each other's way.
LABELS_APART = """
(() => {
  const boxes = [...document.querySelectorAll(".control .axes > text")]
    .map((text) => text.getBoundingClientRect()).sort((a, b) => a.left - b.left);
  return boxes.every((box, n) => n === 0 || boxes[n - 1].right < box.left);
})()"""
QUARANTINES = "SELECT * FROM bench_quarantine"
CONTROLS = "SELECT count(*) FROM bench_probe WHERE reason = 'control' AND state = 'done'"
OTHERS = """\
SELECT probe_id, at_s FROM bench_iteration JOIN bench_probe ON bench_probe.id = probe_id
WHERE bench_probe.reason != 'control' AND value IS NOT NULL"""


class Lab:
    """A recorded lab in which all images are alike, and its file, which can be written anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.be(WELL)

    def be(self, level: float) -> None:
        """From now on, every boot of the control image has this level."""
        noise = random.Random(4)
        boots = [620e3 * (1 + noise.gauss(0, 0.002)) for _ in range(BOOTS)]
        record(self.path, {CONTROL: [level * pps for pps in boots], OLD: boots[:9]})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("recording") / "series.jsonl")


@pytest.fixture(scope="module")
def farm(farms, inbox: Inbox, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """A farm that searches without end while its control image is measured every second."""
    control = f"{{revision: r{CONTROL}, every: 1s, iterations: 3, owner: {OWNER}}}"
    shape = Shape(
        tip=f"r{NEW}", iterations=3, smtp_port=inbox.port, series=lab.path, control=control
    )
    farm = farms(shape, numbered_history(tmp_path_factory.mktemp("history"), CONTROL, NEW))
    # Nothing changed in that range: to prove it to a thousandth takes longer than this test.
    farm.begin_search(f"r{OLD}", f"r{NEW}", "--min-effect", "0.1%")
    return farm


def is_blasting_another(farm: ReplayFarm) -> bool:
    """Whether a boot of another than the control image goes on so long that it is a slow one."""
    issued = "SELECT token FROM bench_probe WHERE reason != 'control' AND state = 'issued'"
    ends = [farm.events(probe["token"])[-1:] for probe in farm.rows(issued)]
    return any(
        event["event"] == "phase" and time.time() - event["at_s"] > SLOWLY_S / 6
        for end in ends
        for event in end
    )


def test_it_is_held_its_owner_is_told_once_and_it_comes_back(
    farm: ReplayFarm, lab: Lab, inbox: Inbox
) -> None:
    farm.wait(lambda: farm.value(CONTROLS) >= ROUNDS, f"{ROUNDS} rounds of the control image")
    farm.let_blasts_last(SLOWLY_S)
    farm.wait(lambda: is_blasting_another(farm), "a slow blast of another image")
    lab.be(ILL)
    farm.let_blasts_last(0)
    began = farm.wait(lambda: farm.rows(QUARANTINES), "the quarantine")[0]
    assert began["shift"] == pytest.approx(-0.05, abs=0.01)
    lab.be(WELL)
    ended = farm.wait(
        lambda: farm.rows(f"{QUARANTINES} WHERE ended_at IS NOT NULL"), "the end of the quarantine"
    )[0]
    assert ended["ended_by"] == "the control image, good again"
    others = farm.rows(OTHERS)
    # The lab was ill, and measured another image before the control image told.
    assert any(began["since_s"] < row["at_s"] <= began["begun_at"] for row in others)
    # The one that the lab had begun before the round was judged runs to its end.
    held = [row for row in others if began["begun_at"] < row["at_s"] <= ended["ended_at"]]
    assert len({row["probe_id"] for row in held}) <= 1
    farm.wait(
        lambda: any(row["at_s"] > ended["ended_at"] for row in farm.rows(OTHERS)),
        "the search to go on",
    )

    farm.wait(lambda: farm.value("SELECT sent_at FROM bench_report"), "the mail was taken")
    mail = inbox.only()
    assert mail["Subject"].startswith(f"[bench] replay is out of control: r{CONTROL} -")
    assert mail["To"] == OWNER
    assert len(farm.rows(QUARANTINES)) == 1


def test_what_was_measured_in_doubt_is_kept_and_marked(farm: ReplayFarm) -> None:
    (row,) = farm.wait(lambda: farm.rows(f"{QUARANTINES} WHERE ended_at IS NOT NULL"), "its end")
    answer = httpx.get(f"{farm.url}{API}/samples/replay/forwarding/csv", **ASKED)
    samples = list(csv.DictReader(io.StringIO(answer.text)))
    marked = {sample["at_s"] for sample in samples if sample["in_doubt"] == "True"}
    expected = {
        sample["at_s"]
        for sample in samples
        if row["since_s"] < float(sample["at_s"]) <= row["ended_at"]
    }
    assert marked == expected
    assert any(sample["label"] != f"r{CONTROL}" for sample in samples if sample["at_s"] in marked)


@pytest.mark.browser
def test_the_lab_page_shows_the_chart_and_a_member_releases_the_testbed(
    farm: ReplayFarm, tmp_path: Path
) -> None:
    farm.wait(lambda: farm.rows(f"{QUARANTINES} WHERE ended_at IS NOT NULL"), "its end")
    # No round is nearer to the level than half of that: it does not end by itself.
    farm.change("UPDATE bench_quarantine SET ended_at = NULL, shift = 1e-9, version = version + 1")
    password = farm.local.plan.password_file.read_text().strip()
    basic = json.dumps(f"bench:{password}")
    with chromium(tmp_path / "profile") as new_tab:
        page = new_tab()
        page.open(f"{farm.url}#/bench/lab")
        page.wait("document.querySelector('.quarantine') && document.querySelector('.control svg')")
        assert page.run("document.querySelector('.quarantine button').disabled")
        dots = "document.querySelectorAll('.control .round{kind}').length"
        assert page.run(dots.replace("{kind}", "")) > page.run(dots.replace("{kind}", ".bad")) > 0
        page.run("document.querySelector('.control svg').focus()")
        page.press("Home")
        page.wait("/^20.* pps/.test(document.querySelector('.control .readout').textContent)")
        page.run(f"fetch('auth/login', {{headers: {{Authorization: 'Basic ' + btoa({basic})}}}})")
        page.open("about:blank")
        page.wait("location.href === 'about:blank'")
        page.open(f"{farm.url}#/bench/lab")
        page.wait("document.querySelector('.quarantine button:enabled')")
        page.resize(NARROW)
        page.wait(f"document.querySelector('.control svg').clientWidth < {NARROW}")
        assert page.run(OVERHANG) == []
        assert page.run(LABELS_APART)
        keep(page, "quarantine")
        page.resize()
        for words in ("Release", "Really release it"):
            button = (
                f"[...document.querySelectorAll('button')].find(b => b.innerText === '{words}')"
            )
            page.wait(button)
            page.run(f"{button}.click()")
        page.wait("!document.querySelector('.quarantine') && document.querySelector('.control')")
        assert page.complaints == []
    assert farm.value("SELECT ended_by FROM bench_quarantine") == "bench"
