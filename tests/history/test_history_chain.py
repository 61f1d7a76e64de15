"""What lies between two revisions, and what a branch has that is new."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.revision import Revision
from buildbot_bench.history import MirrorHistory
from tests.gitrepo import Commit, add_commits, git, make_repository, numbered


def labels(revisions: Iterable[Revision]) -> list[str]:
    return [revision.label for revision in revisions]


def test_a_range_holds_both_ends_and_all_between(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(311848, 311852))
    history.fetch()
    found = history.range(history.resolve("r311849"), history.resolve("r311851"))
    assert labels(found.revisions) == ["r311849", "r311850", "r311851"]
    assert [revision.position for revision in found.revisions] == [2, 3, 4]
    assert found.n == 2


def test_a_range_of_one_revision_has_no_commits(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 2))
    history.fetch()
    assert history.range(history.tip("main"), history.tip("main")).n == 0


def test_exchanged_ends_are_refused(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 3))
    history.fetch()
    with pytest.raises(UsageError, match="r3 is newer than r1; name the old end first"):
        history.range(history.resolve("r3"), history.resolve("r1"))


def test_a_merged_side_branch_is_one_commit_of_the_range_and_no_end_of_it(
    origin: Path, history: MirrorHistory
) -> None:
    shas = make_repository(origin, numbered(1, 3))
    side = add_commits(origin, [Commit(), Commit()], branch="side", on=shas[0])
    add_commits(origin, [Commit(merged=side[-1], svn=4)])
    history.fetch()
    new = history.tip("main")
    assert labels(history.range(history.resolve("r1"), new).revisions) == [
        *("r1", "r2", "r3", "r4"),
    ]
    with pytest.raises(UsageError, match="no first-parent ancestor of r4"):
        history.range(history.resolve(side[0]), new)


def test_a_burst_of_1600_commits_is_listed_oldest_first(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(origin, numbered(311848, 311848))
    history.fetch()
    seen = history.tip("main")
    add_commits(origin, numbered(311849, 313448))
    history.fetch()
    assert labels(history.since("main", seen)) == [f"r{n}" for n in range(311849, 313449)]


def test_nothing_new_is_an_empty_list(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 3))
    history.fetch()
    assert list(history.since("main", history.tip("main"))) == []


def test_a_beginning_is_the_tip_alone(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 3))
    history.fetch()
    assert labels(history.since("main", None)) == ["r3"]


def test_a_forced_push_is_listed_from_where_it_parted(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(1, 5))
    history.fetch()
    seen = history.tip("main")
    add_commits(origin, numbered(11, 13), on=shas[2])
    history.fetch()
    found = history.since("main", seen)
    assert labels(found) == ["r11", "r12", "r13"]
    assert [revision.position for revision in found] == [4, 5, 6]
    assert history.resolve("r12").position == 5
    assert history.resolve(seen.sha) == seen


def test_a_branch_that_was_set_back_has_nothing_new(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(1, 5))
    history.fetch()
    seen = history.resolve("r5")
    git(origin, "update-ref", "refs/heads/main", shas[2])
    history.fetch()
    assert list(history.since("main", seen)) == []
    with pytest.raises(UsageError, match="r5 is no commit of main"):
        history.resolve("r5")


def test_what_the_mirror_never_saw_counts_as_a_beginning(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(origin, numbered(1, 5))
    history.fetch()
    stranger = replace(history.tip("main"), sha="0123456789" * 4)
    assert labels(history.since("main", stranger)) == ["r5"]


def test_a_branch_that_is_not_the_first_has_positions_of_its_own(
    origin: Path, history: MirrorHistory
) -> None:
    shas = make_repository(origin, numbered(1, 3))
    add_commits(origin, numbered(1001, 1100), branch="stable", on=shas[1])
    history.fetch()
    found = history.since("stable", history.resolve("n2"))
    assert [found[0].position, found[-1].position, len(found)] == [3, 102, 100]


def test_without_a_mirror_one_is_told_to_fetch(history: MirrorHistory) -> None:
    with pytest.raises(InfraError, match=r"is no mirror of .*; fetch it first"):
        history.tip("main")
