"""Quarantines and what they put in doubt, and mails about something else than a search."""

import pytest
import sqlalchemy as sa

from buildbot_bench.plugin.db.ab_test_rows import AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.finding_rows import ReportRow
from buildbot_bench.plugin.db.images import in_doubt
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.schema import ITERATION, REPORT
from tests.fakes.database import iterated, rows_of, sha

MAIL = {"message_id": "<1@x>", "subject": "s", "recipients": ["a@x"], "message": b"m", "now": 5.0}


@pytest.fixture
def a_quarantine(store, a_probe):
    """One of the testbed `apu` that began at 50, after a control that was good at 20."""

    async def make(**columns):
        probe = await a_probe(name=columns.pop("key", "control:apu:1"), reason="control")
        values = {
            "testbed": "apu",
            "workload": "forwarding",
            "epoch": "2026",
            "since_s": 20.0,
            "shift": -0.05,
            "reason": "it leapt",
            "now": 50.0,
        }
        return await store.begin_quarantine(probe_id=probe.id, **values | columns)

    return make


async def doubted(store) -> list[float]:
    """When the iterations that are in doubt ended."""
    query = sa.select(ITERATION.c.at_s).where(in_doubt()).order_by(ITERATION.c.at_s)
    return await store.run(lambda conn: list(conn.execute(query).scalars()))


async def test_a_control_measurement_begins_one_quarantine(store, a_quarantine):
    first = await a_quarantine()
    assert await a_quarantine(reason="another master thought so too") == first
    assert await store.quarantines(open_only=True) == [first]
    assert (first.ended_at, first.trusted) == (None, False)


async def test_what_ended_since_the_last_good_control_is_in_doubt(store, a_probe, a_quarantine):
    probe = await a_probe()
    for ordinal, at_s in enumerate((10.0, 20.0, 21.0, 60.0, 100.0)):
        await iterated(store, probe, 1e6, at_s=at_s, ordinal=ordinal)
    assert await doubted(store) == []
    row = await a_quarantine()
    assert await doubted(store) == [21.0, 60.0, 100.0]
    row = await store.change(row, ended_at=70.0, ended_by="control")
    assert await doubted(store) == [21.0, 60.0]
    assert await store.quarantines("apu", open_only=True) == []
    await store.change(row, trusted=True)
    assert await doubted(store) == []


async def test_other_testbeds_are_not_in_doubt(store, a_probe, a_quarantine):
    probe = await a_probe(testbed="xeon")
    await iterated(store, probe, 1e6, at_s=60.0)
    await a_quarantine()
    assert await doubted(store) == []


async def test_a_quarantine_is_untold_until_its_mail_is_written(store, a_quarantine):
    row = await a_quarantine()
    assert await store.untold_quarantines() == [row]
    mail = await store.add_mail(f"quarantine:{row.id}", **MAIL)
    assert await store.untold_quarantines() == []
    assert mail.search_id is None
    assert await store.add_mail(f"quarantine:{row.id}", **MAIL | {"subject": "again"}) == mail
    assert await rows_of(store, REPORT, ReportRow, key=f"quarantine:{row.id}") == [mail]
    assert await store.due_reports(5.0) == [mail]


async def test_the_mail_of_a_search_is_known_by_its_search(store, a_search):
    search = await a_search()
    mail = await store.add_mail(f"search:{search.id}", **MAIL)
    assert (mail.key, mail.search_id) == (f"search:{search.id}", search.id)


@pytest.fixture
def measured(store):
    """Records an iteration of a probe for each time."""

    async def record(probe, *times: float, failure: str | None = None) -> None:
        for ordinal, at_s in enumerate(times):
            await iterated(store, probe, failure or 1e6, at_s=at_s, ordinal=ordinal)

    return record


async def test_what_is_in_doubt_is_counted_without_the_control_images_own(
    store, a_probe, an_image, a_quarantine, measured
):
    row = await a_quarantine()
    await measured(await store.probe(row.probe_id), 48.0, 49.0)
    await measured(await a_probe(), 10.0, 21.0, 30.0)
    await measured(await a_probe(await an_image(8)), 40.0, failure="no traffic")
    await measured(await a_probe(await an_image(9), testbed="xeon"), 40.0)
    assert await store.doubted(row) == (3, 2)
    ended = await store.change(row, ended_at=25.0)
    assert await store.doubted(ended) == (1, 1)


