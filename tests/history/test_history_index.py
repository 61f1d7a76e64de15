"""What a long history leaves on disk: it makes a start fast and never makes an answer wrong."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.history import MirrorHistory
from tests.gitrepo import Commit, add_commits, git, make_repository, numbered

COMMITS = 6000


@pytest.fixture(scope="module")
def long_origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "src"
    shas = make_repository(path, numbered(1, COMMITS))
    add_commits(path, [Commit(svn=COMMITS + 1)], branch="stable", on=shas[4999])
    return path


@pytest.fixture
def origin(tmp_path: Path, long_origin: Path) -> Path:
    shutil.copytree(long_origin, tmp_path / "src")
    return tmp_path / "src"


@pytest.fixture
def start(tmp_path: Path, origin: Path) -> Callable[[], tuple[MirrorHistory, list[str]]]:
    """Begins as a master does that is started: it knows nothing; and what it then says."""

    def start() -> tuple[MirrorHistory, list[str]]:
        said = list[str]()
        history = MirrorHistory(
            tmp_path / "mirror",
            str(origin),
            on_progress=lambda progress: said.append(str(progress)),
        )
        return history, said

    return start


Start = Callable[[], tuple[MirrorHistory, list[str]]]


@pytest.fixture
def index(start: Start, tmp_path: Path) -> Path:
    """Where the index of a mirror lies that was read once."""
    history, _ = start()
    history.fetch()
    history.index()
    return tmp_path / "mirror" / "bench-index"


def all_well(history: MirrorHistory, last: int = COMMITS) -> bool:
    """Whether numbers mean what they must, near both ends and in the middle."""
    found = [history.resolve(f"r{n}") for n in (1, 2, 3456, last - 1, last)]
    assert [revision.label for revision in found] == [
        "r1",
        "r2",
        "r3456",
        f"r{last - 1}",
        f"r{last}",
    ]
    assert [revision.position for revision in found] == [1, 2, 3456, last - 1, last]
    assert history.resolve("n3456") == found[2]
    assert history.resolve(found[2].sha) == found[2]
    assert history.range(found[1], found[3]).n == last - 3
    return True


def test_a_long_history_is_read_once_and_says_how_far_it_is(start: Start) -> None:
    history, said = start()
    history.fetch()
    said.clear()
    history.index()
    assert "reading the history of src: 5000 commits" in said
    assert "reading the Subversion numbers of src: 83 % read" in said
    again, said = start()
    assert all_well(again)
    assert said == []


def test_what_came_since_the_last_start_is_added(start: Start, index: Path, origin: Path) -> None:
    add_commits(origin, numbered(COMMITS + 11, COMMITS + 20))
    history, _ = start()
    history.fetch()
    assert history.resolve(f"r{COMMITS + 20}").position == COMMITS + 10
    add_commits(origin, numbered(COMMITS + 21, COMMITS + 1020))
    history.fetch()
    assert history.resolve(f"r{COMMITS + 1020}").position == COMMITS + 1010
    again, said = start()
    assert again.resolve(f"r{COMMITS + 1020}").position == COMMITS + 1010
    assert said == []


def test_a_branch_that_moved_back_or_aside_is_followed(
    start: Start, index: Path, origin: Path
) -> None:
    shas = git(origin, "rev-list", "--reverse", "main").split()
    git(origin, "update-ref", "refs/heads/main", shas[2999])
    back, _ = start()
    back.fetch()
    assert back.tip("main").label == "r3000"
    with pytest.raises(UsageError, match="r3001 is no commit of main; the nearest are r3000"):
        back.resolve("r3001")
    assert back.resolve(shas[5000]).position == 5001
    add_commits(origin, numbered(7001, 8500), on=shas[2999])
    for history in (back, start()[0]):
        history.fetch()
        assert history.resolve("r8500").position == 4500
        assert history.resolve("n3001").label == "r7001"
        assert history.resolve(shas[5000]).position == 5001
        assert history.range(history.resolve("r2990"), history.resolve("r7010")).n == 20
        with pytest.raises(UsageError, match=r"r3001 is no commit of main; .*r3000 and r7001"):
            history.resolve("r3001")


def test_notes_that_changed_are_read_again(start: Start, index: Path, origin: Path) -> None:
    shas = git(origin, "rev-list", "--reverse", "main").split()
    git(origin, "notes", "remove", shas[9])
    git(origin, "notes", "add", "--force", "-m", "svn path=/head/; revision=9999", shas[10])
    history, said = start()
    history.fetch()
    said.clear()
    assert history.resolve("r9999").sha == shas[10]
    assert history.resolve("n10").label == "n10"
    with pytest.raises(UsageError, match="r11 is no commit of main; the nearest are r9 and r12"):
        history.resolve("r11")
    assert said == []
    git(origin, "notes", "add", "--force", "-m", "no number any more", shas[10])
    history.fetch()
    assert history.resolve("n11").label == "n11"


def test_notes_that_were_made_anew_or_taken_away_are_followed(
    start: Start, index: Path, origin: Path
) -> None:
    git(origin, "update-ref", "-d", "refs/notes/commits")
    shas = git(origin, "rev-list", "--reverse", "main").split()
    git(origin, "notes", "add", "-m", "svn path=/head/; revision=77", shas[0])
    history, _ = start()
    history.fetch()
    assert history.resolve("r77").sha == shas[0]
    with pytest.raises(UsageError, match="r3456 is no commit of main"):
        history.resolve("r3456")
    git(origin, "update-ref", "-d", "refs/notes/commits")
    history.fetch()
    with pytest.raises(UsageError, match="no Subversion numbers"):
        history.resolve("r77")


@pytest.mark.parametrize("name", ["svn", "*.line"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "other", "a directory", "gone"])
def test_an_index_that_is_damaged_is_made_again(
    start: Start, index: Path, name: str, damage: str
) -> None:
    [path] = index.glob(name)
    [other] = (file for file in index.iterdir() if file != path)
    whole = path.read_bytes()
    path.unlink()
    match damage:
        case "cut":
            path.write_bytes(whole[: len(whole) // 2])
        case "flipped":
            path.write_bytes(whole[:20000] + bytes([whole[20000] ^ 1]) + whole[20001:])
        case "emptied":
            path.touch()
        case "other":
            shutil.copy(other, path)
        case "a directory":
            path.mkdir()
    assert all_well(start()[0])
    assert path.is_dir() or path.read_bytes() == whole


def test_the_index_of_another_mirror_is_no_harm(start: Start, index: Path, tmp_path: Path) -> None:
    strange = make_repository(tmp_path / "strange", numbered(11, 2010))
    shutil.copytree(index, tmp_path / "kept")
    shutil.rmtree(tmp_path / "mirror")
    shutil.copytree(tmp_path / "kept", tmp_path / "mirror" / "bench-index")
    history = MirrorHistory(tmp_path / "mirror", str(tmp_path / "strange"))
    history.fetch()
    assert history.resolve("r12").sha == strange[1]
    assert history.resolve("n2000").label == "r2010"


def test_histories_of_one_mirror_do_not_disturb_one_another(
    start: Start, index: Path, origin: Path
) -> None:
    old, _ = start()
    assert all_well(old)
    add_commits(origin, numbered(COMMITS + 11, COMMITS + 2010))
    new, _ = start()
    new.fetch()
    assert new.resolve(f"r{COMMITS + 2010}").position == COMMITS + 2000
    assert old.resolve("n3456").label == "r3456"
    assert old.resolve(f"r{COMMITS + 2010}").position == COMMITS + 2000


def test_a_mirror_that_takes_no_files_still_answers(
    start: Start, index: Path, tmp_path: Path
) -> None:
    shutil.rmtree(index)
    index.write_text("in the way")
    assert all_well(start()[0])


def test_a_side_branch_has_positions_too(start: Start, index: Path) -> None:
    history, _ = start()
    assert history.tip("stable").position == 5001
    assert history.tip("stable").label == f"r{COMMITS + 1}"
    assert history.resolve(history.tip("stable").sha).position == 5001


def test_a_commit_whose_date_is_no_date_does_not_end_the_history(tmp_path: Path) -> None:
    origin = tmp_path / "src"
    make_repository(origin, [*numbered(1, 2)])
    text = git(origin, "cat-file", "commit", "main").replace("1484000120 +0000", "9" * 30 + " +9x")
    odd = origin / "odd"
    odd.write_text(text)
    sha = git(origin, "hash-object", "-t", "commit", "-w", "--literally", str(odd))
    add_commits(origin, numbered(4, 5), on=sha)
    history = MirrorHistory(tmp_path / "mirror", str(origin))
    history.fetch()
    history.index()
    assert history.tip("main").position == 4
    assert history.resolve("n3").label == "r4"
