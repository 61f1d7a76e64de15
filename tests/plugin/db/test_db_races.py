"""Several masters at once: threads with connections of their own, all starting together."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from buildbot_bench.plugin.db.columns import ReportState
from buildbot_bench.plugin.db.outbox import digest_reports
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.sql import take_write_lock
from tests.fakes.database import sha

MASTERS = 4


@pytest.fixture
def at_once():
    """What each of the masters got for the same question."""

    def ask(question):
        together = Barrier(MASTERS)

        def master(_):
            together.wait()
            return asyncio.run(question())

        with ThreadPoolExecutor(MASTERS) as threads:
            return list(threads.map(master, range(MASTERS)))

    return ask


def test_all_masters_ask_for_the_same_image(an_image, at_once):
    images = at_once(an_image)
    assert images == [images[0]] * MASTERS


def test_one_master_changes_a_row(store, a_probe, at_once):
    probe = asyncio.run(a_probe())
    changed = at_once(lambda: store.change(probe, state="issued"))
    assert sorted(row is None for row in changed) == [False] + [True] * (MASTERS - 1)


def test_one_master_keeps_an_iteration(store, a_probe, at_once):
    probe = asyncio.run(a_probe())
    result = {"ordinal": 0, "unit": "pps", "value": 1.0, "failure": None, "at_s": 1.0}
    kept = at_once(lambda: store.add_iteration(probe=probe, duration_s=1.0, **result))
    assert sorted(kept) == [False] * (MASTERS - 1) + [True]


def test_a_burst_seen_by_all_masters_is_recorded_once(store, at_once):
    burst = [NewCommit(sha=sha(position), position=position) for position in range(1, 301)]
    assert sum(at_once(lambda: store.add_commits("main", burst))) == 300


def test_an_improvement_is_in_one_digest_though_masters_know_of_others(store, engine, a_search):
    """The slower master has seen one report more, and waits for the quicker one's transaction."""
    first, second, third = [asyncio.run(withheld(store, a_search, n)) for n in range(3)]
    mail = {"subject": "s", "recipients": ["a@b"], "message": b"m", "now": 9.0}
    with ThreadPoolExecutor(1) as threads:
        with engine.connect() as quicker, quicker.begin():
            take_write_lock(quicker)
            assert digest_reports(quicker, [first, second], message_id="<1@b>", **mail)
            slower = threads.submit(
                lambda: asyncio.run(
                    store.digest_reports([first, second, third], message_id="<2@b>", **mail)
                )
            )
            time.sleep(0.3)
        assert not slower.result(60)
    (left,) = asyncio.run(store.withheld_reports())
    assert left == third


async def withheld(store, a_search, number):
    search = await a_search(key=f"alarm:{number}")
    mail = {"message_id": "<0@b>", "subject": "s", "recipients": ["a@b"], "message": b"m"}
    return await store.add_mail(f"search:{search.id}", now=1.0, state=ReportState.WITHHELD, **mail)
