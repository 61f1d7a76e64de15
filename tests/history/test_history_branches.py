"""Several branches in one repository: who has which number, what leads to what, where they part."""

from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.history import MirrorHistory
from tests.gitrepo import Commit, add_commits, git, make_repository, numbered


@pytest.fixture
def shas(origin: Path) -> dict[str, str]:
    """Main has r1 to r6; stable/14 parts at r3 and has r11, r12; releng/14.0 parts at r11."""
    main = make_repository(origin, numbered(1, 6))
    stable = add_commits(origin, numbered(11, 12), branch="stable/14", on=main[2])
    (releng,) = add_commits(origin, numbered(21, 21), branch="releng/14.0", on=stable[0])
    (other,) = add_commits(origin, numbered(31, 31), branch="stable/9", on=main[0])
    named = {f"r{n}": sha for n, sha in enumerate(main, 1)}
    return named | {"r11": stable[0], "r12": stable[1], "r21": releng, "r31": other}


@pytest.fixture
def farm(tmp_path: Path, origin: Path, shas: dict[str, str]) -> MirrorHistory:
    patterns = ("main", "stable/*", "releng/14.*", "!stable/9")
    history = MirrorHistory(tmp_path / "mirror", str(origin), branches=patterns)
    history.fetch()
    return history


def refused(farm: MirrorHistory, name: str) -> str:
    with pytest.raises(UsageError) as error:
        farm.resolve(name)
    return str(error.value)


def test_the_patterns_say_which_branches_are_watched(farm, origin) -> None:
    assert farm.watched() == ("main", "stable/14", "releng/14.0")
    git(origin, "branch", "stable/15", "main")
    git(origin, "branch", "-D", "releng/14.0")
    farm.fetch()
    assert farm.watched() == ("main", "stable/14", "stable/15")


def test_a_branch_that_is_named_and_not_there_is_missing(tmp_path, origin, shas) -> None:
    named = MirrorHistory(tmp_path / "m", str(origin), branches=("main", "stable/41", "x/*"))
    named.fetch()
    assert named.watched() == ("main",)
    assert named.missing() == ("stable/41",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("r12", "r12"),
        ("r3", "r3"),
        ("n2", "r2"),
        ("n6", "r6"),
        ("stable/14", "r12"),
        ("stable/14~1", "r11"),
        ("stable/14~", "r11"),
        ("stable/14~3", "r2"),
        ("main~3", "r3"),
        ("release/14~1", "r11"),
        ("r12~2", "r3"),
        ("stable/14-n5", "r12"),
        ("main-n5", "r5"),
        ("stable/14-n3", "r3"),
        ("stable/14-r11", "r11"),
        ("stable/9~1", "r1"),
    ],
)
def test_a_name_is_resolved_on_the_branch_that_has_it(farm, origin, shas, name, meant) -> None:
    git(origin, "tag", "release/14", shas["r12"])
    farm.fetch()
    assert farm.resolve(name).sha == shas[meant]


def test_a_name_may_carry_the_hash_as_uname_shows_it(farm, shas) -> None:
    assert farm.resolve(f"stable/14-n5-{shas['r12'][:12]}").sha == shas["r12"]


def test_a_branch_that_is_called_like_a_number_is_a_branch(farm, origin, shas) -> None:
    git(origin, "branch", "main-n2", shas["r5"])
    farm.fetch()
    assert farm.resolve("main-n2").sha == shas["r5"]


def test_a_count_that_branches_have_of_their_own_is_ambiguous(farm, shas) -> None:
    said = refused(farm, "n5")
    assert said == (
        f"n5 is another commit on each of main ({shas['r5'][:12]}), stable/14 ({shas['r12'][:12]}),"
        f" releng/14.0 ({shas['r21'][:12]}); say which: main-n5 or stable/14-n5 or releng/14.0-n5"
    )


def test_an_r_number_that_two_branches_claim_is_ambiguous(farm, origin, shas) -> None:
    (twice,) = add_commits(origin, [Commit(svn=12, subject="The same")], branch="main")
    farm.fetch()
    assert refused(farm, "r12") == (
        f"r12 is another commit on each of main ({twice[:12]}), stable/14 ({shas['r12'][:12]});"
        " say which: main-r12 or stable/14-r12"
    )
    assert farm.resolve("stable/14-r12").sha == shas["r12"]
    assert farm.resolve("main-r12").sha == twice


