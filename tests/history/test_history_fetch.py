"""A mirror follows its origin, whatever happened to the fetch before or to the origin's refs."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.history import MirrorHistory
from tests.gitrepo import add_commits, git, make_repository, numbered

FETCH = """
import sys
from buildbot_bench.history import MirrorHistory
MirrorHistory(sys.argv[1], sys.argv[2]).fetch()
"""


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    path = tmp_path / "origin"
    make_repository(path, numbered(1, 5))
    return path


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "mirror"


@pytest.fixture
def history(mirror: Path, origin: Path) -> MirrorHistory:
    return MirrorHistory(mirror, str(origin))


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_file_url_serves_as_well_as_a_path(mirror: Path, origin: Path) -> None:
    history = MirrorHistory(mirror, origin.as_uri())
    history.fetch()
    assert history.tip("main").label == "r5"


def test_the_mirror_is_bare_and_has_heads_tags_and_notes(
    history: MirrorHistory, mirror: Path, origin: Path
) -> None:
    git(origin, "tag", "v1", "main~2")
    git(origin, "update-ref", "refs/pull/1/head", "main")
    history.fetch()
    assert git(mirror, "rev-parse", "--is-bare-repository") == "true"
    assert git(mirror, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/notes/commits",
        "refs/tags/v1",
    ]


def test_what_the_origin_removed_is_removed(history: MirrorHistory, origin: Path) -> None:
    git(origin, "branch", "short-lived")
    history.fetch()
    assert history.tip("short-lived").label == "r5"
    git(origin, "branch", "-D", "short-lived")
    history.fetch()
    with pytest.raises(UsageError):
        history.tip("short-lived")


def test_a_branch_may_become_a_directory_of_branches(history: MirrorHistory, origin: Path) -> None:
    git(origin, "branch", "topic")
    history.fetch()
    git(origin, "branch", "-D", "topic")
    git(origin, "branch", "topic/one")
    history.fetch()
    assert history.tip("topic/one").label == "r5"


def test_a_moved_tag_moves(history: MirrorHistory, origin: Path) -> None:
    git(origin, "tag", "latest", "main~2")
    history.fetch()
    git(origin, "tag", "-f", "latest", "main")
    history.fetch()
    assert history.resolve("latest").label == "r5"


def test_an_origin_that_is_not_there_is_an_infrastructure_error(
    mirror: Path, tmp_path: Path
) -> None:
    with pytest.raises(InfraError, match=r"git fetch: .*nowhere"):
        MirrorHistory(mirror, str(tmp_path / "nowhere")).fetch()


def test_a_url_that_looks_like_an_option_is_none(mirror: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    with pytest.raises(InfraError):
        MirrorHistory(mirror, f"--upload-pack=touch {proof}").fetch()
    assert not proof.exists()


def test_a_url_that_is_a_command_is_refused(mirror: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    with pytest.raises(InfraError, match="not allowed"):
        MirrorHistory(mirror, f"ext::touch {proof}").fetch()
    assert not proof.exists()


@pytest.mark.parametrize("lock", ["packed-refs.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_the_locks_of_a_dead_fetch_do_not_matter(
    history: MirrorHistory, mirror: Path, origin: Path, lock: str
) -> None:
    history.fetch()
    (mirror / lock).touch()
    add_commits(origin, numbered(6, 7))
    history.fetch()
    assert history.tip("main").label == "r7"


@pytest.mark.parametrize("left", [[], ["objects"], ["objects", "refs"]])
def test_a_mirror_that_was_made_by_half_is_completed(
    history: MirrorHistory, mirror: Path, left: list[str]
) -> None:
    for directory in left:
        (mirror / directory).mkdir(parents=True)
    history.fetch()
    assert history.tip("main").label == "r5"


def test_fetches_at_the_same_time_wait_for_one_another(history: MirrorHistory) -> None:
    failures: list[Exception] = []

    def fetch() -> None:
        try:
            history.fetch()
        except InfraError as error:
            failures.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert history.tip("main").label == "r5"


def test_reading_goes_on_while_a_fetch_runs(history: MirrorHistory, origin: Path) -> None:
    history.fetch()
    add_commits(origin, numbered(6, 1600))
    fetch = threading.Thread(target=history.fetch)
    fetch.start()
    seen = {history.tip("main").label}
    while fetch.is_alive():
        seen.add(history.tip("main").label)
    fetch.join()
    assert history.tip("main").label == "r1600"
    assert {"r5", "r1600"} >= seen - {"n1600"}  # a head may be seen before its note


def test_the_git_of_a_killed_master_is_waited_for(
    history: MirrorHistory, mirror: Path, tmp_path: Path
) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    transport = tmp_path / "slow-ssh"
    transport.write_text(
        f"#!/bin/sh\n: > {begun}\nwhile [ ! -e {go} ]; do sleep 0.05; done\nexit 1\n"
    )
    transport.chmod(0o755)
    master = subprocess.Popen(
        [sys.executable, "-c", FETCH, str(mirror), "ssh://example.org/src"],
        env={**os.environ, "GIT_SSH_COMMAND": str(transport)},
    )
    eventually(begun.exists)
    master.send_signal(signal.SIGKILL)
    master.wait()
    with pytest.raises(InfraError, match="another fetch holds"):
        history.fetch(timeout_s=0.3)
    go.touch()
    history.fetch()
    assert history.tip("main").label == "r5"


def test_a_remote_that_stands_still_is_left(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = tmp_path / "dead-ssh"
    transport.write_text("#!/bin/sh\nexec sleep 600\n")
    transport.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(transport))
    with pytest.raises(InfraError, match="took more than 2 s"):
        MirrorHistory(mirror, "ssh://example.org/src").fetch(timeout_s=2)


def test_a_shallow_clone_is_a_history_that_begins_where_it_was_cut(
    mirror: Path, origin: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    git(tmp_path, "clone", "-q", "--bare", "--depth", "3", origin.as_uri(), str(cut))
    subjects = git(origin, "log", "-3", "--format=%s", "main").splitlines()
    history = MirrorHistory(mirror, str(cut))
    history.fetch()
    assert [history.resolve(f"main~{n}").subject for n in range(3)] == subjects
    with pytest.raises(UsageError):
        history.resolve("main~3")
    git(cut, "fetch", "-q", "--unshallow", origin.as_uri())
    history.fetch()
    assert [history.resolve(f"main~{n}").subject for n in range(3)] == subjects
