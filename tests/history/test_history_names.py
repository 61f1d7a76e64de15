"""Which commit a person means: numbers, hashes, tags, branches."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import Revision
from buildbot_bench.history import MirrorHistory
from tests.gitrepo import Commit, add_commits, git, make_repository, numbered


def test_r_number_is_found_by_its_note(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(311848, 311852))
    history.fetch()
    found = history.resolve("r311849")
    assert found == Revision(
        sha=shas[1],
        position=2,
        svn=311849,
        parent_sha=shas[0],
        subject="Change 311849",
        author="A Committer <committer@example.org>",
        committed_at_s=1_484_000_120,
    )


@pytest.mark.parametrize("claiming", [1, 3])
def test_r_number_that_two_commits_claim_is_the_older_before_and_after_a_restart(
    tmp_path: Path, origin: Path, history: MirrorHistory, claiming: int
) -> None:
    """What the notes gain later is kept beside the table: it came first until the next start."""
    shas = make_repository(origin, [Commit(svn=n) for n in (10, 20, 30, 40)])
    history.fetch()
    assert history.resolve("r30").sha == shas[2]
    note = "svn path=/head/; revision=30\n"
    git(origin, "notes", "add", "-f", "-m", note, shas[claiming])
    history.fetch()
    warnings: list[str] = []
    restarted = MirrorHistory(tmp_path / "mirror", str(origin), on_warning=warnings.append)
    restarted.fetch()
    older = shas[min(claiming, 2)]
    assert history.resolve("r30").sha == older
    for _ in range(2):
        assert restarted.resolve("r30").sha == older
    (warning,) = warnings
    assert warning.startswith("r30 is claimed by 2 commits of main")
    assert shas[2][:12] in warning
    assert shas[claiming][:12] in warning
    for one in (history, restarted):
        assert one.oddities("r30") == one.oddities() == (warning,)
        assert one.oddities("r10") == ()


def test_r_number_of_another_branch_names_its_neighbours(
    origin: Path, history: MirrorHistory
) -> None:
    shas = make_repository(origin, [Commit(svn=n) for n in (10, 20, 30)])
    (other,) = add_commits(origin, [Commit(svn=25)], branch="stable", on=shas[1])
    history.fetch()
    with pytest.raises(UsageError) as refused:
        history.resolve("r25")
    assert str(refused.value) == (
        "r25 is no commit of main; the nearest are r20 and r30; stable has it, "
        f"which on.push.branches does not take: name it {other[:12]}"
    )


def test_r_number_is_looked_for_on_each_branch_that_was_given(tmp_path: Path, origin: Path) -> None:
    shas = make_repository(origin, [Commit(svn=n) for n in (10, 20, 30)])
    add_commits(origin, [Commit(svn=25)], branch="stable", on=shas[1])
    history = MirrorHistory(tmp_path / "mirror", str(origin), branches=("main", "stable"))
    history.fetch()
    assert history.resolve("r25").position == 3


def test_r_number_without_notes_says_where_they_should_be(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(origin, [Commit()])
    history.fetch()
    with pytest.raises(UsageError, match="no Subversion numbers in refs/notes/commits"):
        history.resolve("r1")


def test_notes_that_come_after_their_commits_are_seen(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, [*numbered(1, 3), Commit(subject="late")])
    history.fetch()
    assert history.resolve("r3").label == "r3"
    assert history.resolve("main").label == "n4"
    git(origin, "notes", "add", "-m", "svn path=/head/; revision=4", shas[3])
    history.fetch()
    assert history.resolve("r4").sha == shas[3]


def test_commits_that_come_later_are_found_by_number(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 3))
    history.fetch()
    assert history.resolve("r3").position == 3
    add_commits(origin, numbered(4, 6))
    history.fetch()
    assert [history.resolve(f"r{n}").position for n in (1, 4, 6)] == [1, 4, 6]


def test_notes_of_a_long_history_are_found_in_their_directories(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(origin, numbered(311848, 313448))
    history.fetch()
    assert "/" in git(origin, "ls-tree", "-r", "--name-only", "refs/notes/commits")
    assert history.resolve("r313448").position == 1601
    assert history.resolve("n1000").label == "r312847"


def test_n_number_counts_first_parents(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, [Commit(), Commit()])
    side = add_commits(origin, [Commit(), Commit()], branch="side", on=shas[0])
    merge = add_commits(origin, [Commit(merged=side[-1])], on=shas[1])
    history.fetch()
    assert history.resolve("n3").sha == merge[0]
    assert history.resolve(side[-1]).position == 3
    with pytest.raises(UsageError, match="there is no n4; main has n1 to n3"):
        history.resolve("n4")


def test_hashes_tags_and_branches(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(1, 4))
    git(origin, "tag", "light", shas[1])
    git(origin, "tag", "-a", "-m", "A release", "release/1.0", shas[2])
    history.fetch()
    found = {n: history.resolve(n).sha for n in ("light", "release/1.0", "main")}
    assert found == {"light": shas[1], "release/1.0": shas[2], "main": shas[3]}
    assert history.resolve(shas[0]).sha == shas[0]
    assert history.resolve(shas[0][:12].upper()).sha == shas[0]


def test_a_branch_that_looks_like_a_hash_is_a_branch(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(1, 2))
    git(origin, "branch", shas[1][:8], shas[0])
    history.fetch()
    assert history.resolve(shas[1][:8]).sha == shas[0]


def test_an_ambiguous_abbreviation_lists_the_commits(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(1, 1601))
    history.fetch()
    prefixes = [sha[:4] for sha in shas]
    ambiguous = next(prefix for prefix in prefixes if prefixes.count(prefix) > 1)
    with pytest.raises(UsageError) as refused:
        history.resolve(ambiguous)
    assert f"{ambiguous} is short for" in refused.value.message
    candidates = [sha[:12] for sha in shas if sha.startswith(ambiguous)]
    assert all(candidate in refused.value.hint for candidate in candidates)


def test_a_tree_is_no_commit(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 1))
    history.fetch()
    with pytest.raises(UsageError, match="is no commit"):
        history.resolve(git(origin, "rev-parse", "main^{tree}"))


def test_a_tag_of_a_file_names_no_revision(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 1))
    git(origin, "tag", "key", git(origin, "rev-parse", "main:sys/kernel.c"))
    history.fetch()
    with pytest.raises(UsageError, match="there is no commit, tag or branch 'key'"):
        history.resolve("key")


def test_an_unknown_name_offers_the_nearest(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 1))
    history.fetch()
    with pytest.raises(UsageError, match="'maim'; did you mean main"):
        history.resolve("maim")
    with pytest.raises(UsageError, match="no branch 'master'"):
        history.tip("master")


def test_the_names_that_other_clones_have(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, numbered(1, 4))
    git(origin, "tag", "-a", "-m", "A release", "v1.0", shas[1])
    history.fetch()
    described = git(origin, "describe", "main")
    assert described.startswith("v1.0-2-g")
    expected = {
        **dict.fromkeys(("HEAD", "@", "origin/main", "refs/heads/main", described), shas[3]),
        **dict.fromkeys(("v1.0^{}", "v1.0^{commit}", "refs/tags/v1.0", "tags/v1.0"), shas[1]),
        **dict.fromkeys(("main^", "main~1", "@~1", "origin/main^1"), shas[2]),
        "main^^~": shas[0],
    }
    assert {name: history.resolve(name).sha for name in expected} == expected


def test_a_date_is_the_newest_commit_of_a_branch_by_then(
    origin: Path, history: MirrorHistory
) -> None:
    shas = make_repository(origin, numbered(1, 4))
    times = [int(git(origin, "log", "-1", "--format=%ct", sha)) for sha in shas]
    history.fetch()
    at = [datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S") for time_s in times]
    assert history.resolve(f"main@{{{at[2]}}}").sha == shas[2]
    assert history.resolve(f"main@{{{at[2]}Z}}~1").sha == shas[1]
    assert history.resolve(f"@{{{at[0][:10]}}}").sha == shas[3], "the whole day"
    with pytest.raises(UsageError, match=r"was committed by 1999-12-31 \(UTC\); name a later day"):
        history.resolve("main@{1999-12-31}")


def test_git_agrees_on_what_a_name_means(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(origin, [Commit(), Commit()])
    side = add_commits(origin, [Commit()], branch="side", on=shas[0])
    add_commits(origin, [Commit(merged=side[-1]), Commit()], on=shas[1])
    history.fetch()
    for name in ("main", "main~1", "main^", "main~2^", "main^^^", "main^1~1", "side^0", "@~3"):
        assert history.resolve(name).sha == git(origin, "rev-parse", name)
    with pytest.raises(UsageError, match="leaves the first-parent history"):
        history.resolve("main~1^2")
