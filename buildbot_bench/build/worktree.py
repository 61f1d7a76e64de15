"""A revision's source tree, checked out from a mirror that all builds of a builder share."""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.programs import answer_of

# git 2.39 never ends a commit-graph with a date beyond 64 bits and a grandchild of its commit, and
# whoever may push can write such a date. By default a power cut leaves objects empty that no later
# fetch replaces.
_CONFIG = ("-c", "gc.writeCommitGraph=false", "-c", "core.fsync=all")
_STALE_LOCKS = ("*.lock", "refs/**/*.lock")
_SHA = re.compile(r"[0-9a-f]{40}", re.ASCII)


def check_out(mirror: Path, repository: str, sha: str, place: Path) -> None:
    """Have `place` be that commit of the repository and nothing else."""
    if not _SHA.fullmatch(sha):
        raise UsageError(f"{quoted(sha, columns=60)} is no full hash of a commit")
    mirror.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir(parents=True, exist_ok=True)
    with _alone(mirror):
        _remove_locks(mirror)
        if mirror.exists() and not _answers(mirror, f"--git-dir={mirror}", "rev-parse"):
            # A power cut soon after it was cloned: git does not wait until HEAD is on the disk.
            shutil.rmtree(mirror)
        if not mirror.exists():
            _git(mirror.parent, "clone", "--quiet", "--mirror", "--", repository, str(mirror))
        if not _answers(mirror, "cat-file", "-e", f"{sha}^{{commit}}"):
            _git(mirror, "fetch", "--quiet", "--force", "--", repository, "+refs/*:refs/*")
        if (place / ".git").is_file() and not _answers(place, "rev-parse"):
            shutil.rmtree(place)  # a worktree of a mirror that is gone
            place.mkdir()
        if not _is_worktree_of(place, mirror):
            if any(place.iterdir()):
                raise InfraError(f"{place} is in the way", hint="it is no worktree: remove it")
            _git(mirror, "worktree", "prune")
            _git(mirror, "worktree", "add", "--quiet", "--force", "--detach", str(place), sha)
    own = _run(place, "rev-parse", "--path-format=absolute", "--git-dir")
    if not own.returncode:
        _remove_locks(Path(own.stdout.strip()))
    _git(place, "checkout", "--quiet", "--force", "--detach", sha)
    _git(place, "clean", "--quiet", "-ffdx")


def _remove_locks(directory: Path) -> None:
    """Remove what a git left behind that was killed: nobody works there but who calls."""
    for pattern in _STALE_LOCKS:
        for stale in directory.glob(pattern):
            stale.unlink(missing_ok=True)


@contextmanager
def _alone(mirror: Path) -> Iterator[None]:
    """Two builders of one machine do not fetch at once."""
    with mirror.with_name(f"{mirror.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_worktree_of(place: Path, mirror: Path) -> bool:
    if not (place / ".git").is_file():
        return False
    done = _run(place, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return not done.returncode and Path(done.stdout.strip()).resolve() == mirror.resolve()


def _answers(directory: Path, *words: str) -> bool:
    return _run(directory, *words).returncode == 0


def _git(directory: Path, *words: str) -> None:
    done = _run(directory, *words)
    if done.returncode != 0:
        raise InfraError(f"git {words[0]} failed: {done.stderr.strip()[-500:]}")


def _run(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(directory), *_CONFIG, *words]
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    return answer_of(command, deadline_s=None, env=env)
