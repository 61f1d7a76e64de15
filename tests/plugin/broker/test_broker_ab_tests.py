"""A comparison: two variants are built, booted in turns, and ended when nothing is missing."""

import base64
import hashlib
import re

import pytest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.db.columns import Priority
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, directory_of
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests

WOBBLE = (0.0, 0.004, -0.003, 0.005, -0.006)

LEVELS = {"r4": 500_000.0, "r4+VIMAGE": 520_000.0}


@pytest.fixture
def ab_tests(farm):
    return AbTests(farm).advance


@pytest.fixture
def start(farm):
    async def start(base="r4", new="r4+VIMAGE", *others, **asked) -> int:
        question = ComparisonQuestion(
            variants=(base, new, *others), iterations=asked.pop("iterations", 5), **asked
        )
        return (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]

    return start


async def build_all(farm) -> None:
    """Every image that is wanted is built."""
    for image in await farm.store.images():
        if image.state in {"wanted", "building"}:
            digest = hashlib.sha256(image.variant.encode()).hexdigest()
            await farm.store.change(image, changed_at=1.0, state="built", digest=digest, size=9)


async def measure(farm, past, probe) -> None:
    """The lab gives what a probe asked for."""
    image = await farm.store.image(probe.image_id)
    level = LEVELS.get(image.label, 500_000.0) * (1.1 if probe.tunables else 1.0)
    for ordinal in range(probe.iterations):
        await past.add(probe, ordinal, level * (1 + WOBBLE[(probe.id + ordinal) % len(WOBBLE)]))
    await farm.store.change(probe, state="done", ended_at=farm.now())


async def run(farm, past, ab_tests, **said) -> list[tuple[str, str, int]]:
    """Let builders and lab do all they are asked; the label, tunables and boots of each probe.

    `said` is what else becomes of each probe.
    """
    asked = []
    while True:
        await ab_tests()
        await build_all(farm)
        await ab_tests()
        new = await farm.store.probes(state="new")
        if not new:
            return asked
        for probe in new:
            image = await farm.store.image(probe.image_id)
            asked.append((image.label, probe.tunables, probe.iterations))
            await measure(farm, past, await farm.store.change(probe, **said) if said else probe)


async def test_nothing_is_booted_before_both_are_built(ab_tests, start, farm):
    await start()
    await ab_tests()
    assert await farm.store.probes() == []
    assert {image.label for image in await farm.store.images(state="wanted")} == set(LEVELS)


async def test_a_persons_images_are_built_before_those_of_commits(start, past, farm, master):
    await past.image(9, state="wanted")
    await start()
    await Issuer(farm, master).issue()
    urgency = {request.reason: request.priority for request in master.requests}
    assert urgency["build r4"] == urgency["build r4+VIMAGE"] == Priority.PERSON
    assert urgency["build r9"] < Priority.PERSON


async def test_the_scripts_are_told_the_kernels_options(start, farm, master):
    await start(new="r4+VIMAGE+nooptions:INVARIANTS")
    await Issuer(farm, master).issue()
    given = [request.properties.get("bench_options") for request in master.requests]
    assert given == [None, "nooptions INVARIANTS\noptions VIMAGE"]


async def test_the_scripts_are_told_the_patches_by_their_digests(start, farm, master):
    body = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
    await start(new="r4+file:my.patch", patches={"my.patch": body})
    await Issuer(farm, master).issue()
    given = [request.properties.get("bench_patches") for request in master.requests]
    assert given == [None, hashlib.sha256(body).hexdigest()]


async def test_boots_alternate_until_there_are_enough_of_each(ab_tests, start, past, farm):
    ab_test_id = await start()
    asked = await run(farm, past, ab_tests)
    assert [(label, n) for label, _, n in asked] == [
        ("r4", 1),
        ("r4+VIMAGE", 2),
        ("r4", 2),
        ("r4+VIMAGE", 2),
        ("r4", 2),
        ("r4+VIMAGE", 1),
    ]
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert (shown["state"], shown["boots_done"]) == ("done", 10)
    (comparison,) = shown["report"]["series"]
    (change,) = comparison["changes"]
    # One image of each, and no history of their luck.
    assert change["verdict"] == "undecided"
    assert "cannot be decided with one image of each, better by Student's t" in shown["text"]
    assert change["effect"] == pytest.approx(0.04, abs=0.01)
    assert "Difference at 95.0% confidence" in shown["text"]
    assert "| apu | forwarding |" in shown["markdown"]


async def test_a_broker_that_died_amid_a_turn_asks_for_nothing_twice(ab_tests, start, farm):
    await start()
    await build_all(farm)
    await ab_tests()
    await ab_tests()
    assert len(await farm.store.probes()) == 1


async def test_each_series_alternates_for_itself(make_farm, past):
    farm = make_farm(("[forwarding]", "[forwarding, pf-statefull]"))
    await ComparisonRequests(farm).start(
        ComparisonQuestion(variants=("r4", "r4+VIMAGE"), iterations=3), "ann"
    )
    asked = await run(farm, past, AbTests(farm).advance)
    assert sum(n for _, _, n in asked) == 2 * 3 * 2


