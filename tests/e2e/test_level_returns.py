"""A regression that a later commit takes back: its incident closes by itself, in its thread."""

from pathlib import Path

import pytest

from tests.e2e.histories import numbered_history, record_levels
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

FIRST, BEFORE, SLOW, TIP, BACK, LAST = 400000, 400011, 400012, 400016, 400020, 400024
LEVEL, LOST = 620e3, 0.1
PATIENCE_S = 400.0


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded lab in which r400012 to r400019 are slower by a tenth."""
    path = tmp_path_factory.mktemp("recording") / "series.jsonl"
    revisions = range(FIRST, LAST + 1)
    levels = {svn: LEVEL * (1 - LOST * (SLOW <= svn < BACK)) for svn in revisions}
    return record_levels(path, levels, seed=7)


@pytest.fixture(scope="module")
def farm(farms, inbox: Inbox, series: Path, tmp_path_factory) -> ReplayFarm:
    history = numbered_history(tmp_path_factory.mktemp("history"), FIRST, LAST)
    shape = Shape(tip=f"r{FIRST}", poll_s=2.0, iterations=3, smtp_port=inbox.port, series=series)
    return farms(shape, history)


def test_the_mail_that_closes_it_stands_in_its_thread(farm: ReplayFarm, inbox: Inbox) -> None:
    measured = "SELECT count(DISTINCT image_id) FROM bench_iteration"
    farm.history.publish(farm.source, f"r{BEFORE}")
    farm.wait(lambda: farm.value(measured) >= 5, "a past")
    farm.history.publish(farm.source, f"r{TIP}")
    farm.wait(inbox.mails, "the mail about the culprit", PATIENCE_S)
    found = inbox.only()
    assert str(found["Subject"]).startswith(f"[bench] r{SLOW} ")
    farm.history.publish(farm.source, f"r{LAST}")
    farm.wait(lambda: len(inbox.mails()) >= 2, "the mail that closes it", PATIENCE_S)
    _, closing = inbox.mails()
    assert "[bench] forwarding on replay is back at its level since " in str(closing["Subject"])
    assert closing["In-Reply-To"] == found["Message-ID"]
    assert closing["References"].split()[-1] == found["Message-ID"]
    assert f"The incident of r{SLOW} is over." in flowing(closing)


def test_the_record_says_closed_with_its_commits(farm: ReplayFarm) -> None:
    # The lab has nothing else to do by then: it may search for what brought the level back.
    (search,) = (one for one in farm.get("searches")["searches"] if one["recovery"])
    assert search["kind"] == "effect"
    old, new = (search["recovery"][side]["position"] for side in ("old", "new"))
    shas = list(farm.history.shas)
    first = shas.index(f"r{BACK}") + 1  # positions count from 1
    assert old < first <= new
    assert search["recovery"]["difference"] == pytest.approx(0, abs=0.01)
