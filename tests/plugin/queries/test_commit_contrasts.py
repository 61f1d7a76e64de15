"""The page of a commit: on each series its ministat block against what was measured before it."""

import pytest

from buildbot_bench.plugin.db.finding_rows import VerdictGrounds
from buildbot_bench.plugin.queries.commit_views import commit, measured_commit
from buildbot_bench.plugin.requests.marks import MarkRequests
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases


async def lived(past) -> None:
    """r3 and r5 to r7 are measured; r4 is not, and r6 is slower."""
    await past.commits(*range(1, 9))
    for position in (3, 5, 6, 7):
        level = 1e6 if position < 6 else 0.9e6
        await past.measured(position, boots(level, series=position), judged=True, epoch="1")


async def only_series(farm, named: str):
    (series,) = (await commit(farm, named))["series"]
    return series


async def test_a_commit_that_changed_nothing_has_its_block_all_the_same(past, farm):
    await lived(past)
    await past.judgement(3, 5, state="nothing", verdict=VerdictGrounds(reason="within noise"))
    shown = await commit(farm, "r5")
    assert (shown["label"], shown["sha"]) == ("r5", past.shas[5])
    (series,) = shown["series"]
    held = series["contrast"]
    assert (series["testbed"], series["workload"]) == ("apu", "forwarding")
    assert (held["old"]["label"], held["new"]["label"]) == ("r3", "r5")
    assert held["ministat"].startswith("x r3\n+ r5\n")
    assert "No difference proven at 95.0% confidence" in held["ministat"]
    assert held["low"] < held["difference"] < held["high"]
    assert (series["verdict"]["state"], series["verdict"]["reason"]) == ("nothing", "within noise")


async def test_difference_interval_and_verdict_stand_beside_the_block(past, farm):
    await lived(past)
    row = await past.judgement(5, 6, effect=-0.1, low=-0.11, high=-0.09)
    await MarkRequests(farm).mark_verdict(row.id, "fixed", author="ann", fixed_by="r8")
    series = await only_series(farm, "r6")
    assert series["contrast"]["difference"] == pytest.approx(-0.1, abs=0.01)
    assert series["contrast"]["high"] < 0
    verdict = series["verdict"]
    assert (verdict["state"], verdict["effect"], verdict["low"]) == ("regression", -0.1, -0.11)
    assert (verdict["mark"]["kind"], verdict["mark"]["author"]) == ("fixed", "ann")


async def test_the_last_word_on_its_search_is_the_last_word_on_a_verdict(past, farm):
    await lived(past)
    search = await past.search(state="cancelled", ended_at=1.0)
    await past.judgement(5, 6, search_id=search.id)
    await MarkRequests(farm).mark_search(search.id, "noise", author="bob", fixed_by="")
    assert (await only_series(farm, "r6"))["verdict"]["mark"]["kind"] == "noise"


async def test_what_a_commit_costs_stands_against_the_build_before_it(past, farm):
    await past.commits(*range(1, 9))
    old = {"text_bytes": 20_000, "data_bytes": 500, "bss_bytes": 64, "build_s": 300.0}
    modules = {"if_em.ko": [70, 8, 1], "if_igb.ko": [70, 8, 1], "gone.ko": [1, 1, 1]}
    new = {"text_bytes": 32_288, "data_bytes": 500, "bss_bytes": 64, "modules": modules}
    await past.image(3, **old, modules=modules)
    await past.image(4, state="untestable")
    changed = {"if_em.ko": [80, 8, 1], "if_igb.ko": [70, 8, 1], "new.ko": [5, 0, 0]}
    await past.image(5, **new | {"modules": changed})
    shown = (await commit(farm, "r5"))["costs"]
    assert shown["old"] == "r3"
    assert [tuple(row.values()) for row in shown["rows"]] == [
        ("text", "bytes", 20_000, 32_288),
        ("data", "bytes", 500, 500),
        ("bss", "bytes", 64, 64),
        ("if_em.ko", "bytes", 79, 89),
        ("new.ko", "bytes", None, 5),
        ("gone.ko", "bytes", 3, None),
    ]
    first = (await commit(farm, "r3"))["costs"]
    assert (first["old"], first["rows"][-1]) == (
        "",
        {"name": "time to build", "unit": "s", "old": None, "new": 300.0},
    )


