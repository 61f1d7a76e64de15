"""What is known of a search's range, counted from its old end."""

from dataclasses import replace

import pytest

from buildbot_bench.core.item import COMMAND_FACT
from buildbot_bench.core.metric import Metric
from buildbot_bench.plugin.queries.evidence import ASSUMED_BUILD_S, gather
from tests.fakes.database import sha
from tests.fakes.gated import COUNTED, GATED, count
from tests.fakes.past import Past, boots


async def test_the_range_is_that_of_the_search_both_ends_included(past, farm):
    inputs = await gather(farm, await past.search(3, 8))
    assert [r.label for r in inputs.range.revisions] == ["r3", "r4", "r5", "r6", "r7", "r8"]


async def test_every_boot_in_the_range_counts_whoever_asked_for_it(past, farm):
    await past.measured(3, (1.0e6, 1.1e6), reason="commit")
    other = await past.search(1, 9)
    await past.measured(8, (0.8e6,), reason="search", search_id=other.id)
    inputs = await gather(farm, await past.search(3, 8))
    assert [(m.position, m.value) for m in inputs.evidence.measurements] == [
        (0, 1.0e6),
        (0, 1.1e6),
        (5, 0.8e6),
    ]
    assert [sample.position for sample in inputs.samples] == [0, 5]
    assert [sample.label for sample in inputs.samples] == ["r3", "r8"]


async def test_boots_outside_the_range_do_not_count(past, farm):
    await past.measured(2, (1e6,))
    await past.measured(9, (1e6,))
    assert (await gather(farm, await past.search(3, 8))).evidence.measurements == ()


async def test_boots_on_another_testbed_or_workload_do_not_count(past, farm):
    await past.measured(4, (1e6,), testbed="xeon")
    await past.measured(5, (1e6,), workload="ipfw")
    assert (await gather(farm, await past.search(3, 8))).evidence.measurements == ()


async def test_an_iteration_that_failed_is_no_measurement(past, farm):
    probe = await past.measured(4, (1e6,))
    await past.add(probe, 1, None)
    (only,) = (await gather(farm, await past.search(3, 8))).evidence.measurements
    assert only.value == 1e6


async def test_images_of_a_history_that_was_rewritten_do_not_count(past, farm):
    await past.measured(await past.image(5, sha=sha(5)), (1e6,))
    inputs = await gather(farm, await past.search(3, 8))
    assert inputs.images == {}
    assert inputs.evidence.measurements == ()
    assert inputs.evidence.built == frozenset()


async def test_a_further_build_of_a_revision_is_told_apart(past, farm):
    await past.measured(4, (1e6,))
    await past.measured(await past.image(4, ordinal=1), (1.02e6,))
    evidence = (await gather(farm, await past.search(3, 8))).evidence
    assert [(m.position, m.image) for m in evidence.measurements] == [(1, 0), (1, 1)]
    assert evidence.built == {1}


async def test_only_the_epoch_of_the_last_boot_counts(past, farm):
    await past.measured(3, boots(1e6), epoch="old switch")
    await past.measured(8, (0.8e6,), epoch="new switch")
    measurements = (await gather(farm, await past.search(3, 8))).evidence.measurements
    assert [m.position for m in measurements] == [5]


async def test_only_the_metric_of_the_search_counts(past, farm):
    await past.measured(3, (1e6,))
    probe = await past.measured(8, (0.8e6,))
    await past.add(probe, 0, 17.0, unit="packets/CPU-s")
    search = await past.search(3, 8, unit="packets/CPU-s")
    measurements = (await gather(farm, search)).evidence.measurements
    assert [(m.position, m.value) for m in measurements] == [(5, 17.0)]


async def test_what_is_built_what_is_untestable_and_what_is_the_same_kernel(past, farm):
    await past.image(3, digest="a" * 64)
    await past.image(4, digest="b" * 64)
    await past.image(5, digest="b" * 64)
    await past.image(6, state="untestable", reason="panic")
    await past.image(7, state="wanted")
    evidence = (await gather(farm, await past.search(3, 8))).evidence
    assert evidence.built == {0, 1, 2}
    assert evidence.untestable == {3}
    assert evidence.same_as_previous == {2}


