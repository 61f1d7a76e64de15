"""A scratch clone of the user's tree, and `bench-build` on the clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.freebsd.showing import run_shown, say
from buildbot_bench.archives.contents import contents
from buildbot_bench.core.errors import UsageError

# A tree has a hundred thousand files: they are packed lightly, and never again meanwhile.
_SETTINGS = (
    *("-c", "user.name=test-freebsd", "-c", "user.email=test-freebsd@localhost"),
    *("-c", "core.compression=1", "-c", "gc.auto=0"),
)
START = "refs/test-freebsd/start"  # the user's tree, as it was committed there
_TIMES = re.compile(r"^times: (.*)", re.MULTILINE)


# What docs/tutorial/freebsd-vm.yml builds: a kernel of GENERIC takes hours.
KERNCONF = """\
include MINIMAL
ident BENCH-VM
options FFS
device uart
device md
device iflib
device em
device virtio
device virtio_pci
device vtnet
"""


class BuildError(UsageError):
    """bench-build ended with another status than 0; what it said last is in the log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """An archive: its kernel's digest, what it took in seconds, and the stages' times."""

    archive: Path
    digest: str
    seconds: float
    stages: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Workshop:
    """`place` holds all that is made: src, obj, toolchains, archives, logs."""

    place: Path
    words: Sequence[str]
    jobs: int

    @classmethod
    def make(cls, source: Path, place: Path, words: Sequence[str], *, jobs: int) -> Workshop:
        """Clone the tree, or go on with a clone that is there; UsageError for what is no tree."""
        if not (source / "sys" / "conf" / "newvers.sh").is_file():
            raise UsageError(f"{source} is no FreeBSD source tree", hint="name its top directory")
        kernconf = place / "BENCH-VM"
        usual = (f"--kernconf={kernconf}", "--modules=none")
        made = cls(place=place, words=tuple(words) or usual, jobs=jobs)
        made.archives.mkdir(parents=True, exist_ok=True)
        kernconf.write_text(KERNCONF, encoding="utf-8")
        if not made.source.exists():
            say(f"… clones {source} into {made.source}, which takes some minutes")
            _clone(source, made.source)
        made.go(START)
        return made

    @property
    def source(self) -> Path:
        """The scratch clone of what is committed in the user's tree."""
        return self.place / "src"

    @property
    def archives(self) -> Path:
        """Where archives and logs go."""
        return self.place / "archives"

    def git(self, *words: str) -> str:
        """Run git in the clone."""
        return _git("-C", str(self.source), *_SETTINGS, *words)

    def commit(self, message: str, name: str, text: str) -> str:
        """Append a text to a file of the clone and commit it; returns the hash."""
        with (self.source / name).open("a", encoding="utf-8") as file:
            file.write(text)
        self.git("commit", "--quiet", "--all", f"--message={message}")
        return self.git("rev-parse", "HEAD").strip()

    def go(self, revision: str) -> None:
        """Check a revision of the clone out."""
        self.git("checkout", "--quiet", "--force", "--detach", revision)

    def build(
        self,
        name: str,
        *,
        image: int = 0,
        options: str = "",
        source: Path | None = None,
        obj: Path | None = None,
    ) -> Built:
        """Build what is checked out, into an archive of that name; BuildError with its log."""
        archive = self.archives / f"{name}.txz"
        log = self.archives / f"{name}.log"
        words = [sys.executable, "-m", "buildbot_bench.build.cli", "freebsd"]
        words += [f"--source={source or self.source}", f"--obj={obj or self.place / 'obj'}"]
        words += [f"--toolchains={self.place / 'toolchains'}", f"--output={archive}"]
        words += [f"--jobs={self.jobs}", *self.words]
        told = {"BENCH_REVISION": name, "BENCH_IMAGE": str(image), "BENCH_OPTIONS": options}
        say(f"… builds {name}, into {archive}")
        begun_s = time.monotonic()
        status, said = run_shown(words, env={**os.environ, **told})
        seconds = time.monotonic() - begun_s
        log.write_text(said, encoding="utf-8")
        if status != 0:
            last = next(iter(reversed(said.splitlines())), "")
            raise BuildError(f"{name}: status {status}: {last}", hint=f"see {log}")
        times = _TIMES.search(said)
        return Built(
            archive=archive,
            digest=contents(archive).kernel_digest,
            seconds=seconds,
            stages=times[1] if times else "",
        )


def _clone(source: Path, place: Path) -> None:
    """A clone that shares the history; of a tree without one, its files as a single commit."""
    if (source / ".git").exists():
        _git("clone", "--quiet", "--shared", str(source), str(place))
    else:
        _git("init", "--quiet", str(place))
        of_theirs = ("--git-dir", str(place / ".git"), "--work-tree", str(source))
        _git(*of_theirs, *_SETTINGS, "add", "--all", "--force")
        _git(*of_theirs, *_SETTINGS, "commit", "--quiet", "--message=the tree")
        _git("-C", str(place), "reset", "--quiet", "--hard")
    _git("-C", str(place), "update-ref", START, "HEAD")


def _git(*words: str) -> str:
    done = subprocess.run(  # noqa: S603 - a list of words, no shell
        ["git", *words],  # noqa: S607 - git from PATH
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise UsageError(f"git {' '.join(words[-3:])}: {done.stderr.strip()[-300:]}")
    return done.stdout