async def test_the_time_to_boot_has_its_own_contrast_and_is_never_the_series(past, farm):
    await lived(past)
    for probe in await farm.store.probes():
        image = await farm.store.image(probe.image_id)
        for ordinal in range(3):
            await past.add(probe, ordinal, image.position + ordinal / 10, unit="s to boot")
    series = await only_series(farm, "r6")
    assert (series["contrast"]["unit"], series["boot"]["unit"]) == ("pps", "s to boot")
    assert series["boot"]["new"]["values"] == [6.0, 6.1, 6.2]
    assert series["boot"]["difference"] == pytest.approx(6.1 / 5.1 - 1)
    assert not series["boot"]["higher_is_better"]


async def test_each_series_stands_for_itself_in_the_order_of_bench_yml(past, farm):
    await lived(past)
    for position in (5, 6):
        await past.measured(position, boots(5e5, series=position), workload="pf", epoch="1")
        await past.measured(position, boots(4e5, series=position), testbed="old", epoch="1")
    shown = (await commit(farm, "r6"))["series"]
    names = [(one["testbed"], one["workload"], bool(one["gone"])) for one in shown]
    assert names == [("apu", "forwarding", False), ("apu", "pf", True), ("old", "forwarding", True)]
    assert shown[1]["contrast"]["new"]["values"][0] == pytest.approx(5e5, rel=0.05)


async def test_another_epoch_and_what_is_in_doubt_are_no_predecessor(past, farm):
    await lived(past)
    await past.measured(8, boots(0.5e6), epoch="2")
    assert (await only_series(farm, "r8"))["contrast"] is None
    assert (await only_series(farm, "r3"))["contrast"] is None


async def test_boots_with_a_tunable_are_none_of_the_series(past, farm):
    await lived(past)
    await past.measured(4, (5e6,), tunables="a=1", epoch="1")
    assert (await commit(farm, "r4"))["series"] == []
    assert (await only_series(farm, "r5"))["contrast"]["old"]["label"] == "r3"


async def test_what_was_never_built_has_no_page(past, farm):
    await lived(past)
    assert await commit(farm, "r4") is None
    assert await commit(farm, "r400") is None
    assert await commit(farm, "0" * 40) is None


async def test_a_commit_that_the_branch_lost_is_known_by_its_hash(past, farm):
    image = await past.image(9, sha="e" * 40, branch="main")
    await past.measured(image, boots(1e6), epoch="1")
    shown = await commit(farm, "e" * 40)
    assert (shown["label"], shown["subject"], len(shown["series"])) == ("r9", "", 1)


async def test_a_point_of_a_history_has_its_contrast_too(past, farm):
    await lived(past)
    shown = await measured_commit(farm, "apu", "forwarding", 6, "main")
    assert shown["sha"] == past.shas[6]
    assert shown["contrast"]["old"]["label"] == "r5"


async def test_a_mark_is_told_with_what_it_does_to_the_spread(past, farm):
    await lived(past)
    row = await past.judgement(5, 6, branch="main")
    assert (await only_series(farm, "r7"))["marked"] == []
    await MarkRequests(farm).mark_verdict(row.id, "noise", author="ann", fixed_by="")
    (told,) = (await only_series(farm, "r7"))["marked"]
    assert told.startswith("r6 was marked as noise by ann. The spread of builds of forwarding")
    given, without = (float(word) for word in told.split() if word[0].isdigit())
    assert given > without
    assert (await only_series(farm, "r5"))["marked"] == []
    await MarkRequests(farm).mark_verdict(row.id, "withdrawn", author="ann", fixed_by="")
    assert (await only_series(farm, "r7"))["marked"] == []