async def test_kernels_that_differ_in_their_version_alone_are_one(past, farm):
    await past.image(3, digest="a" * 64, kernel_digest="k" * 64)
    await past.image(4, digest="b" * 64, kernel_digest="k" * 64)
    await past.image(5, digest="b" * 64, kernel_digest="l" * 64)
    assert (await gather(farm, await past.search(3, 8))).evidence.same_as_previous == {1}


async def test_one_kernel_on_both_sides_of_what_is_untestable_is_one(past, farm):
    await past.image(3, kernel_digest="k" * 64)
    await past.image(4, state="untestable", reason="panic", kernel_digest="p" * 64)
    await past.image(5, state="untestable", reason="does not compile")
    await past.image(6, kernel_digest="k" * 64)
    await past.image(7, state="untestable", reason="does not compile")
    await past.image(8, kernel_digest="l" * 64)
    evidence = (await gather(farm, await past.search(3, 8))).evidence
    assert (evidence.same_across, evidence.same_as_previous) == ({3}, frozenset())


async def test_a_build_is_assumed_to_take_what_it_takes_elsewhere_until_there_is_one(past, farm):
    search = await past.search(3, 8)
    before = (await gather(farm, search)).costs
    assert (before.build_s, before.boot_s, before.run_s) == (ASSUMED_BUILD_S, 60.0, 30.0)
    for position, build_s in ((3, 100.0), (4, 300.0), (5, 110.0)):
        await past.image(position, build_s=build_s)
    assert (await gather(farm, search)).costs.build_s == 110.0


async def test_what_counts_as_a_change_is_what_was_asked_for(past, farm):
    search = await past.search(3, 8, min_effect=0.07, error=0.002, claimed=-0.2)
    policy = (await gather(farm, search)).policy
    assert (policy.min_effect, policy.error, policy.claimed) == (0.07, 0.002, -0.2)
    assert policy.higher_is_better


async def test_the_noise_is_learnt_from_before_the_range_too(past, farm):
    search = await past.search(15, 20)
    assumed = (await gather(farm, search)).policy.sigma_run
    for position in range(1, 12):
        await past.measured(position, (1e6, 1.0001e6, 0.9999e6, 1.00005e6))
    learnt = (await gather(farm, search)).policy.sigma_run
    assert learnt < assumed / 5


async def test_how_many_images_lie_far_off_is_learnt_from_before_the_range_too(past, farm):
    search = await past.search(15, 20)
    assumed = (await gather(farm, search)).policy.far_share
    for position in range(1, 15):
        level = 0.96e6 if position in {4, 9, 12} else 1e6
        await past.measured(position, tuple(level * (1 + k / 1000) for k in range(-2, 3)))
    assert (await gather(farm, search)).policy.far_share > 2 * assumed


async def test_a_testbed_never_seen_is_not_taken_for_noisier_than_what_is_asked_of_it(past, farm):
    search = replace(await past.search(3, 8), min_effect=0.001)
    unseen = (await gather(farm, search)).policy
    assert max(unseen.sigma_run, unseen.sigma_build) <= 0.001
    await past.measured(3, (1.0e6,))
    assert (await gather(farm, search)).policy.sigma_run > 0.001


async def test_no_image_is_relinked_for_what_layout_does_not_move(past, farm):
    search = await past.search(3, 8, unit="instructions/packet")
    probe = await past.measured(3, (1e6, 1.1e6))
    assert (await gather(farm, await past.search(3, 8))).policy.images
    await past.add(probe, 0, 3607.5, unit="instructions/packet")
    assert not (await gather(farm, search)).policy.images


