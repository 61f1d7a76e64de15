"""The report of a search as parts of its page."""

import pytest

from buildbot_bench.core.incident.model import Breakage, Ending
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.farm.calculating import use
from buildbot_bench.plugin.queries.overview import report_page
from tests.fakes.calculating import Counting
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


async def test_the_report_of_a_search_that_ended_is_a_card_with_a_plot_and_sections(past, farm):
    await past.commits(*range(1, 12))
    await past.measured(6, boots(1e6))
    await past.measured(7, boots(0.8e6, series=1))
    search = await past.answered(ANSWER)
    parts = await report_page(farm, search.id)
    assert "<b>r7</b>" in parts["card"]
    assert 'src="data:image/png;base64,' in parts["card"]
    assert parts["sections"].count("<details") >= 3


async def reported(past):
    await past.commits(*range(1, 12))
    await past.measured(6, boots(1e6))
    await past.measured(7, boots(0.8e6, series=1))
    return await past.answered(ANSWER)


@pytest.fixture
def rendered():
    """What was rendered, by number."""
    counting = Counting("report_fragment")
    before = use(counting)
    yield counting
    use(before)


async def test_a_second_look_renders_nothing(past, farm, rendered):
    search = await reported(past)
    first = await report_page(farm, search.id)
    assert await report_page(farm, search.id) == first
    for _ in range(2):
        assert await report_page(farm.as_of_now(), search.id) == first
    assert rendered.done == 1


async def test_a_new_mark_renders_it_anew(past, farm):
    search = await reported(past)
    first = await report_page(farm, search.id)
    await farm.store.add_mark(kind="expected", author="ann", now=1.0, search_id=search.id)
    second = await report_page(farm, search.id)
    assert second != first
    assert "ann" in second["card"] + second["sections"]
    assert "ann" not in first["card"] + first["sections"]


async def test_a_new_boot_renders_it_anew(past, farm, rendered):
    search = await reported(past)
    first = await report_page(farm, search.id)
    await past.measured(7, (0.81e6,))
    second = await report_page(farm, search.id)
    assert second != first
    assert await report_page(farm, search.id) == second
    assert rendered.done == 2


async def test_a_search_that_runs_has_no_report_and_none_has_no_page(past, farm):
    await past.commits(*range(1, 12))
    search = await past.search()
    assert await report_page(farm, search.id) == {"card": "", "sections": ""}
    assert await report_page(farm, 999) is None


async def test_a_breakage_is_a_card_and_sections_too(past, farm):
    await past.commits(*range(1, 12))
    answer = Breakage(ending=Ending.BROKEN, old=4, new=5, reason="panic: page fault", detail="")
    search = await past.search(kind="boot", state="found", breakage=answer, ended_at=farm.now())
    parts = await report_page(farm, search.id)
    assert "<b>r6</b>" in parts["card"]
    assert "panic: page fault" in parts["sections"]
    assert parts["sections"].count("<details") == 2


async def test_a_branch_that_was_mended_meanwhile_has_no_report(past, farm):
    await past.commits(*range(1, 12))
    answer = Breakage(ending=Ending.MENDED, old=0, new=10, reason="", detail="")
    search = await past.search(kind="boot", state="found", breakage=answer, ended_at=farm.now())
    assert await report_page(farm, search.id) == {"card": "", "sections": ""}
