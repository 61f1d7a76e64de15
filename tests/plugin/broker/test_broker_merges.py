"""A farm's search goes on inside the merge that it found, down to one commit."""

from collections.abc import Callable

import pytest

from buildbot_bench.api.requests import SearchQuestion
from buildbot_bench.core.read_files import ReadFiles, pack_read_files
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.variant import Recipe, parse_recipe
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.finding_rows import Answers
from buildbot_bench.plugin.queries import ranges
from buildbot_bench.plugin.queries.evidence import gather_innermost, spans_of
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.search_requests import SearchRequests
from buildbot_bench.render.message import report_text
from tests.fakes.past import Past, boots
from tests.gitrepo import git
from tests.merging import SLOW, ZLIB, Project, import_zlib, zlib_clash, zlib_drop


def tree_of(project: Project, recipe: Recipe) -> str:
    """What a builder makes of a recipe."""
    git(project.path, "checkout", "--quiet", recipe.sha)
    for one in recipe.merged:
        into = [f"-Xsubtree={one.under}"] if one.under else []
        git(project.path, "merge", "--quiet", "--no-ff", "-m", "merged", *into, one.sha)
    return git(project.path, "rev-parse", "HEAD")


class World:
    """A farm that watches a project; kernels forward as a file of their tree says, `level`."""

    def __init__(self, farm, project: Project) -> None:
        self.farm, self.project = farm, project
        self.booted: list[Recipe] = []
        self.level = "level"
        self.broken: Callable[[Recipe], bool] = lambda _: False

    async def begun(self, *, first="", **columns):
        """A search of the whole main branch, or from a commit of it on."""
        self.farm.history.fetch()
        log = git(self.project.path, "rev-list", "--first-parent", "--reverse", "main").split()
        self.past = Past(self.farm, dict(enumerate(log, start=1)))
        old = log.index(git(self.project.path, "rev-parse", first)) + 1 if first else 1
        return await self.past.search(old, len(log), **columns)

    async def searched(self, **columns):
        """The same search when it has ended."""
        search = await self.begun(**columns)
        for _ in range(150):
            if (found := await self.turn(search.id)).ended_at is not None:
                return found
        raise AssertionError("the search asks for ever")

    async def turn(self, number: int):
        """Let the broker and the lab take a turn each; by a broker that remembers nothing."""
        await Searching(self.farm).advance()
        store = self.farm.store
        for image in await store.images(state="wanted"):
            digest = f"{image.id:x}-{image.ordinal}".ljust(64, "0")
            await store.change(image, state="built", digest=digest, size=9)
        for probe in await store.probes(state="new"):
            await self._boot(probe, await store.image(probe.image_id))
        return await store.search(number)

    async def _boot(self, probe, image) -> None:
        recipe = parse_recipe(image.variant)
        self.booted.append(recipe)
        if self.broken(recipe):
            failed = {"failure": "panic", "failure_kind": "untestable"}
            await self.farm.store.change(image, state="untestable", reason="panic")
            await self.farm.store.change(probe, state="done", **failed)
            return
        where = f"{tree_of(self.project, recipe)}:{self.level}"
        level = float(git(self.project.path, "show", where))
        for ordinal, value in enumerate(boots(1000 * level, probe.iterations, series=probe.id)):
            await self.past.add(probe, ordinal, value)
        await self.farm.store.change(probe, state="done", ended_at=self.farm.now())

    async def told(self, **columns) -> tuple[list[str | None], str]:
        """The culprits inside merges, by subject, and the report, in one line."""
        report = await report_of(self.farm, await self.searched(**columns))
        text = " ".join(report_text(report).split())
        return [one.culprit and one.culprit.subject for one in report.inside], text


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def world(make_farm, project) -> World:
    return World(make_farm(repository=project.path), project)


def two_merges_deep(project: Project) -> None:
    project.branch("deep")
    project.several("deep", 3, slow=2)
    project.branch("side")
    project.several("side", 2)
    project.merge("deep", into="side")
    project.commit("side last")
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first")
    project.merge("side")


async def test_the_commit_inside_a_merge_inside_a_merge_is_named(world, project):
    two_merges_deep(project)
    search = await world.begun()
    seen = set()
    while (now := await world.turn(search.id)).ended_at is None:
        if len(now.answers) == 1 and not seen:
            shown = await SearchViews(world.farm).describe(search.id)
            assert shown["now"].startswith("inside the merge: ")
            seen = {side for one in shown["suspects"] for side in (one["old"], one["new"])}
    side = git(project.path, "rev-list", "--first-parent", "base..side").split()
    assert seen <= {"n2", *(sha[:10] for sha in side)}
    assert now.state == "found"
    assert [(step.old, step.new) for step in now.steps] == [(1, 2)]  # the merge, on its branch
    report = await report_of(world.farm, now)
    outer, deep = report.inside
    assert (outer.merge.subject, outer.culprit.subject) == ("Merge side", "Merge deep")
    assert (deep.merge.subject, deep.culprit.subject) == ("Merge deep", "deep 2")
    sha = git(project.path, "rev-parse", "deep~1")
    assert deep.culprit.sha == sha
    assert f", inside it {sha[:10]}: forwarding -" in report.subject
    assert f'Inside this merge it is commit {sha[:10]} "deep 2".' in report.summary[0]
    text = report_text(report)
    assert "Inside the merge n3\n" in text
    assert f"Inside the merge {outer.culprit.sha[:10]}\n" in text
    before = git(project.path, "rev-parse", "main~1")
    inside = [one for one in world.booted if one.merged]
    assert {one.sha for one in inside} == {before}
    assert max(len(one.merged) for one in inside) == 2


