"""A search carries a fix through the revisions that do not work without it."""

import hashlib

import pytest

from buildbot_bench.api.requests import MoreBoots, SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.queries.evidence import gather
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.requests.search_requests import SearchRequests, measure_more
from buildbot_bench.render.message import report_text
from tests.fakes.past import Past, boots
from tests.gitrepo import Commit, make_repository

BROKEN_FROM, SLOW_FROM, REPAIRED = 4, 7, 9
DRIVER = {True: "attach\ndetach\n", False: "attach\npanic\n"}


@pytest.fixture
def story(tmp_path):
    """r1 to r12: the driver panics from r4 on until r9 repairs it, and r7 makes it slow."""
    commits = [
        Commit(
            files={
                "sys/driver.c": DRIVER[not BROKEN_FROM <= n < REPAIRED],
                "sys/kernel.c": f"r{n}\n",
            },
            subject=f"Change {n}",
            svn=n,
        )
        for n in range(1, 13)
    ]
    # r9 changes nothing else: it is to fit.
    commits[REPAIRED - 1] = Commit(
        files={"sys/driver.c": DRIVER[True]}, subject="Do not panic", svn=REPAIRED
    )
    home = tmp_path / "story"
    return home, make_repository(home, commits)


@pytest.fixture
def farm(make_farm, story):
    made = make_farm(repository=story[0])
    made.history.fetch()
    return made


@pytest.fixture
def past(farm, story) -> Past:
    return Past(farm, dict(enumerate(story[1], start=1)))


async def lab_answers(farm, past) -> list[tuple[str, bool]]:
    """Build and boot what is asked for; label, and whether it has the fix, of each image."""
    asked = []
    for probe in await farm.store.probes(state="new"):
        image = await farm.store.image(probe.image_id)
        patched = bool(parse_recipe(image.variant).patches)
        asked.append((image.label, patched))
        if BROKEN_FROM <= image.position < REPAIRED and not patched:
            await farm.store.change(image, changed_at=1.0, state="untestable", reason="panic")
            failed = {"failure": "panic", "failure_kind": "untestable"}
            await farm.store.change(probe, state="done", **failed)
            continue
        digest = hashlib.sha256(image.variant.encode()).hexdigest()
        await farm.store.change(image, changed_at=1.0, state="built", digest=digest, size=9)
        level = 0.8e6 if image.position >= SLOW_FROM else 1e6
        for ordinal, one in enumerate(boots(level, probe.iterations, series=probe.id)):
            await past.add(probe, ordinal, one)
        await farm.store.change(probe, state="done", ended_at=farm.now())
    return asked


async def searched(farm, past) -> set[tuple[str, bool]]:
    """Search to the end; label and whether it has the fix of all that was booted."""
    booted: set[tuple[str, bool]] = set()
    for _ in range(120):
        await Searching(farm).advance()
        asked = await lab_answers(farm, past)
        if not asked:
            return booted
        booted |= set(asked)
    raise AssertionError("the search asks for ever")


async def test_the_culprit_is_found_where_nothing_works_without_the_fix(farm, past, story):
    told = await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_="r9"), "ann")
    booted = await searched(farm, past)
    search = await farm.store.search(told["searchid"])
    assert search.state == "found"
    (step,) = search.answer.steps
    assert (step.old, step.new) == (SLOW_FROM - 2, SLOW_FROM - 1)  # r6 and r7, from r1
    fix = story[1][REPAIRED - 1][:12]
    assert (f"r6+commit:{fix}", True) in booted
    assert {label for label, patched in booted if not patched} >= {"r1", "r12"}


async def test_without_it_the_culprit_is_one_of_those_that_panic(farm, past):
    told = await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12"), "ann")
    await searched(farm, past)
    search = await farm.store.search(told["searchid"])
    (step,) = search.answer.steps
    assert step.new - step.old > 1


async def test_the_report_says_where_the_fix_is_and_how_to_repeat_it(farm, past, story):
    told = await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_="r9"), "ann")
    await searched(farm, past)
    fix = story[1][REPAIRED - 1][:12]
    text = report_text(await report_of(farm, await farm.store.search(told["searchid"])))
    said = " ".join(text.split())
    assert f"The search applied {fix} to" in said
    assert "It does not apply to r1" in said
    assert f"--with {fix}" in said


async def test_what_was_measured_without_the_fix_counts_only_where_it_does_not_fit(farm, past):
    for position in (2, 5, 10):
        await past.measured(position, boots(1e6))
    told = await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_="r9"), "ann")
    inputs = await gather(farm, await farm.store.search(told["searchid"]))
    assert {m.position + 1 for m in inputs.evidence.measurements} == {2, 10}


async def test_a_person_who_measures_a_revision_gets_what_the_search_builds(farm, past, story):
    told = await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_="r9"), "ann")
    fix = story[1][REPAIRED - 1][:12]
    wanted = {("r5", False): (f"r5+commit:{fix}", 0), ("r5", True): (f"r5+commit:{fix}", 1)}
    wanted |= {("r2", False): ("r2", 0), ("r10", False): ("r10", 0)}
    for (revision, fresh), (label, ordinal) in wanted.items():
        boots = MoreBoots(revision=revision, iterations=2, fresh=fresh)
        asked = await measure_more(farm, told["searchid"], boots)
        probe = await farm.store.probe(asked["probeid"])
        image = await farm.store.image(probe.image_id)
        assert (asked["label"], image.label, image.ordinal) == (label, label, ordinal)
        patches = (await fix_of(farm),) if "+" in label else ()
        assert parse_recipe(image.variant).patches == patches
    await lab_answers(farm, past)
    inputs = await gather(farm, await farm.store.search(told["searchid"]))
    booted = {(m.position + 1, m.image) for m in inputs.evidence.measurements}
    assert booted == {(2, 0), (5, 0), (5, 1), (10, 0)}


async def fix_of(farm) -> str:
    """The SHA-256 of the patch that the only search carries."""
    (search,) = await farm.store.searches()
    return search.fix_patch


async def test_a_search_without_it_takes_no_notice_of_images_with_it(farm, past):
    await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_="r9"), "ann")
    await searched(farm, past)
    told = await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12"), "ann")
    inputs = await gather(farm, await farm.store.search(told["searchid"]))
    assert {image.variant for image in inputs.images.values()} <= set(past.shas.values())


async def test_the_patch_is_kept_for_the_builders(farm, story):
    await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_="r9"), "ann")
    (search,) = await farm.store.searches()
    patch = await farm.store.patch(search.fix_patch)
    assert search.fix_sha == story[1][REPAIRED - 1]
    assert b"-panic\n+detach\n" in patch.body


@pytest.mark.parametrize(
    ("fix", "complaint"),
    [
        ("r1", "r1 is in r1 already; search without --with"),
        ("r99", "r99 is no commit of main"),
        ("--all", "'--all' is not a revision"),
    ],
)
async def test_a_fix_that_is_none_starts_nothing(farm, fix, complaint):
    with pytest.raises(UsageError, match=complaint):
        await SearchRequests(farm).start(SearchQuestion(old="r1", new="r12", with_=fix), "ann")
    assert await farm.store.searches() == []
