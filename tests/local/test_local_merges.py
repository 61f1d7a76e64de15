"""A local search goes on inside merges, and takes any OLD that shares history with NEW."""

from dataclasses import replace
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.report.model import ReportKind
from buildbot_bench.core.report.related import Inside, expected_inside, section_of
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.local.campaign import Campaign, LocalSearch
from buildbot_bench.local.merges import Merges
from buildbot_bench.local.recipe import BuildRecipe, BuildStep
from buildbot_bench.local.reports import SearchIntoMerges
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.render.message import report_text
from tests.fakes import reports
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher
from tests.fakes.reports import history
from tests.gitrepo import git
from tests.merging import (
    FAST,
    SLOW,
    ZLIB,
    Project,
    deflate,
    import_zlib,
    one_merge,
    zlib_clash,
    zlib_drop,
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def checkout(project: Project) -> Path:
    return project.path


@pytest.fixture
def search(repository, bench_for):
    def run(old="base", new="main", *, build="", skip=(), first_parent=False):
        revisions = Revisions(git=repository.git)
        between = revisions.between(old, new, first_parent=first_parent)
        asked = LocalSearch(
            campaign=Campaign(
                recipe=BuildRecipe(steps=(BuildStep(script=build),) if build else ()),
                workload=CommandWorkload(run="read", value="last-number", unit="units"),
                name="read",
            ),
            between=between,
            terms=SearchPolicy(error=0.01, min_effect=0.02),
            skipped=revisions.named_in(between, skip),
            first_parent=first_parent,
        )
        bench, watcher = bench_for(asked, ReadMeasurer()), SilentWatcher()
        merges = Merges(revisions=revisions)
        return SearchIntoMerges(bench, watcher, merges, skip=skip).run(asked), watcher

    return run


def said_of_merges(report) -> str:
    return " ".join(line for one in report.added for line in one.lines)


def test_the_commit_that_a_merge_brought_is_named(project, search):
    one_merge(project)
    report, watcher = search()
    assert report.kind is ReportKind.CULPRIT
    assert report.headline.new.subject == "side 3"
    assert report.headline.new.sha == git(project.path, "rev-parse", "side~2")
    assert report.headline.old.subject == "side 2"
    assert report.commits == 5
    (notice,) = (one for one in watcher.notices if "goes on inside" in one)
    assert "is a merge of 5 commits" in notice
    assert "measured merged with n3 (" in said_of_merges(report)
    text = report_text(report)
    assert text.startswith(f'{report.headline.new.sha[:10]} "side 3" lowered')
    assert "Inside the merge n4" in text


def test_a_merge_is_one_commit_where_that_is_asked(project, search):
    one_merge(project)
    report, _ = search(first_parent=True)
    assert report.headline.new.subject == "Merge side"
    assert report.added == ()


def test_a_merge_that_is_itself_to_blame_is_named(project, search):
    project.branch("side")
    project.several("side", 3)
    git(project.path, "checkout", "--quiet", "main")
    project.several("main", 2)
    project.merge("side", level=SLOW)
    project.several("later", 1)
    report, _ = search()
    assert report.headline.new.subject == "Merge side"
    assert "the merge itself: neither of its parents is slow alone" in said_of_merges(report)


def test_a_branch_that_conflicts_is_measured_as_it_stands(project, search):
    project.branch("side")
    project.commit("side first", settings="of the side\n")
    project.several("side", 4, slow=2)
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first", settings="of main\n")
    project.several("main", 1)
    project.merge("side", settings="of both\n")
    report, _ = search()
    assert report.headline.new.subject == "side 2"
    assert "measured as it stands, from n1 (" not in said_of_merges(report)
    assert "each was measured as it stands, from " in said_of_merges(report)
    assert report.old.sha == git(project.path, "rev-parse", "base")


def test_merges_inside_merges_are_entered(project, search):
    project.branch("deep")
    project.several("deep", 4, slow=2)
    project.branch("side")
    project.several("side", 2)
    project.merge("deep", into="side")
    project.several("more", 2)
    git(project.path, "checkout", "--quiet", "main")
    project.several("main", 2)
    project.merge("side")
    report, _ = search()
    assert report.headline.new.subject == "deep 2"
    assert len([one for one in report.added if one.title.startswith("Inside the merge")]) == 2


def test_a_fast_forward_of_main_into_the_branch_costs_nothing(project, repository):
    project.branch("side")
    project.several("side", 2, slow=2)
    git(project.path, "checkout", "--quiet", "main")
    project.several("main", 1)
    project.merge("main", into="side")
    project.merge("side")
    revisions = Revisions(git=repository.git)
    before, merge = revisions.between("base", "main").revisions[-2:]
    brought = Merges(revisions=revisions).brought(before, merge, shown=(before, merge))
    assert [one.subject for one in brought.shown.revisions[1:]] == ["side 1", "side 2"]
    assert brought.built.new.sha == merge.sha


def test_a_commit_inside_can_be_skipped(project, search):
    one_merge(project)
    report, _ = search(skip=("side~2",))
    assert [one.subject for one in report.headline.suspects] == ["side 3", "side 4"]
    with pytest.raises(UsageError, match="is not in the range"):
        search("main~1", skip=("side",))


def test_what_cannot_be_measured_inside_leaves_the_merge_as_the_answer(project, search):
    project.branch("side")
    project.commit("side first", settings="of the side\n")
    project.several("side", 2, slow=2)
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first", settings="of main\n")
    project.merge("side", settings="of both\n")
    report, _ = search(build="grep -q 'of \\(main\\|both\\)' settings || test ! -e side-2")
    assert report.headline.new.subject == "Merge side"
    assert "nothing could be measured" in said_of_merges(report)


def test_old_may_lie_on_a_branch_that_was_merged(project, repository):
    one_merge(project)
    revisions = Revisions(git=repository.git)
    between = revisions.between("side~2", "main")
    assert [one.subject for one in between.revisions] == [
        *("side 3", "side 4", "side 5", "Merge side", "later 1", "later 2")
    ]
    assert [one.label for one in between.revisions] == [one.sha[:10] for one in between.revisions]
    with pytest.raises(UsageError, match="is on a branch that was merged into it"):
        revisions.between("side~2", "main", first_parent=True)


def test_a_way_from_a_branch_does_not_enter_what_main_had_already(project, search):
    one_merge(project, slow=5)
    git(project.path, "checkout", "--quiet", "main")
    report, _ = search("side~3", "main")
    assert report.headline.new.subject == "side 5"


def test_from_an_old_beside_new_the_merge_base_is_measured(project, repository):
    one_merge(project)
    project.branch("release", "main~1")
    project.commit("released")
    between = Revisions(git=repository.git).between("release", "main")
    assert [one.subject for one in between.revisions] == ["later 1", "later 2"]
    assert between.new.label == "n6"


def test_the_forecast_covers_the_merges(project, repository, search, bench_for, ask):
    one_merge(project)
    revisions = Revisions(git=repository.git)
    between = revisions.between("base", "main")
    sizes = Merges(revisions=revisions).sizes(between)
    assert sizes == {git(project.path, "rev-parse", "main~2"): 5}
    known = bench_for(question := ask(upto=6), ReadMeasurer()).known(question)
    said = expected_inside(tuple(sizes.values()), known.between.n, known.costs, known.policy)
    assert said.startswith("1 of 5 commits merge others: inside such a one, of 5 commits at most")
    assert expected_inside((), known.between.n, known.costs, known.policy) == ""


OF_ZLIB = f"cp {ZLIB}/level level && test ! -e deflate.c -a ! -e inflate.c"


def brought_by(repository, name="main"):
    revisions = Revisions(git=repository.git)
    before, merge = revisions.between(f"{name}~1", name).revisions
    return Merges(revisions=revisions).brought(before, merge, shown=(before, merge))


def test_a_vendors_commits_are_merged_into_the_directory_that_its_files_have(
    project, search, repository
):
    import_zlib(project)
    git(project.path, "tag", "imported")
    zlib_drop(project)
    brought = brought_by(repository)
    assert [one.subject for one in brought.shown.revisions[1:]] == ["zlib 1", "zlib 2", "zlib 3"]
    assert set(brought.under.values()) == {ZLIB}
    assert brought.built.new.sha == git(project.path, "rev-parse", "main")
    for made, sha in zip(brought.built.revisions[1:], ("vendor~2", "vendor~1"), strict=False):
        git(project.path, "checkout", "--quiet", "main~1")
        git(project.path, "merge", "--quiet", "--no-ff", f"-Xsubtree={ZLIB}", "-m", "M", sha)
        assert git(project.path, "rev-parse", "HEAD^{tree}") == git(
            project.path, "rev-parse", f"{made.sha}^{{tree}}"
        )
    git(project.path, "checkout", "--quiet", "main")
    report, _ = search("imported", build=OF_ZLIB)
    assert report.headline.new.subject == "zlib 2"
    assert "its tree is not the one" not in said_of_merges(report)


def test_a_vendors_commits_that_conflict_are_left_out_and_never_built_as_they_stand(
    project, search, repository
):
    import_zlib(project)
    git(project.path, "tag", "imported")
    zlib_clash(project)
    brought = brought_by(repository)
    assert brought.conflicts == {1, 2}
    assert brought.built.new.sha == git(project.path, "rev-parse", "main")
    report, _ = search("imported", build=OF_ZLIB)
    subjects = [one.subject for one in report.headline.suspects]
    assert subjects == ["zlib clashes", "zlib slow", "zlib gives way"]
    assert "One of 3 commits" in said_of_merges(report)
    assert "without a conflict" in report_text(report)


def test_a_vendors_merge_that_was_changed_by_hand_is_told(project, search):
    import_zlib(project)
    git(project.path, "tag", "imported")
    zlib_drop(project, **{f"{ZLIB}/config.h": "made anew\n"})
    report, _ = search("imported", build=OF_ZLIB)
    assert report.headline.new.subject == "zlib 2"
    told = said_of_merges(report)
    assert "its tree is not the one that git makes of its parents" in told


def test_a_vendors_merge_that_is_itself_to_blame_claims_no_more_than_was_measured(project, search):
    import_zlib(project)
    git(project.path, "tag", "imported")
    git(project.path, "checkout", "--quiet", "vendor")
    project.several("zlib", 3)
    git(project.path, "checkout", "--quiet", "main")
    project.merge("vendor", under=ZLIB, **{f"{ZLIB}/level": SLOW})
    report, _ = search("imported", build=OF_ZLIB)
    assert report.headline.new.subject == "Merge vendor"
    assert "alone, and its tree is not the one that git makes" in said_of_merges(report)


def test_a_squashed_drop_is_one_commit(project, search):
    import_zlib(project)
    git(project.path, "tag", "imported")
    git(project.path, "checkout", "--quiet", "vendor")
    project.commit("Squashed changes", level=SLOW, **{"inflate.c": "new\n"})
    project.merge("vendor", under=ZLIB)
    report, _ = search("imported", build=OF_ZLIB)
    assert report.headline.new.subject == "Squashed changes"


def test_a_first_import_is_one_commit(project, search, repository):
    import_zlib(project)
    assert brought_by(repository, "main~1") is None


def test_a_branch_from_before_a_move_is_merged_as_git_does(project, repository):
    """Its files lie in a directory of main now, which alone gives another tree."""
    project.commit("lib first", **{"lib.c": deflate(), "more.c": "more\n", "level": FAST})
    git(project.path, "branch", "old")
    (project.path / "src").mkdir()
    names = git(project.path, "ls-files").split()
    git(project.path, "mv", *(name for name in names if name != "settings"), "src")
    project.commit("moved")
    project.branch("side", "old")
    project.commit("side 1", **{"lib.c": deflate(line_3="theirs")})
    project.commit("side 2", settings="of the side\n")
    git(project.path, "rm", "--quiet", "side-1", "side-2")
    git(project.path, "commit", "--quiet", "--message", "side 3")
    project.merge("side")
    brought = brought_by(repository)
    assert brought.under == {}
    assert brought.built.new.sha == git(project.path, "rev-parse", "main")


def test_a_merge_below_min_effect_is_not_called_slow_by_itself():
    outer, nothing = reports.proven(), reports.not_reproduced()
    assert outer.headline is not None
    span = history(3)
    inside = Inside(
        merge=outer.headline.new,
        shown=span,
        onto=None,
        report=nothing,
    )
    small = replace(outer, setting=replace(outer.setting, min_effect=0.3))
    for report, said in (
        (small, "Inside it nothing reaches 30 %, as the merge does not: a smaller --min-effect"),
        (outer, "It is the merge itself: neither of its parents is slow alone."),
    ):
        assert section_of(report, inside).lines[-1].startswith(said)
