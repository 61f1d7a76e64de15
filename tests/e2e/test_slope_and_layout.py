"""A range that gets slower little by little is mailed as a slope; an unlucky image accuses nobody.

The slope is recorded: 26 % in ten parts of 3 % where a change counts from 15 %. The unlucky image
is real, as are compiler and programs: it is 8 % slow where a change counts from 5 %, and boots of
the embedded testbed scatter by one or two per cent, on a busy machine too.
"""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.embedded import embed
from tests.e2e.histories import edited_history, numbered_history, record_levels
from tests.e2e.inbox import Inbox, plain
from tests.e2e.queued_frames import BASE, queue_edits, queued, unlucky_share
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.edits import NETIF, Change, Edit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

PATIENCE_S = 900.0
LULL_S = 8.0  # four of its rounds
FIRST = 600001  # r600000 imports the unlucky one's sources; r600001 gives them a queue
PARTS, PART = 10, 0.97
SLOPE_END = FIRST + PARTS
LEVEL = 620e3
UNLUCKY = FIRST + 1
UNLUCKY_LEVEL = 0.92
MEASURED = "SELECT count(*) FROM bench_iteration WHERE value IS NOT NULL"
UNREST = (
    "SELECT count(*) FROM bench_probe WHERE state IN ('new', 'issued')",
    "SELECT count(*) FROM bench_search WHERE ended_at IS NULL",
    "SELECT count(*) FROM bench_judgement WHERE state = 'suspicion'",
    "SELECT count(*) FROM bench_report WHERE sent_at IS NULL",
)
JUDGED = "SELECT * FROM bench_judgement WHERE state NOT IN ('new', 'suspicion')"


def change(svn: int, old: str, new: str) -> Change:
    edit = Edit(path=NETIF, old=old, new=new)
    return Change(label=f"r{svn}", author="ivan", message=f"netif: change {svn}", edits=(edit,))


def first_change() -> Change:
    """It queues a share of the frames."""
    edits = queue_edits(str(BASE))
    return Change(label=f"r{FIRST}", author="ivan", message="netif: queue frames", edits=edits)


def unlucky() -> Change:
    """It is slow where its files are linked in the order of their names."""
    return change(UNLUCKY, queued(str(BASE)), queued(unlucky_share(UNLUCKY_LEVEL)))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A farm, and where its mails arrive."""

    farm: ReplayFarm
    inbox: Inbox


def rest(farm: ReplayFarm) -> None:
    """Wait until nothing is asked for, searched, suspected or unsent, and nothing comes of it.

    What a search measured is judged, and idle testbeds measure commits that were passed over.
    """
    since = time.monotonic()

    def rests() -> bool:
        nonlocal since
        if any(map(farm.value, UNREST)):
            since = time.monotonic()
        return time.monotonic() > since + LULL_S

    farm.wait(rests, "the end of all that the farm does", PATIENCE_S)


@pytest.fixture(scope="module")
def sloping(farms, inbox: Inbox, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """All of the slope was pushed at once, and the alarm's search has ended."""
    series = tmp_path_factory.mktemp("recording") / "series.jsonl"
    record_levels(series, {FIRST + p: LEVEL * PART**p for p in range(PARTS + 1)}, seed=3)

    def prepare(farm: ReplayFarm) -> None:
        path = farm.local.plan.workflow
        text = path.read_text()
        assert "min-effect: 2%" in text
        path.write_text(text.replace("min-effect: 2%", "min-effect: 15%"))

    history = numbered_history(tmp_path_factory.mktemp("history"), FIRST, SLOPE_END)
    shape = Shape(tip=f"r{FIRST}", poll_s=2.0, smtp_port=inbox.port, series=series)
    farm = farms(shape, history, prepare)
    farm.wait(lambda: farm.value(MEASURED) >= 5, "the first commit's boots", PATIENCE_S)
    farm.history.publish(farm.source, f"r{SLOPE_END}")
    farm.wait(lambda: farm.value("SELECT id FROM bench_search"), "the alarm", PATIENCE_S)
    ended = "SELECT ended_at FROM bench_search"
    farm.wait(lambda: farm.value(ended), "the end of the search", PATIENCE_S)
    return Scene(farm=farm, inbox=inbox)


