"""A comparison has those further images built and booted that its verdict needs, and no others."""

import hashlib
from collections import Counter

import pytest

from buildbot_bench.api.requests import ComparisonQuestion, Extension
from buildbot_bench.core.compare.schedule import BootLimits
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.wire import ONE_IMAGE
from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.db.ab_test_rows import AbTestImage
from buildbot_bench.plugin.db.columns import Priority
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, directory_of
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from tests.fakes.database import iterated

pytestmark = pytest.mark.both_databases

WOBBLE = (0.0, 0.002, -0.0015, 0.0025, -0.003)
LEVEL = 500_000.0
LIMITS = BootLimits(boots=3, images=6)


class Lab:
    """Builds and boots all that a comparison asks for; `lucky` is what some images gain."""

    def __init__(self, farm, past, lucky=None, *, facts=None, broken=(), alike=False) -> None:
        self.farm, self.past = farm, past
        self.lucky, self.facts, self.broken = lucky or {}, facts or {}, set(broken)
        self.alike = alike
        self.booted: list[tuple[str, int]] = []
        self.advance = AbTests(farm).advance

    async def build(self) -> None:
        for image in await self.farm.store.images():
            if image.state not in {"wanted", "building"}:
                continue
            told = {"state": "untestable", "reason": "ld: undefined symbol"}
            if (image.label, image.ordinal) not in self.broken:
                name = f"{image.variant} {'' if self.alike else image.ordinal}"
                digest = hashlib.sha256(name.encode()).hexdigest()
                told = {"state": "built", "digest": digest, "size": 9}
            await self.farm.store.change(image, changed_at=1.0, **told)

    async def measure(self, probe) -> None:
        image = await self.farm.store.image(probe.image_id)
        for ordinal in range(probe.iterations):
            self.past.farm.master.reactor.advance(1)
            off = self.lucky.get((image.label, image.ordinal), 0.0)
            off += WOBBLE[len(self.booted) % len(WOBBLE)]
            value, now = LEVEL * (1 + off), self.farm.now()
            await iterated(
                self.farm.store, probe, value, at_s=now, ordinal=ordinal, facts=self.facts
            )
            self.booted.append((image.label, image.ordinal))
        await self.farm.store.change(probe, state="done", ended_at=self.farm.now())

    async def run(self) -> None:
        """Until nothing more is asked for."""
        while True:
            await self.advance()
            await self.build()
            await self.advance()
            probes = await self.farm.store.probes(state="new")
            if not probes:
                return
            for probe in probes:
                await self.measure(probe)

    @property
    def images(self) -> dict[str, Counter[int]]:
        found: dict[str, Counter[int]] = {}
        for label, image in self.booted:
            found.setdefault(label, Counter())[image] += 1
        return found


async def start(farm, *variants: str, images: int = LIMITS.images) -> int:
    question = ComparisonQuestion(
        variants=variants or ("r4", "r5"), iterations=LIMITS.boots, images=images
    )
    return (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]


async def shown(farm, number: int) -> dict:
    return await ComparisonViews(farm).describe(number)


async def test_both_sides_of_a_small_difference_get_a_second_image(farm, past):
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    number = await start(farm)
    await lab.run()
    told = await shown(farm, number)
    (series,) = told["report"]["series"]
    assert told["state"] == "done"
    assert {label: sorted(images) for label, images in lab.images.items()} == {
        label: [image["image"] for image in images]
        for label, images in zip(("r4", "r5"), series["images"], strict=True)
    }
    assert min(len(images) for images in series["images"]) >= 2
    assert series["changes"][0]["verdict"] == "worse"
    boots = sum(image["boots"] for images in series["images"] for image in images)
    assert (told["boots"], told["boots_done"], len(lab.booted)) == (boots, boots, boots)
    assert "images, " in told["text"]
    assert "pool the boots of all images" in told["markdown"]


async def test_first_images_come_first_and_then_the_variants_take_turns(farm, past):
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    await start(farm)
    await lab.run()
    first, further = lab.booted[:6], lab.booted[6:]
    assert [label for label, _ in first] == ["r4", "r5", "r5", "r4", "r4", "r5"]
    assert {image for _, image in first} == {0}
    assert 0 not in {image for _, image in further}
    counts: Counter[str] = Counter()
    for label, _ in further:
        counts[label] += 1
        assert abs(counts["r4"] - counts["r5"]) <= 1


