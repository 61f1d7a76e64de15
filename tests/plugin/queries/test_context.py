"""What a report tells besides its search: read from the tables when somebody asks."""

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.queries.reports import report_of
from tests.fakes.past import Past, boots

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")
TWO_SERIES = ("workload: [forwarding]", "workload: [forwarding, pf]")


@pytest.fixture
def farm(make_farm):
    return make_farm(TWO_SERIES)


async def answered(past: Past):
    """r7 lost a fifth: both sides were measured, and the ends of r1 to r11."""
    await past.commits(*range(1, 15))
    search = await past.search()
    for position, level in {1: 1e6, 11: 0.8e6, 6: 1e6, 7: 0.8e6}.items():
        await past.measured(position, boots(level), reason="search", search_id=search.id)
    answer = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")
    return await past.farm.store.change(search, state="found", answer=answer, ended_at=9.0)


def outcomes(report) -> dict[str, str]:
    return {check.name: check.outcome.value for check in report.checks}


async def test_both_sides_and_their_digests_are_found(past, farm):
    report = await report_of(farm, await answered(past))
    assert outcomes(report) == {
        "both sides proved": "passed",
        "images agree": "passed",
        "setup alike": "not made",
        "still present": "passed",
        "binary differs": "passed",
    }
    assert [(one.label, one.iterations) for one in report.artefacts] == [
        ("r1", 5),
        ("r6", 5),
        ("r7", 5),
        ("r11", 5),
    ]


async def test_what_was_measured_since_tells_whether_it_is_still_there(past, farm):
    search = await answered(past)
    await past.measured(13, boots(1e6))
    (check,) = (c for c in (await report_of(farm, search)).checks if c.name == "still present")
    assert check.outcome.value == "failed"
    assert check.detail.startswith("r13, 1 commit before the tip, is ")


async def test_another_workload_that_did_not_change_is_told(past, farm):
    search = await answered(past)
    assert [row.reach.value for row in (await report_of(farm, search)).scope] == [
        "changed",
        "not measured",
    ]
    for position in (5, 8):
        await past.measured(position, boots(5e5), workload="pf")
    own, pf = (await report_of(farm, search)).scope
    assert own.reported
    assert (pf.workload, pf.reach.value, pf.old, pf.new) == ("pf", "no change", "r5", "r8")


async def test_a_farm_of_one_series_has_no_scope(past, make_farm):
    farm = make_farm()
    assert (await report_of(farm, await answered(past))).scope == ()


async def test_the_log_tells_how_the_suspicion_narrowed_down(past, farm):
    report = await report_of(farm, await answered(past))
    left = [probe.left for probe in report.probes]
    assert (left[0], left[9], left[-1]) == (10, 10, 1)
    assert (report.cost.boots, report.cost.images) == (20, 4)


async def test_the_facts_of_the_lab_are_those_of_its_good_iterations(past, farm):
    search = await answered(past)
    for position, firmware in {6: "1.16", 7: "1.17"}.items():
        probe = await past.probe(position, search_id=search.id, reason="search", state="done")
        past.facts = {"firmware": firmware}
        await past.add(probe, 0, boots(1e6 if position == 6 else 0.8e6)[0])
    facts = (await report_of(farm, search)).setup
    assert [(fact.name, fact.old, fact.new) for fact in facts] == [
        ("firmware", "1.16", "1.17"),
        ("control image", "none", "none"),
    ]


async def test_a_search_that_failed_has_nothing_to_tell_of_a_step(past, farm):
    report = await report_of(farm, await past.search(state="failed", detail="no power"))
    assert (report.checks, report.scope, report.artefacts) == ((), (), ())


async def test_what_the_builder_says_of_both_sides_is_told(past, farm):
    search = await answered(past)
    for position, compiler in ((6, "clang 14"), (7, "clang 19")):
        image = await farm.store.image_at("main", position)
        said = {"variant": "", "config": "GENERIC", "toolchain": compiler, "flags": "", "files": {}}
        await farm.store.change(image, changed_at=1.0, manifest=said)
    facts = {fact.name: (fact.old, fact.new) for fact in (await report_of(farm, search)).setup}
    assert facts["compiler"] == ("clang 14", "clang 19")
    assert facts["kernel config"] == ("GENERIC", "GENERIC")


async def test_a_binary_that_differs_in_its_version_alone_does_not_differ(past, farm):
    search = await answered(past)
    for position in (6, 7):
        image = await farm.store.image_at("main", position)
        await farm.store.change(image, changed_at=1.0, kernel_digest="k" * 64)
    assert outcomes(await report_of(farm, search))["binary differs"] == "failed"