@pytest.fixture(scope="module")
def padded(farms, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The unlucky commit was pushed, and judged."""
    with Inbox(tmp_path_factory.mktemp("inbox")) as inbox:

        def prepare(farm: ReplayFarm) -> None:
            embed(farm, smtp_port=inbox.port)

        changes = [first_change(), unlucky()]
        history = edited_history(tmp_path_factory.mktemp("history"), FIRST - 1, changes)
        farm = farms(Shape(tip=f"r{FIRST}", poll_s=2.0), history, prepare)
        farm.wait(lambda: farm.value(MEASURED) >= 5, "the first commit's boots", PATIENCE_S)
        farm.history.publish(farm.source, f"r{UNLUCKY}")
        about_it = f"{JUDGED} AND new_position > 2"
        farm.wait(lambda: farm.rows(about_it), "the verdict on the unlucky commit", PATIENCE_S)
        rest(farm)
        yield Scene(farm=farm, inbox=inbox)


def test_a_search_over_a_slope_ends_as_that(sloping: Scene) -> None:
    (search,) = sloping.farm.rows("SELECT id, state, reason FROM bench_search")
    assert (search["state"], search["reason"]) == ("slope", "alarm")
    (shown,) = sloping.farm.get(f"searches/{search['id']}")["searches"]
    assert shown["report"]["steps"] == []
    (found,) = shown["report"]["slopes"]
    whole, parts = found["whole"], found["parts"]
    assert (whole["old"]["label"], whole["new"]["label"]) == (f"r{FIRST}", f"r{SLOPE_END}")
    assert whole["low"] <= PART**PARTS - 1 <= whole["high"]
    assert whole["high"] < -0.15
    assert len(parts) >= 2
    assert all(part["effect"] < 0 for part in parts)
    assert [part["old"] for part in parts[1:]] == [part["new"] for part in parts[:-1]]


def test_one_mail_tells_of_the_slope_and_of_its_parts(sloping: Scene) -> None:
    farm = sloping.farm
    farm.wait(lambda: farm.value("SELECT sent_at FROM bench_report"), "the mail", PATIENCE_S)
    rest(farm)
    mail = sloping.inbox.only()
    subject, text = str(mail["Subject"]), plain(mail)
    told = rf"\[bench\] r{FIRST} to r{SLOPE_END}: forwarding -2\d\.\d % on replay, "
    assert re.fullmatch(told + r"little by little \[slope\]", subject), subject
    assert "No single commit changed it by 15 % or more." in " ".join(text.split())
    parts = re.findall(
        r"^  (-\d\S* %) \(95 % interval .*\): r(\d+) to r(\d+) \(\d commit", text, re.MULTILINE
    )
    assert parts[0][1] == str(FIRST)
    assert parts[-1][2] == str(SLOPE_END)
    assert farm.value("SELECT count(*) FROM bench_report") == 1
    alarms = farm.rows("SELECT search_id FROM bench_judgement WHERE state = 'regression'")
    assert {alarm["search_id"] for alarm in alarms} == {1}


def test_the_judge_calls_the_luck_of_one_image_layout(padded: Scene) -> None:
    (judged,) = padded.farm.rows(f"{JUDGED} AND new_position > 2")
    assert judged["state"] == "nothing", judged
    images = "SELECT DISTINCT ordinal FROM bench_image WHERE label = :label AND state = 'built'"
    built = {row["ordinal"] for row in padded.farm.rows(images, label=f"r{UNLUCKY}")}
    assert built >= {0, 1}
    assert "the layout of one image, not the code" in json.loads(judged["verdict"])["reason"]


def test_nobody_gets_a_mail_about_layout(padded: Scene) -> None:
    rest(padded.farm)
    assert padded.farm.rows("SELECT * FROM bench_report") == []
    assert padded.inbox.mails() == []