async def test_one_unlucky_image_is_not_called_a_change(farm, past):
    lab = Lab(farm, past, {("r5", 0): -0.08})
    number = await start(farm)
    await lab.run()
    (series,) = (await shown(farm, number))["report"]["series"]
    assert series["changes"][0]["verdict"] not in {"worse", "better"}
    assert len(lab.images["r5"]) >= 2


async def test_a_large_difference_needs_no_second_image(farm, past):
    lab = Lab(farm, past, {("r5", 0): -0.4})
    number = await start(farm)
    await lab.run()
    (change,) = (await shown(farm, number))["report"]["series"][0]["changes"]
    assert change["verdict"] == "worse"
    assert lab.images == {"r4": {0: 3}, "r5": {0: 3}}
    assert len(await farm.store.images()) == 2


async def test_one_image_of_each_is_what_was_asked_for(farm, past):
    lab = Lab(farm, past, {("r5", 0): -0.06})
    number = await start(farm, images=1)
    await lab.run()
    told = await shown(farm, number)
    assert lab.images == {"r4": {0: 3}, "r5": {0: 3}}
    assert "cannot be decided with one image of each, worse" in told["text"]
    assert "no further image of each variant: one of each was asked for" in told["text"]
    assert told["boots"] == 6


@pytest.mark.parametrize(
    ("lab", "why"),
    [
        ({"facts": {ONE_IMAGE: "one build was recorded"}}, "each variant: one build was recorded"),
        ({"alike": True}, "each variant: the job 'kernel' cannot relink"),
    ],
)
async def test_what_cannot_be_relinked_has_one_image_and_the_report_says_why(farm, past, lab, why):
    lab = Lab(farm, past, {("r5", 0): -0.06}, **lab)
    number = await start(farm)
    await lab.run()
    told = await shown(farm, number)
    assert lab.images == {"r4": {0: 3}, "r5": {0: 3}}
    assert (told["state"], told["boots"]) == ("done", 6)
    assert f"no further image of {why}" in told["text"]
    assert "cannot be decided with one image of each" in told["text"]


async def test_an_image_that_does_not_link_is_replaced_and_two_are_enough(farm, past):
    luck = {("r5", image): -0.06 for image in range(9)}
    lab = Lab(farm, past, luck, broken={("r5", 1)})
    await start(farm)
    await lab.run()
    assert {0, 2} <= set(lab.images["r5"])
    assert 1 not in lab.images["r5"]
    other = Lab(farm, past, broken={("r7", 1), ("r7", 2)})
    number = await start(farm, "r6", "r7")
    await other.run()
    told = await shown(farm, number)
    assert told["state"] == "done"
    assert set(other.images["r7"]) == {0}
    assert "no further image of r7: ld: undefined symbol" in told["text"]


async def test_what_a_search_built_and_booted_is_not_made_again(farm, past):
    for position in (4, 5):
        image = await past.image(position, ordinal=1)
        level = LEVEL * (1 if position == 4 else 0.94)
        await past.measured(image, (level, level * 1.001, level * 0.999), reason="search")
    farm.master.reactor.advance(1)
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    number = await start(farm)
    await lab.run()
    assert all(image != 1 for _, image in lab.booted)
    (series,) = (await shown(farm, number))["report"]["series"]
    (second,) = [image for image in series["images"][1] if image["image"] == 1]
    assert second["boots"] == 3
    assert second["level"] == pytest.approx(LEVEL * 0.94)


async def test_what_others_measure_later_changes_no_report(farm, past):
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    number = await start(farm)
    await lab.run()
    before = (await shown(farm, number))["text"]
    image = await past.image(5, ordinal=1)
    farm.master.reactor.advance(1)
    await past.measured(image, (1.0, 2.0, 3.0), reason="search", epoch="2")
    assert (await shown(farm, number))["text"] == before


async def test_a_broker_that_died_asks_for_no_image_twice(farm, past):
    lab = Lab(farm, past, {("r5", 0): -0.06})
    number = await start(farm)
    await lab.advance()
    await lab.build()
    for _ in range(6):
        await lab.advance()
        for probe in await farm.store.probes(state="new"):
            await lab.measure(probe)
    wanted = (await farm.store.ab_test(number)).further
    assert {one.number for one in wanted} == {1}
    images = await farm.store.images()
    await AbTests(farm).advance()
    assert (await farm.store.ab_test(number)).further == wanted
    assert await farm.store.images() == images
    assert await farm.store.probes(state="new") == []


