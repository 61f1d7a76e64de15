"""A comparison that gets more boots or variants: what the epoch has is not measured again."""

import pytest

from buildbot_bench.api.requests import ComparisonQuestion, Extension
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, directory_of
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from tests.plugin.broker.test_broker_ab_tests import build_all, measure, run

PATCH = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n"


@pytest.fixture
def ab_tests(farm):
    return AbTests(farm).advance


async def measured(farm, past, ab_tests) -> int:
    """r4 and r5, three boots of each, in the epoch without a name."""
    question = ComparisonQuestion(variants=("r4", "r5"), iterations=3)
    number = (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]
    await run(farm, past, ab_tests)
    assert (await farm.store.ab_test(number)).state == "done"
    return number


async def extend(farm, number: int, *, trusted: bool = True, **asked):
    return await ComparisonRequests(farm).extend(number, Extension(**asked), "ann", trusted=trusted)


async def shown(farm, number: int) -> dict:
    return await ComparisonViews(farm).describe(number)


async def in_epoch(farm, past, ab_tests, epoch: str) -> list[str]:
    """What the lab boots until nothing is asked for, its epoch being another one now."""
    asked = await run(farm, past, ab_tests, epoch=epoch)
    return [label for label, _, boots in asked for _ in range(boots)]


async def test_more_boots_are_those_that_are_missing(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    answer = await extend(farm, compared, more=2)
    assert answer["boots"] == 10
    asked = await run(farm, past, ab_tests)
    assert sum(n for *_, n in asked) == 4
    told = await shown(farm, compared)
    assert (told["state"], told["boots_done"], told["iterations"]) == ("done", 10, 5)


async def test_one_more_variant_is_booted_alone_and_said_to_come_late(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    await extend(farm, compared, variants=("r6",), labels={"r6": "IFLIB"})
    asked = await run(farm, past, ab_tests)
    assert {label for label, *_ in asked} == {"r6"}
    assert sum(n for *_, n in asked) == 3
    (series,) = (await shown(farm, compared))["report"]["series"]
    assert [change["label"] for change in series["changes"]] == ["r5", "IFLIB"]
    assert any("IFLIB was booted 5 boots later than r4" in note for note in series["notes"])


async def test_a_cancelled_one_goes_on_where_it_was(farm, past, ab_tests):
    question = ComparisonQuestion(variants=("r4", "r5"), iterations=3)
    number = (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]
    await build_all(farm)
    await ab_tests()
    (first,) = await farm.store.probes(state="new")
    await measure(farm, past, first)
    await ab_tests()
    await ComparisonRequests(farm).cancel(number)
    await ab_tests()
    assert (await farm.store.ab_test(number)).state == "cancelled"
    await extend(farm, number)
    asked = await run(farm, past, ab_tests)
    assert sum(n for *_, n in asked) == 5
    assert (await shown(farm, number))["boots_done"] == 6


async def test_what_the_lab_lost_before_is_forgiven(farm, past, ab_tests):
    question = ComparisonQuestion(variants=("r4", "r5"), iterations=3)
    number = (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]
    await build_all(farm)
    for _ in range(MAX_FRUITLESS):
        await ab_tests()
        (probe,) = await farm.store.probes(state="new")
        await farm.store.change(probe, state="lost", failure="the switch is dead")
    await ab_tests()
    assert (await farm.store.ab_test(number)).state == "failed"
    farm.master.reactor.advance(60)
    await extend(farm, number)
    await run(farm, past, ab_tests)
    assert (await farm.store.ab_test(number)).state == "done"


async def test_another_epoch_is_refused_with_what_to_measure_again(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    await past.measured(9, (5e5, 5.1e5), epoch="2")
    with pytest.raises(UsageError) as caught:
        await extend(farm, compared, variants=("r6",))
    assert str(caught.value) == (
        f"comparison {compared} was measured in the epoch without a name of apu, which is in "
        "epoch '2' now: no comparison mixes epochs; "
        "measure all of it again: `bench-compare r4 r5 r6`"
    )
    assert (await farm.store.ab_test(compared)).state == "done"


async def test_a_lab_that_changes_meanwhile_measures_all_of_it_again(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    await extend(farm, compared, variants=("r6",))
    booted = await in_epoch(farm, past, ab_tests, "2")
    assert {label: booted.count(label) for label in booted} == {"r4": 3, "r5": 3, "r6": 3}
    told = await shown(farm, compared)
    (series,) = told["report"]["series"]
    assert series["epoch"] == "2"
    assert [len(sample["values"]) for sample in series["samples"]] == [3, 3, 3]
    assert any("6 boots left out, for the lab changed" in note for note in series["notes"])
    assert told["boots_done"] == 9
    rows = await directory_of(farm, await farm.store.ab_test(compared))
    files = {row["path"]: row["text"] for row in rows if "text" in row}
    for image in ("4", "5", "6"):
        logs = [path for path in files if path.startswith(f"RAW/bench.{image}.forwarding.")]
        ordinals = sorted(path.split(".")[3] for path in logs if ".receiver" in path)
        assert ordinals == ["1", "2", "3"]
        assert len(files[f"{image}.forwarding.pps"].split()) == 3


async def test_one_that_ends_between_epochs_says_what_to_measure_again(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    await extend(farm, compared, variants=("r6",))
    await ab_tests()
    await build_all(farm)
    await ab_tests()
    (probe,) = await farm.store.probes(state="new")
    await measure(farm, past, await farm.store.change(probe, epoch="2"))
    await ComparisonRequests(farm).cancel(compared)
    await ab_tests()
    (series,) = (await shown(farm, compared))["report"]["series"]
    assert [len(sample["values"]) for sample in series["samples"]] == [0, 0, 2]
    said = {change["beyond_luck"]["said"] for change in series["changes"]}
    assert said == {"undecided: needs about 3 more boots of each"}
    assert any(
        f"measure what is missing by `bench-compare --extend {compared}`" in note
        for note in series["notes"]
    )


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"variants": ("r5",)}, "r5 is there twice; name each variant once"),
        ({"variants": ("n5",)}, "r5 and r5 are the same variant"),
        ({"variants": ("r99",)}, "r99 is no commit of main"),
        ({"variants": ("r6",), "labels": {"r6": "r5"}}, "r5 and r6 are both called 'r5'"),
        ({"labels": {"r5": "X"}}, "'X' is for r5, which is not compared; label one of the new"),
        ({"iterations": 3, "more": 98}, "101 boots of each are too many: 100 are the most"),
    ],
)
async def test_what_does_not_fit_is_named_and_changes_nothing(
    farm, asked, complaint, past, ab_tests
):
    compared = await measured(farm, past, ab_tests)
    with pytest.raises(UsageError) as caught:
        await extend(farm, compared, **asked)
    assert complaint in str(caught.value)
    assert (await farm.store.ab_test(compared)).state == "done"


async def test_fewer_boots_than_there_are_are_refused(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    await extend(farm, compared, more=2)
    with pytest.raises(UsageError, match="has 5 boots of each, not 3; nothing measured is thrown"):
        await extend(farm, compared, iterations=3)
    with pytest.raises(UsageError, match="there is no comparison 99"):
        await extend(farm, 99, more=1)


async def test_a_strangers_patch_waits_for_approval_however_it_comes_in(farm, past, ab_tests):
    compared = await measured(farm, past, ab_tests)
    asked = {"variants": ("r4+file:x",), "patches": {"x": PATCH}}
    answer = await extend(farm, compared, trusted=False, **asked)
    assert answer["state"] == "awaiting approval"
    # Who asks for more boots meanwhile approves nothing by that.
    assert (await extend(farm, compared, trusted=False, more=1))["state"] == "awaiting approval"
    await ComparisonRequests(farm).decide(compared, "ann", approved=False)
    with pytest.raises(UsageError, match="is rejected; start another one"):
        await extend(farm, compared, more=1)
