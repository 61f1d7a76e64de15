"""The surroundings of a build: a source tree from a shared mirror, and the sandbox of scripts."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import buildbot_bench
from buildbot_bench.build.journal import refusal
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


Use = Literal["auto", "bubblewrap", "jail"]
# Of each system that has bubblewrap; what is not there is left out. /etc may hold passwords.
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
)
_HOME = ".sandbox-home"
_HINTS = {
    "bubblewrap": "install bubblewrap, and let users have namespaces",
    "jail": "install workers/jail/bench-jail, and let doas run it: see there",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """What a script may see: `directory` is the builder's own, where it may write.

    So it may in `write`; `read` are files and directories besides the system's. All are absolute.
    """

    directory: Path
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()


def run_in(sandbox: Sandbox, use: Use, words: Sequence[str]) -> NoReturn:
    """Become the command, in the sandbox.

    With `auto`, it is what the machine has, bubblewrap or, on FreeBSD, a jail; without any, the
    command runs all the same, and it is said why.
    """
    whys = []
    if use != "jail":
        whys.append(_in_bubblewrap(sandbox, words))
    if use == "jail" or (use == "auto" and sys.platform.startswith("freebsd")):
        whys.append(_in_jail(sandbox, words))
    if use != "auto":
        raise InfraError(f"no sandbox: {'; '.join(whys)}", hint=_HINTS[use])
    print(f"note: not in a sandbox: {'; '.join(whys)}", flush=True)
    _become(words, os.environ)


def _in_bubblewrap(sandbox: Sandbox, words: Sequence[str]) -> str:
    """Become the command; returns why that cannot be."""
    home = _home(sandbox)
    program = shutil.which("bwrap")
    outside = [program or "bwrap", *_arguments(sandbox, Path.cwd(), home), "--"]
    why = "there is no bwrap on the PATH"
    if program is not None:
        why = refusal([*outside, "true"], "bwrap")
    if not why:
        _become([*outside, *words], _inside(home))
    return why


def _in_jail(sandbox: Sandbox, words: Sequence[str]) -> str:
    """Run the command and end as it does; returns why that cannot be.

    The exit status is 128 more than the signal that ended it.
    """
    if _helper() is None:
        return f"there is no {HELPER} on the PATH or in {_PLACES[0]}"
    with _held_open() as stdin:
        tried = jail_command(Path("/"), ["true"], {"PATH": os.defpath})
        if why := refusal(tried, HELPER, stdin=stdin):
            return why
        command = jail_command(Path.cwd(), words, _inside(_home(sandbox)))
        status = subprocess.run(command, stdin=stdin, check=False).returncode  # noqa: S603 - words
    sys.exit(status if status >= 0 else 128 - status)


def _home(sandbox: Sandbox) -> Path:
    home = sandbox.directory / _HOME
    home.mkdir(mode=0o700, exist_ok=True)
    return home


def _inside(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    return {**kept, "HOME": str(home), "TMPDIR": "/tmp"}  # noqa: S108


def _become(words: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    try:
        os.execvpe(words[0], list(words), dict(env))  # noqa: S606 - a list of words, no shell
    except OSError as error:
        raise InfraError(f"cannot run {words[0]}: {error}", hint="see the job's PATH") from error


def _arguments(sandbox: Sandbox, cwd: Path, home: Path) -> Iterator[str]:
    yield from ("--unshare-all", "--die-with-parent", "--new-session")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp")  # noqa: S108
    for path in (*_SYSTEM, *_own_places(), *map(str, sandbox.read)):
        yield from ("--ro-bind-try", path, path)
    for place in (sandbox.directory, *sandbox.write, home):
        yield from ("--bind", str(place), str(place))
    yield from ("--chdir", str(cwd))


def _own_places() -> Iterator[str]:
    """What `bench-build` itself needs, when the script calls it."""
    places = (sys.prefix, sys.base_prefix, Path(buildbot_bench.__file__).parent)
    return (str(place) for place in places if str(place) != "/")


# Only root makes jails: workers/jail/bench-jail does, and doas(1) lets the builder's user run it.
# The script sees the system's files with that user's rights.
HELPER = "bench-jail"
_PLACES = ("/usr/local/libexec", "/usr/local/bin")


def jail_command(directory: Path, words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """What runs the words in a directory, in a jail, with this environment and no other.

    The environment stands on the command line, which other users of the machine see.
    """
    named = [f"{name}={value}" for name, value in env.items()]
    helper = _helper() or HELPER
    return ["doas", "-n", helper, str(directory), "/usr/bin/env", "-i", *named, *words]


@contextmanager
def _held_open() -> Iterator[int]:
    """A pipe's end at which nothing arrives. It closes when we end, however; so does the jail."""
    end, ours = os.pipe()
    try:
        yield end
    finally:
        os.close(end)
        os.close(ours)


def _helper() -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_PLACES])
    return shutil.which(HELPER, path=path)