async def test_a_merge_that_is_itself_to_blame_is_the_answer(world, project):
    project.branch("side")
    project.several("side", 2)
    git(project.path, "checkout", "--quiet", "main")
    project.merge("side", level=SLOW)
    inside, text = await world.told()
    assert inside == [None]
    assert "It is the merge itself: neither of its parents is slow" in text


async def test_a_branch_that_conflicts_and_does_not_build_leaves_the_merge(world, project):
    project.branch("side")
    project.commit("side first", settings="of the side\n")
    project.several("side", 2, slow=2)
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first", settings="of main\n")
    project.merge("side", settings="of both\n")
    side = git(project.path, "rev-list", "base..side").split()
    world.broken = lambda recipe: recipe.sha in side
    search = await world.searched()
    assert search.state == "found"
    report = await report_of(world.farm, search)
    assert [one.culprit for one in report.inside] == [None]
    assert {one.merged for one in world.booted} == {()}
    assert "measured as it stands" in report.added[0].lines[-1]
    rows = await world.farm.store.all_images_between(0, 9, "")
    labels = {row.sha: row.label for row in rows}
    assert {label for sha, label in labels.items() if sha in side} <= {sha[:10] for sha in side}


FOUND = Step(old=1, new=2, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
MERGE = Answer(steps=(FOUND,), reproduced=True, unresolved=(), reason="each step is located")


async def inside_of(world, **columns):
    search = await world.begun(**columns)
    return await world.farm.git(spans_of, world.farm, search, (MERGE,))


async def test_no_search_goes_inside_merges_with_first_parent_or_a_fix(world, project, make_farm):
    two_merges_deep(project)
    (span,) = await inside_of(world)
    assert (span.merge.subject, span.onto.subject) == ("Merge side", "main first")
    assert await inside_of(world, first_parent=True) == []
    fix = git(project.path, "rev-parse", "main~1")
    assert await inside_of(world, fix_sha=fix, fix_patch="0" * 64) == []
    strict = ("error: 1%}", "error: 1%, first-parent: true}")
    farm = make_farm(strict, repository=project.path)
    for given, meant in ((world.farm, False), (farm, True)):
        asked = await SearchRequests(given).forecast(SearchQuestion(old="n1", new="main"))
        said = [one for one in asked["warnings"] if "inside such a one, of 4 commits" in one]
        assert bool(said) is not meant
        started = await SearchRequests(given).start(SearchQuestion(old="n1", new="main"), "ann")
        assert (await given.store.search(started["searchid"])).first_parent is meant


async def test_a_merge_of_very_many_commits_is_one_commit(world, project, monkeypatch):
    two_merges_deep(project)
    monkeypatch.setattr(ranges, "MOST_INSIDE", 3)
    assert await inside_of(world) == []


async def test_the_second_branch_of_a_merge_is_merged_with_the_first(world, project):
    for name in ("one", "two"):
        project.branch(name)
        project.several(name, 2)
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first")
    git(project.path, "merge", "--quiet", "--no-ff", "-m", "Merge both", "one", "two")
    (span,) = await inside_of(world)
    first, last, other, _ = git(project.path, "rev-parse", "one~1", "one", "two~1", "two").split()
    recipes = [tuple(other.sha for other in one.recipe.merged) for one in span.commits]
    assert recipes == [(), (first,), (last,), (last, other), ()]


async def test_a_branch_of_another_history_has_no_inside(world, project):
    git(project.path, "checkout", "--quiet", "--orphan", "alien")
    project.commit("alien", level=SLOW)
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first")
    merge = ("merge", "--quiet", "-s", "ours", "--allow-unrelated-histories", "-m", "M", "alien")
    git(project.path, *merge)
    assert await inside_of(world) == []


async def test_a_vendors_commit_is_named_and_built_in_its_directory(world, project):
    import_zlib(project)
    zlib_drop(project)
    world.level = f"{ZLIB}/level"
    inside, text = await world.told(first="main~2")
    assert inside == ["zlib 2"]
    assert "Inside this merge it is commit" in text
    merged = {other for one in world.booted for other in one.merged}
    assert {one.under for one in merged} == {ZLIB}
    side = git(project.path, "rev-list", "vendor").split()
    assert not {one.sha for one in world.booted} & {*side}


async def test_the_names_of_a_vendors_files_weigh_no_commit(world, project):
    import_zlib(project)
    zlib_drop(project)
    search = await world.begun(first="main~2", inside=Answers(found=(MERGE,)))
    read = pack_read_files(ReadFiles(names=frozenset({f"{ZLIB}/deflate.c"})))
    await world.past.image(1, read_files=await world.farm.store.keep_read_files(read))
    inputs = await gather_innermost(world.farm, search)
    assert inputs.range.n == 3
    assert (inputs.prior, inputs.policy.weights) == (None, None)


async def test_of_several_commits_that_do_not_merge_none_is_called_the_culprit(world, project):
    import_zlib(project)
    zlib_clash(project)
    world.level = f"{ZLIB}/level"
    inside, text = await world.told(first="main~1")
    assert inside == [None]
    assert "One of 3 commits" in text
    assert "Inside this merge it is" not in text
    side = git(project.path, "rev-list", "vendor").split()
    assert not {one.sha for one in world.booted} & {*side}


async def test_a_search_that_is_cancelled_inside_a_merge_ends(world, project):
    two_merges_deep(project)
    search = await world.begun(inside=Answers(found=(MERGE,)))
    await Searching(world.farm).advance()
    (probe,) = await world.farm.store.probes_of_search(search.id)
    await SearchRequests(world.farm).cancel(search.id)
    await Searching(world.farm).advance()
    ended = await world.farm.store.search(search.id)
    assert (ended.state, ended.answer) == ("cancelled", None)
    assert (await world.farm.store.probe(probe.id)).state == "cancelled"