async def counted(make_farm, published, *figures: tuple[int, float]) -> Past:
    """A farm with a gate that counted these."""
    past = Past(make_farm(*GATED), published[2])
    await past.commits(*range(1, 12))
    for position, figure in figures:
        await count(past, position, figure)
    return past


async def test_where_the_gates_figure_moved_the_hardware_looks_first(make_farm, published):
    past = await counted(make_farm, published, (3, 1e3), (5, 1e3), (6, 1010.0), (8, 1010.0))
    policy = (await gather(past.farm, await past.search(3, 8))).policy
    assert policy.weights is not None
    assert max(policy.weights) == policy.weights[2] == pytest.approx(0.5 + 0.5 / 5)
    assert len(policy.weights) == 5


async def test_figures_outside_of_the_range_say_nothing(make_farm, published):
    past = await counted(make_farm, published, (1, 900.0), (3, 1e3), (8, 1e3), (9, 1100.0))
    assert (await gather(past.farm, await past.search(3, 8))).policy.weights is None


async def test_the_gate_itself_has_no_prior_of_itself(make_farm, published):
    past = await counted(make_farm, published, (3, 1e3), (5, 1010.0), (8, 1010.0))
    search = await past.search(3, 8, testbed="xeon", unit=COUNTED)
    assert (await gather(past.farm, search)).policy.weights is None


async def test_what_another_testbed_sampled_is_no_prior(make_farm, published):
    past = Past(make_farm(*GATED), published[2])
    await past.measured(3, boots(1e6), testbed="xeon")
    await past.measured(6, boots(0.9e6), testbed="xeon")
    assert (await gather(past.farm, await past.search(3, 8))).policy.weights is None


async def alike(past, **facts):
    """Four runs of two images of a revision that came out as one, by a testbed that tells facts."""
    past.facts = {COMMAND_FACT: "./bench"} | facts
    for ordinal in (0, 1):
        image = await past.image(4, ordinal=ordinal, digest="4" * 64)
        await past.measured(image, boots(1e6, series=ordinal))


async def test_where_runs_are_randomised_luck_with_layout_is_in_the_noise_as_without_a_farm(
    past, farm
):
    await alike(past, randomised="the size of the environment")
    policy = (await gather(farm, await past.search(3, 8))).policy
    assert (policy.images, policy.layout, policy.sigma_build) == (False, False, 0.0)


@pytest.mark.parametrize("facts", [{}, {"randomised": "nothing: one size of environment"}])
async def test_where_they_are_not_the_layout_stays_in_doubt(past, farm, facts):
    await alike(past, **facts)
    policy = (await gather(farm, await past.search(3, 8))).policy
    assert (policy.images, policy.layout) == (False, True)
    assert policy.sigma_build > 0


async def test_a_revision_whose_further_images_do_not_build_ends_the_asking_for_them(past, farm):
    await past.measured(4, boots(1e6))
    for ordinal in (1, 2):
        await past.image(4, ordinal=ordinal, state="untestable", reason="ld: no")
    assert (await gather(farm, await past.search(3, 8))).policy.images
    await past.image(4, ordinal=3, state="untestable", reason="ld: no")
    assert not (await gather(farm, await past.search(3, 8))).policy.images


async def test_a_revision_whose_boots_do_not_give_the_value_searched_is_passed_over(past, farm):
    value = Metric(name="BM/7", unit="ns", higher_is_better=False)
    for position, boots_of in ((3, 2), (5, 3), (8, 2)):
        probe = await past.measured(position, (1e6,) * boots_of)
        for ordinal in range(boots_of if position != 5 else 0):
            named = {value: 10.0 + position}
            await farm.store.add_values(probe=probe, ordinal=ordinal, named=named)
    evidence = (await gather(farm, await past.search(3, 8, value="BM/7"))).evidence
    assert [(m.position, m.value) for m in evidence.measurements] == [
        (0, 13.0), (0, 13.0), (5, 18.0), (5, 18.0),
    ]  # fmt: skip
    assert evidence.untestable == {2}
    assert 2 not in evidence.built
