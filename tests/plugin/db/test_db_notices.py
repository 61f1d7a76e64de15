"""What is said of culprits elsewhere: written once, tried until it is taken."""

STATUS = ("github-status", "c" * 40, "it fell")


async def test_what_was_written_first_stays(store, a_search):
    search = await a_search()
    (first,) = await store.add_notices(search.id, [STATUS], now=1.0)
    comment = ("github-comment", "c" * 40, "it fell")
    again, other = await store.add_notices(
        search.id, [("github-status", "c" * 40, "it rose"), comment], now=2.0
    )
    assert again == first
    assert await store.notices_of_search(search.id) == [first, other]


async def test_that_nothing_is_to_be_said_is_written_down_too(store, a_search):
    search = await a_search()
    await store.change(search, state="found", ended_at=50.0)
    (none,) = await store.add_notices(search.id, [], now=60.0)
    assert none.state == "withheld"
    assert await store.unnoticed_searches(10.0) == []
    assert await store.due_notices(99.0) == []


async def test_a_search_is_told_of_once_and_an_old_one_never(store, a_search):
    old, new, running = [await a_search(key=f"alarm:{n}") for n in range(3)]
    for search, ended_at in ((old, 5.0), (new, 50.0)):
        await store.change(search, state="found", ended_at=ended_at)
    assert [row.id for row in await store.unnoticed_searches(10.0)] == [new.id]
    await store.add_notices(new.id, [STATUS], now=60.0)
    assert await store.unnoticed_searches(10.0) == []
    assert running.state == "running"


async def test_a_notice_is_due_until_it_is_sent_and_when_its_sender_died(store, a_search):
    search = await a_search()
    (notice,) = await store.add_notices(search.id, [STATUS], now=10.0)
    assert await store.due_notices(9.0) == []
    claimed = await store.change(notice, state="sending", next_try_at=20.0)
    assert await store.change(notice, state="sending") is None
    assert await store.due_notices(19.0) == []
    assert await store.due_notices(20.0) == [claimed]
    await store.change(claimed, state="sent")
    assert await store.due_notices(99.0) == []