def test_an_r_number_of_a_branch_that_is_not_watched_is_told_where_it_is(farm, shas) -> None:
    said = refused(farm, "r31")
    assert said.startswith("r31 is no commit of main or stable/14 or releng/14.0; the nearest are")
    short = shas["r31"][:12]
    assert said.endswith(f"stable/9 has it, which on.push.branches does not take: name it {short}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("main~6", "there is no commit 6 before n6; its history has 5 before it"),
        ("n9", "there is no n9; main has n1 to n6, stable/14 has n1 to n5, releng/14.0 has n1 to"),
        ("stable/15", "there is no commit, tag or branch 'stable/15'; did you mean stable/"),
        ("stable/15-n3", "there is no branch 'stable/15'; did you mean stable/"),
        ("stable/14-n9", "there is no n9; stable/14 has n1 to n5"),
        ("main~1~x", "'main~1~x' is not a revision; write r311849, n245062, stable/14~3, a commit"),
        ("main~x", "'main~x' is not a revision"),
        ("~3", "'~3' is not a revision"),
        ("main^2", "'main^2' leaves the first-parent history; a merge is one commit here"),
    ],
)
def test_a_name_that_means_nothing_is_answered_with_what_to_try(farm, name, said) -> None:
    assert refused(farm, name).startswith(said)


def test_a_range_may_lead_from_the_trunk_to_a_branch(farm, shas) -> None:
    span = farm.range(farm.resolve("r2"), farm.resolve("stable/14"))
    assert [one.sha for one in span.revisions] == [shas[n] for n in ("r2", "r3", "r11", "r12")]
    assert [one.position for one in span.revisions] == [2, 3, 4, 5]


def test_a_range_across_branches_names_them_and_where_they_part(farm) -> None:
    with pytest.raises(UsageError) as error:
        farm.range(farm.resolve("r12"), farm.resolve("r6"))
    assert str(error.value) == (
        "r12 is on stable/14 and r6 on main: neither leads to the other; the branches part at r3:"
        " search r3 to r12 on stable/14, and r3 to r6 on main"
    )


def test_a_range_across_branches_gives_counts_that_can_be_typed(tmp_path, origin) -> None:
    main = make_repository(origin, [Commit(files={"a": str(n)}) for n in range(4)])
    add_commits(origin, [Commit(files={"b": "1"})], branch="stable/14", on=main[1])
    farm = MirrorHistory(tmp_path / "m", str(origin), branches=("main", "stable/*"))
    farm.fetch()
    with pytest.raises(UsageError) as error:
        farm.range(farm.resolve("main"), farm.resolve("stable/14"))
    assert str(error.value).endswith(
        "part at n2: search n2 to main-n4 on main, and n2 to stable/14-n3 on stable/14"
    )
    assert farm.range(farm.resolve("n2"), farm.resolve("main-n4")).n == 2


def test_a_branch_is_no_range_the_wrong_way_round(farm) -> None:
    with pytest.raises(UsageError, match="r12 is newer than r2; name the old end first"):
        farm.range(farm.resolve("r12"), farm.resolve("r2"))


def test_branches_know_what_they_share(farm, shas) -> None:
    assert farm.shared("stable/14", "main") == 3
    assert farm.shared("releng/14.0", "main") == 3
    assert farm.shared("releng/14.0", "stable/14") == 4
    assert farm.shared("stable/14", shas["r2"]) == 2
    assert farm.carriers(shas["r3"]) == ("main", "stable/14", "releng/14.0")
    assert farm.carriers(shas["r12"]) == ("stable/14",)
    assert farm.carriers(shas["r31"]) == ()
    assert farm.commit("stable/14", 4).sha == shas["r11"]


def test_a_long_history_is_read_once_for_all_branches(tmp_path, origin) -> None:
    main = make_repository(origin, numbered(1, 1500))
    add_commits(origin, numbered(2001, 2003), branch="stable/14", on=main[1399])
    read = []
    farm = MirrorHistory(
        tmp_path / "m",
        str(origin),
        branches=("main", "stable/*"),
        on_progress=read.append,
    )
    farm.fetch()
    farm.index()
    assert farm.resolve("r2003").position == 1403
    assert farm.resolve("stable/14~3").label == "r1400"
    again = MirrorHistory(tmp_path / "m", str(origin), branches=("main", "stable/*"))
    assert again.resolve("r2002").position == 1402