async def test_a_boot_that_failed_is_made_up_for(ab_tests, start, past, farm):
    ab_test_id = await start(iterations=3)
    await build_all(farm)
    await ab_tests()
    (probe,) = await farm.store.probes()
    await past.add(probe, 0, None)
    await farm.store.change(probe, state="lost", ended_at=farm.now())
    await run(farm, past, ab_tests)
    shown = await ComparisonViews(farm).describe(ab_test_id)
    (comparison,) = shown["report"]["series"]
    assert [len(sample["values"]) for sample in comparison["samples"]] == [3, 3]


async def test_tunables_build_nothing_and_stay_out_of_the_plain_kernels_samples(
    ab_tests, start, past, farm
):
    ab_test_id = await start(new="r4+sysctl:net.x=1", iterations=3)
    asked = await run(farm, past, ab_tests)
    assert {(label, tunables) for label, tunables, _ in asked} == {("r4", ""), ("r4", "net.x=1")}
    assert len(await farm.store.images()) == 1
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert shown["report"]["variants"][1]["label"] == "r4+sysctl:net.x=1"
    assert shown["report"]["series"][0]["changes"][0]["effect"] == pytest.approx(0.1, abs=0.02)
    (sample,) = await farm.store.samples(("apu", "forwarding"), (4, 4))
    assert len(sample.values) == 3


async def test_kernels_that_differ_in_their_version_alone_are_not_booted(ab_tests, start, farm):
    ab_test_id = await start()
    for image in await farm.store.images():
        told = {"digest": f"{image.id}" * 64, "kernel_digest": "d" * 64, "size": 9}
        await farm.store.change(image, changed_at=1.0, state="built", **told)
    await ab_tests()
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert shown["state"] == "done"
    assert "no-op change" in shown["text"]
    assert await farm.store.probes() == []


async def test_a_variant_that_cannot_be_built_ends_the_comparison_with_the_reason(
    ab_tests, start, farm
):
    ab_test_id = await start()
    for image in await farm.store.images():
        if image.label == "r4+VIMAGE":
            await farm.store.change(
                image, changed_at=1.0, state="untestable", reason="error: vnet.h: No such file"
            )
    await ab_tests()
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert shown["state"] == "untestable"
    assert "r4+VIMAGE is untestable: error: vnet.h: No such file" in shown["text"]


async def test_a_tunable_that_the_testbed_refuses_says_nothing_of_the_kernel(ab_tests, start, farm):
    ab_test_id = await start(new="r4+sysctl:net.x=1", iterations=3)
    await build_all(farm)
    await ab_tests()
    (probe,) = await farm.store.probes()
    await farm.store.change(
        probe, state="done", failure="cannot set net.x", failure_kind="untestable"
    )
    await ab_tests()
    assert (await farm.store.ab_test(ab_test_id)).state == "untestable"
    assert [image.state for image in await farm.store.images()] == ["built"]


async def test_a_lab_that_loses_everything_ends_the_comparison(ab_tests, start, farm):
    ab_test_id = await start()
    await build_all(farm)
    for _ in range(MAX_FRUITLESS):
        await ab_tests()
        (probe,) = await farm.store.probes(state="new")
        await farm.store.change(probe, state="lost", failure="the switch is dead")
    await ab_tests()
    ended = await farm.store.ab_test(ab_test_id)
    assert (ended.state, ended.detail) == ("failed", "the switch is dead")


async def test_a_cancelled_comparison_asks_for_nothing_more(ab_tests, start, farm, master):
    ab_test_id = await start()
    await build_all(farm)
    await ab_tests()
    await Issuer(farm, master).issue()
    await ComparisonRequests(farm).cancel(ab_test_id)
    await ab_tests()
    (probe,) = await farm.store.probes()
    assert probe.state == "cancelled"
    assert master.data.cancelled == [probe.brid]
    assert (await farm.store.ab_test(ab_test_id)).state == "cancelled"


async def test_what_was_measured_is_a_result_directory(ab_tests, start, past, farm):
    ab_test_id = await start(iterations=3)
    await run(farm, past, ab_tests)
    rows = await directory_of(farm, await farm.store.ab_test(ab_test_id))
    files = {row["path"]: row["text"] for row in rows if "text" in row}
    graphs = {row["path"]: base64.b64decode(row["base64"]) for row in rows if "base64" in row}
    assert graphs["graph.png"].startswith(b"\x89PNG")
    assert b"<svg" in graphs["graph.svg"]
    assert set(graphs) == {"graph.png", "graph.svg"}
    assert "](graph.png)" in files["README.md"]
    assert {"README.md", "gnuplot.data", "4.forwarding.pps", "4VIMAGE.forwarding.pps"} <= set(files)
    assert "RAW/bench.4VIMAGE.forwarding.3.receiver" in files
    assert len(files["4.forwarding.pps"].split()) == 3


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"new": "r4"}, "r4 is there twice; name each variant once"),
        ({"new": "n4"}, "r4 and r4 are the same variant; name each once"),
        ({"labels": {"r9": "X"}}, "'X' is for r9, which is not compared"),
        ({"labels": {"r4+VIMAGE": "r4"}}, "r4 and r4+VIMAGE are both called 'r4'"),
        ({"new": "r99"}, "r99 is no commit of main"),
        ({"new": "r4+vimage"}, "'vimage' is no change of a kernel"),
        ({"new": "r4+D8526"}, "let its bench.yml say reviews: https://reviews.freebsd.org"),
        ({"new": "r4+file:my.patch"}, "the request does not contain the file my.patch"),
        ({"new": "r4+file:x", "patches": {"x": b"hello"}}, "x is no patch"),
        ({"testbeds": ("apu9",)}, "this farm has no testbed 'apu9'; it has apu"),
        ({"workloads": ("pf",)}, "this farm has no workload 'pf'; it has forwarding"),
    ],
)
async def test_a_wrong_question_starts_nothing(start, farm, asked, complaint):
    with pytest.raises(UsageError) as caught:
        await start(**asked)
    assert complaint in str(caught.value)
    assert await farm.store.ab_tests() == []