async def test_neither_what_is_in_doubt_nor_a_control_image_is_a_sample(
    store, a_probe, an_image, a_quarantine, measured
):
    span = {"series": ("apu", "forwarding"), "span": (0, 99)}
    await measured(await a_probe(await an_image(8)), 10.0, 30.0)
    await measured(await a_probe(await an_image(9), name="control:apu:0", reason="control"), 11.0)
    await a_quarantine()
    (sample,) = await store.samples(**span)
    assert (sample.position, [one.at_s for one in sample.iterations]) == (8, [10.0])
    (point,) = await store.points(("apu", "forwarding"), "main")
    assert (point.position, point.boots) == (8, 1)
    rows = await store.export(("apu", "forwarding"), "main", limit=1000)
    assert [(row.position, row.at_s, row.in_doubt) for row in rows] == [
        (8, 10.0, False),
        (8, 30.0, True),
        (9, 11.0, False),
    ]


async def test_the_newest_requests_for_a_control_image_come_in_their_order(store, a_probe):
    for serial in range(5):
        await a_probe(name=f"control:apu:{serial}", reason="control")
    await a_probe(name="control:xeon:1", reason="control", testbed="xeon")
    await a_probe()
    newest = await store.control_probes("apu", 3)
    assert [probe.key for probe in newest] == [f"control:apu:{serial}" for serial in (2, 3, 4)]


async def test_a_week_is_counted_by_testbed(store, a_probe, measured):
    assert await store.first_asked_at() is None
    await measured(await a_probe(), 10.0, 20.0, 30.0)
    await measured(await a_probe(name="x", testbed="xeon"), 25.0, failure="no traffic")
    assert await store.outcomes_since(15.0) == {"apu": (2, 0), "xeon": (1, 1)}
    assert await store.first_asked_at() == 2.0


async def test_mails_are_found_by_how_their_keys_begin(store):
    for key in ("alive:1", "alive_2", "quarantine:1"):
        await store.add_mail(key, **MAIL)
    assert [mail.key for mail in await store.mails_like("alive:")] == ["alive:1"]
    (mail,) = await store.mails_like("quarantine:")
    await store.change(mail, state="sent", sent_at=7.0)
    assert (await store.mails_sent_since(6.0), await store.mails_sent_since(7.0)) == (1, 0)


async def test_a_comparison_boots_again_what_is_in_doubt(
    store, an_image, a_probe, a_quarantine, measured
):
    image = await an_image(8)
    ab_test = await store.add_ab_test(
        NewAbTest(
            variants=[
                AbTestVariant(image_id=image.id, tunables=tunables, variant="r8", label=tunables)
                for tunables in ("", "a.b=1")
            ],
            series=[("apu", "forwarding")],
            iterations=5,
            confidence=95.0,
            min_effect=0.02,
            requester="ann",
        ),
        now=1.0,
    )
    await measured(await a_probe(image, name="comparison:1", ab_test_id=ab_test.id), 10.0, 30.0)
    assert len(await store.iterations_of_ab_test(ab_test.id)) == 2
    await a_quarantine()
    assert [row.at_s for row in await store.iterations_of_ab_test(ab_test.id)] == [10.0]


async def test_a_twin_that_was_measured_in_doubt_spares_no_boot(
    store, an_image, a_probe, a_quarantine, measured
):
    await store.add_commits("main", [NewCommit(sha=sha(n), position=n) for n in (8, 9)])
    older, newer = [
        await store.change(await an_image(n), changed_at=1.0, state="built", digest="same")
        for n in (8, 9)
    ]
    where = {"branch": "main", "series": ("apu", "forwarding")}
    await measured(await a_probe(older), 30.0)
    assert (await store.measured_twin(newer, **where)).id == older.id
    await a_quarantine()
    assert await store.measured_twin(newer, **where) is None