async def test_further_images_are_built_before_those_of_commits_and_kept(farm, past, master):
    lab = Lab(farm, past, {("r5", 0): -0.06})
    number = await start(farm)
    await lab.advance()
    await lab.build()
    for _ in range(6):
        await lab.advance()
        for probe in await farm.store.probes(state="new"):
            await lab.measure(probe)
    told = await shown(farm, number)
    assert told["now"].startswith("building r4, image 1")
    assert told["boots"] > told["boots_done"] == 6
    await Issuer(farm, master).issue()
    urgency = {request.properties["bench_ordinal"]: request.priority for request in master.requests}
    assert urgency[1] == Priority.PERSON
    further = {one.image_id for one in (await farm.store.ab_test(number)).further}
    assert further <= await farm.store.needed_images()


async def test_a_cancelled_one_goes_on_with_the_images_it_has(farm, past):
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    number = await start(farm)
    for _ in range(8):
        await lab.advance()
        await lab.build()
        for probe in await farm.store.probes(state="new"):
            await lab.measure(probe)
    await ComparisonRequests(farm).cancel(number)
    await lab.advance()
    assert (await farm.store.ab_test(number)).state == "cancelled"
    await ComparisonRequests(farm).extend(number, Extension(more=1), "ann")
    await lab.run()
    assert all(boots <= LIMITS.boots + 1 for own in lab.images.values() for boots in own.values())
    assert all(own[0] == LIMITS.boots + 1 for own in lab.images.values())
    told = await shown(farm, number)
    assert (told["state"], told["boots_done"]) == ("done", len(lab.booted))


async def test_one_with_a_single_image_may_get_more_and_none_is_taken_away(farm, past):
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    number = await start(farm, images=1)
    await lab.run()
    await ComparisonRequests(farm).extend(number, Extension(images=4), "ann")
    await lab.run()
    assert min(len(own) for own in lab.images.values()) >= 2
    assert all(own[0] == LIMITS.boots for own in lab.images.values())
    with pytest.raises(UsageError, match="images of a variant, not 1; nothing measured is thrown"):
        await ComparisonRequests(farm).extend(number, Extension(images=1), "ann")


async def test_who_asks_is_told_what_a_small_difference_takes(farm):
    question = ComparisonQuestion(variants=("r4", "r5"), iterations=3, images=6)
    told = await ComparisonRequests(farm).start(question, "ann")
    assert (told["boots"], told["images"]) == (6, 6)
    expected = told["expected"]
    assert 2 <= expected["images"] <= 6
    assert expected["boots"] > 6
    assert expected["hours"] > told["hours"]
    one = ComparisonQuestion(variants=("r4", "r6"), iterations=3, images=1)
    assert (await ComparisonRequests(farm).start(one, "ann"))["expected"] is None


async def test_the_result_directory_has_the_boots_of_all_images(farm, past):
    lab = Lab(farm, past, {("r5", image): -0.06 for image in range(6)})
    number = await start(farm)
    await lab.run()
    rows = await directory_of(farm, await farm.store.ab_test(number))
    files = {row["path"]: row["text"] for row in rows if "text" in row}
    for name, own in (("4", lab.images["r4"]), ("5", lab.images["r5"])):
        assert len(files[f"{name}.forwarding.pps"].split()) == own.total()
        logs = [path for path in files if path.startswith(f"RAW/bench.{name}.forwarding.")]
        assert sum(".receiver" in path for path in logs) == own.total()
    own = lab.images["r5"]
    assert f"- r5: {len(own)} images, {own.total()} boots: 0: " in files["README.md"]


async def test_boots_of_an_image_are_raised_and_never_lowered(farm):
    number = await start(farm)
    image = (await farm.store.ab_test(number)).variants[1].image_id

    async def want(boots: int) -> list[int]:
        one = AbTestImage(
            place=1,
            testbed="apu",
            workload="forwarding",
            number=1,
            image_id=image,
            boots=boots,
        )
        return [row.boots for row in (await farm.store.want_images(number, [one])).further]

    assert [await want(2), await want(4), await want(3)] == [[2], [4], [4]]
