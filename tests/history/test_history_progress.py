"""A fetch says how far it is, is waited for while it comes further, and says why it failed."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, StoppedError
from buildbot_bench.history import MirrorHistory
from buildbot_bench.history.fetching import parse_progress
from tests.gitrepo import Commit, add_commits, make_repository, numbered


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository that does not compress away."""
    path = tmp_path / "freebsd-src.git"
    noise = random.Random(1)
    files = {f"sys/f{n}.c": noise.randbytes(3000).hex() for n in range(100)}
    make_repository(path, [Commit(files=files, svn=1), *numbered(2, 50)])
    return path


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def history(tmp_path: Path, origin: Path, said: list[str]) -> MirrorHistory:
    url = f"ssh://example.org{origin}"
    return MirrorHistory(
        tmp_path / "mirror", url, on_progress=lambda progress: said.append(str(progress))
    )


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("remote: Enumerating objects: 3210, done.", "cloning src: 3210 objects counted"),
        ("remote: Counting objects:  43% (129/300)        ", "cloning src: 43 % counted"),
        ("remote: Compressing objects: 100% (9/9), done.", "cloning src: 100 % packed"),
        (
            "Receiving objects:  43% (129/300), 312.07 MiB | 5.20 MiB/s",
            "cloning src: 43 % received; 312 MiB",
        ),
        ("Receiving objects:   1% (3/300)", "cloning src: 1 % received"),
        (
            "Receiving objects:  99% (299/300), 1.21 GiB | 5.20 MiB/s",
            "cloning src: 99 % received; 1.21 GiB",
        ),
        (
            "Receiving objects:  1% (3/300), 700 bytes | 1 KiB/s",
            "cloning src: 1 % received; 700 bytes",
        ),
        ("Unpacking objects:  20% (1/5)", "cloning src: 20 % received"),
        ("Resolving deltas:   7% (7/100)", "cloning src: 7 % unpacked"),
        ("Checking connectivity: 1234", "cloning src: 1234 objects checked"),
    ],
)
def test_gits_own_lines_are_put_into_words(line: str, words: str) -> None:
    assert str(parse_progress(line, "cloning src")) == words


@pytest.mark.parametrize(
    "line",
    [
        "remote: Total 300 (delta 3), reused 0 (delta 0), pack-reused 0",
        "From ssh://example.org/src",
        " * [new branch]      main       -> main",
        "fatal: Receiving objects: 43% (1/2)",
        "remote: Receiving souls: 43% (1/2)",
        "Counting objects: ٤٣% (1/2)",
    ],
)
def test_other_lines_are_no_progress(line: str) -> None:
    assert parse_progress(line, "cloning src") is None


def test_a_count_of_any_length_is_no_harm() -> None:
    assert parse_progress("remote: Counting objects: " + "9" * 50_000, "cloning src") is not None


def test_a_clone_says_how_far_it_is_while_it_goes_on(
    history: MirrorHistory, transport: Path, said: list[str]
) -> None:
    (transport / "hold").write_text("200000")
    clone = threading.Thread(target=history.fetch)
    clone.start()
    eventually(lambda: any("% received" in line for line in said))
    assert not history.is_there
    assert clone.is_alive()
    assert all(line.startswith("cloning freebsd-src: ") for line in said)
    assert "cloning freebsd-src: 100 % received" not in " ".join(said)
    (transport / "hold").unlink()
    clone.join()
    assert history.is_there
    assert any("100 % received" in line for line in said)
    assert history.tip("main").label == "r50"


def test_what_follows_the_clone_is_a_fetch(
    history: MirrorHistory, transport: Path, origin: Path, said: list[str]
) -> None:
    history.fetch()
    said.clear()
    add_commits(origin, numbered(51, 300))
    history.fetch()
    assert said
    assert all(line.startswith("fetching freebsd-src: ") for line in said)


def test_a_clone_that_comes_further_is_not_left(history: MirrorHistory, transport: Path) -> None:
    (transport / "trickle").write_text("5000")
    began = time.monotonic()
    history.fetch(timeout_s=4.0)
    assert time.monotonic() - began > 5
    assert history.tip("main").label == "r50"


def test_a_clone_that_comes_no_further_is_left(history: MirrorHistory, transport: Path) -> None:
    (transport / "hold").write_text("200000")
    with pytest.raises(InfraError, match="git fetch took more than 3 s and came no further"):
        history.fetch(timeout_s=3.0)
    assert not history.is_there


def test_a_clone_that_is_stopped_leaves_no_git(
    history: MirrorHistory, transport: Path, said: list[str], tmp_path: Path
) -> None:
    (transport / "hold").write_text("200000")
    ended: list[InfraError] = []

    def fetch() -> None:
        try:
            history.fetch()
        except InfraError as error:
            ended.append(error)

    clone = threading.Thread(target=fetch)
    clone.start()
    eventually(lambda: any("% received" in line for line in said))
    history.stop()
    clone.join(timeout=120)
    assert not clone.is_alive()
    assert isinstance(ended[0], StoppedError)
    (transport / "hold").unlink()
    MirrorHistory(tmp_path / "mirror", history.url).fetch(timeout_s=120)


def test_a_history_that_is_stopped_reads_no_further(
    history: MirrorHistory, transport: Path
) -> None:
    history.fetch()
    history.stop()
    with pytest.raises(StoppedError, match="stopped"):
        history.fetch()
    with pytest.raises(StoppedError, match="stopped"):
        history.index()


def test_why_a_fetch_failed_is_said_without_controls_and_secrets(
    history: MirrorHistory, transport: Path
) -> None:
    refusal = b"\x1b[2J\xe2\x80\xaehttps://ann:hunter2@example.org/src: Permission denied\r\n"
    (transport / "refusal").write_bytes(b"remote: Counting objects: 5% (1/20)\n" + refusal)
    with pytest.raises(InfraError) as refused:
        history.fetch()
    said = str(refused.value)
    assert (
        "git fetch: \ufffd[2J\ufffdhttps://example.org/src: Permission denied fatal: Could not"
        in said
    )
    assert "hunter2" not in said
    assert "Counting" not in said


def test_a_flood_of_complaints_is_cut(history: MirrorHistory, transport: Path) -> None:
    (transport / "refusal").write_bytes(b"x" * 500_000 + b"\n" + b"no\n" * 100_000 + b"y" * 500_000)
    with pytest.raises(InfraError) as refused:
        history.fetch()
    assert len(str(refused.value)) < 5000