async def test_two_at_once_build_one(start, farm):
    body = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n"
    await start(new="r4+file:my.patch", patches={"my.patch": body})
    await start(new="r4+file:same.patch", patches={"same.patch": body})
    assert len(await farm.store.images()) == 2


async def test_a_testbed_may_have_a_min_effect_of_its_own(make_farm):
    farm = make_farm(("apu: {worker: lab,", "apu: {worker: lab, min-effect: 0.1%,"))
    answer = await ComparisonRequests(farm).start(ComparisonQuestion(variants=("r4", "r5")), "ann")
    assert (await farm.store.ab_test(answer["comparisonid"])).min_effect == pytest.approx(0.001)
    assert farm.workflow.regression.min_effect > 0.001


async def test_five_variants_are_booted_there_and_back(ab_tests, start, past, farm):
    ab_test_id = await start("r4", "r5", "r6", "r7", "r8", iterations=4)
    asked = await run(farm, past, ab_tests)
    assert [label for label, _, n in asked for _ in range(n)] == [
        *("r4", "r5", "r8", "r6", "r7"),
        *("r7", "r6", "r8", "r5", "r4"),
        *("r5", "r6", "r4", "r7", "r8"),
        *("r8", "r7", "r4", "r6", "r5"),
    ]
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert (shown["state"], shown["boots_done"], shown["boots"]) == ("done", 20, 20)
    assert shown["title"] == "4 variants against r4"
    assert [one["label"] for one in shown["variants"]] == ["r4", "r5", "r6", "r7", "r8"]
    assert shown["outcome"].startswith("forwarding: ")
    assert sum(int(n) for n in re.findall(r"(?:^forwarding:|,) (\d+) ", shown["outcome"])) == 4
    (told,) = shown["set_ups"]
    assert told["variants"] == ["r4", "r5", "r6", "r7", "r8"]
    assert all(len(fact["values"]) == len(told["variants"]) for fact in told["facts"])
    (series,) = shown["report"]["series"]
    assert len(series["changes"]) == 4
    assert not any("booted" in note for note in series["notes"])


async def test_a_label_is_what_a_variant_is_called_everywhere(ab_tests, start, past, farm):
    ab_test_id = await start(iterations=3, labels={"r4+VIMAGE": "IFLIB"})
    await run(farm, past, ab_tests)
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert shown["title"] == "IFLIB against r4"
    assert shown["variants"][1] == {"label": "IFLIB", "variant": "r4+VIMAGE"}
    assert "IFLIB is r4+VIMAGE" in shown["text"]
    rows = await directory_of(farm, await farm.store.ab_test(ab_test_id))
    assert "IFLIB.forwarding.pps" in {row["path"] for row in rows}


async def test_one_of_many_that_cannot_be_built_keeps_nothing_from_the_others(
    ab_tests, start, past, farm
):
    ab_test_id = await start("r4", "r5", "r6", iterations=3)
    for image in await farm.store.images():
        if image.label == "r5":
            await farm.store.change(image, changed_at=1.0, state="untestable", reason="no if.h")
    asked = await run(farm, past, ab_tests)
    assert {label for label, _, _ in asked} == {"r4", "r6"}
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert (shown["state"], shown["now"]) == ("untestable", "r5 is untestable: no if.h")
    verdicts = [one["verdict"] for one in shown["report"]["series"][0]["changes"]]
    assert verdicts == ["undecided", "undecided"]


async def test_a_kernel_that_is_anothers_is_not_booted_though_the_rest_is(
    ab_tests, start, past, farm
):
    ab_test_id = await start("r4", "r5", "r6", iterations=3)
    for image in await farm.store.images():
        kernel = {"r4": "a", "r5": "b", "r6": "b"}[image.label] * 64
        told = {"digest": f"{image.id}" * 64, "kernel_digest": kernel, "size": 9}
        await farm.store.change(image, changed_at=1.0, state="built", **told)
    asked = await run(farm, past, ab_tests)
    assert {label for label, _, _ in asked} == {"r4", "r5"}
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert shown["state"] == "done"
    assert "the kernel of r6 is that of r5 but for its version" in shown["text"]
