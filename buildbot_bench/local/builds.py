"""Builds of revisions, each in a git worktree, kept in a repository that one process measures.

The git directory has `bench/` with `trees/` (worktrees of builds and runs), `builds/` (kept builds)
and the evidence. The least used builds go when there are too many.
"""

import fcntl
import os
import queue
import shutil
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.archives import unpacked
from buildbot_bench.archives.prebuilt import PrebuiltSource, fetch
from buildbot_bench.core.build_log import BuildLog
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.limits import GIB, spoken
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, Revision
from buildbot_bench.core.search import PREBUILT
from buildbot_bench.lab.command.process import RESERVE_BYTES, Confines, Contained, Ran, Stop
from buildbot_bench.local.recipe import BuildRecipe, BuildStep, Carried, Fix
from buildbot_bench.local.store import NewBuild, Store, StoredBuild
from buildbot_bench.local.trees import Submodules, pack, remove_tree, unpack
from buildbot_bench.programs import Git, GitRefusedError

ONE_TREE = "tree"
"""Where all is built and run that is not built beside a run: paths in a build are then the same."""
_MOST_WRITTEN = 64 * GIB  # by one build
_SHOWN_OF_DIGEST = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """`bench/` in the git directory; `most_bytes` are what kept builds may take."""

    home: Path
    most_bytes: int

    @property
    def trees(self) -> Path:
        """Where builds and runs take place."""
        return self.home / "trees"

    def archive(self, image: NewBuild) -> Path:
        """Where lies what a build made."""
        named = f"{image.sha[:ABBREVIATION_LENGTH]}-{image.ordinal}"
        return self.home / "builds" / f"{image.recipe[:_SHOWN_OF_DIGEST]}-{named}.tar"


class Workshop:
    """Builds by one recipe."""

    def __init__(
        self, git: Git, room: Room, store: Store, recipe: BuildRecipe, *, timeout_s: float = 3600.0
    ) -> None:
        self.recipe = recipe
        self._git, self._room, self._store = git, room, store
        self._timeout_s = timeout_s
        self._fix = Fix(git=git, sha=recipe.fix) if recipe.fix else None
        self._worktrees = threading.Lock()
        self._running = set[Contained]()
        self._submodules = Submodules(git=git)
        self._said = set[str]()
        self.notices: queue.SimpleQueue[str] = queue.SimpleQueue()
        """What a person should know of the trees, said once."""
        self._is_over = False

    def end(self) -> None:
        """End the builds that other threads make, and let none begin."""
        self._is_over = True
        for running in tuple(self._running):
            running.close()

    def clear(self) -> None:
        """Remove what builds and runs left behind that were killed, and forget their worktrees."""
        remove_tree(self._room.trees)
        for part in (self._room.home / "builds").glob("*.part"):
            part.unlink(missing_ok=True)
        with self._worktrees:
            for tree in self._registered():
                self._forget(tree)

    def build(self, revision: Revision, ordinal: int, *, beside: bool) -> NewBuild:
        """Build an image of a revision; in a tree of its own when it is built `beside` a run.

        What does not build gives an image with a reason, its last lines behind the first line.

        Raises InfraError: the machine is to blame (the disk, git, who ended it), and nothing is
        known of the revision.
        """
        sha = revision.sha
        place = f"{sha[:ABBREVIATION_LENGTH]}-{ordinal}" if beside else ONE_TREE
        tree = self._room.trees / place
        beside_tree = tree.with_name(f"{place}.artefact")
        began_s = time.monotonic()
        recipe = self.recipe.others if ordinal == PREBUILT else self.recipe.digest
        made = NewBuild(recipe=recipe, sha=sha, ordinal=ordinal, place=place, build_s=0.0)
        empty: list[str] = []
        try:
            if ordinal == PREBUILT:
                carried, wanted = Carried.NONE, self._fetched(sha, tree)
            else:
                carried = self._check_out(sha, tree, empty)
                self._run(revision, ordinal, tree)
                wanted = self._uploaded(tree, beside_tree) if self.recipe.upload else tree
            kernel, size = pack(wanted, self.recipe.artefacts, self._room.archive(made))
            known = {"kernel": kernel, "size": size, "carried": carried}
        except UntestableRevision as error:
            known = {"reason": "\n".join((str(error), *empty))}
        finally:
            remove_tree(tree)
            remove_tree(beside_tree)
        return NewBuild(
            recipe=made.recipe,
            sha=sha,
            ordinal=ordinal,
            place=place,
            build_s=time.monotonic() - began_s,
            **known,  # type: ignore[arg-type]
        )

    def unpacked(self, image: StoredBuild) -> Path:
        """A fresh directory with what a build made, at the place where it was built.

        Raises InfraError: it is there no longer, or the disk is full.
        """
        tree = self._room.trees / image.place
        unpack(self._room.archive(image), tree)
        return tree

    def has(self, image: StoredBuild) -> bool:
        """Whether the product of a build exists."""
        return image.is_kept and self._room.archive(image).is_file()

    def trim(self, needed: Collection[int]) -> None:
        """Remove the builds that were of use longest ago; not those needed, named by their ids."""
        kept = self._store.least_used()
        total = sum(image.size for image in kept)
        for image in kept:
            if total <= self._room.most_bytes:
                return
            if image.id not in needed:
                self._room.archive(image).unlink(missing_ok=True)
                self._store.drop_image(image.id)
                total -= image.size

    def _check_out(self, sha: str, tree: Path, empty: list[str]) -> Carried:
        """Make a worktree; `empty` gets a sentence of each submodule that cannot be filled."""
        with self._worktrees:
            remove_tree(tree)
            tree.parent.mkdir(parents=True, exist_ok=True)
            if tree.resolve() in self._registered():
                self._forget(tree)
            self._ask("worktree", "add", "--quiet", "--force", "--detach", str(tree), sha)
        empty += self._submodules.fill(tree)
        for sentence in empty:
            if sentence not in self._said:
                self._said.add(sentence)
                self.notices.put(sentence)
        return Carried.NONE if self._fix is None else self._fix.apply(sha, tree)

    def _registered(self) -> list[Path]:
        """Return our worktrees that git knows; all others are the user's."""
        lines = self._ask("worktree", "list", "--porcelain").splitlines()
        named = (line.removeprefix(b"worktree ") for line in lines if line[:9] == b"worktree ")
        trees = (Path(os.fsdecode(name)) for name in named)
        return [tree for tree in trees if tree.parent == self._room.trees.resolve()]

    def _forget(self, tree: Path) -> None:
        """Have git forget a worktree of ours whose directory was removed, even a locked one."""
        self._ask("worktree", "remove", "--force", "--force", str(tree))

    def _ask(self, *arguments: str) -> bytes:
        """Have git do something, and return what it prints."""
        try:
            return self._git.bytes(*arguments)
        except GitRefusedError as error:
            raise InfraError(f"git {' '.join(arguments[:2])} failed: {error}") from error

    def _run(self, revision: Revision, ordinal: int, tree: Path) -> None:
        """Run the build's steps; fails as one does."""
        own = {
            "BENCH_IMAGE": str(ordinal),
            "BENCH_OPTIONS": "",
            "BENCH_PATCHES": "",
            "BENCH_REVISION": revision.label,
            "BENCH_SHA": revision.sha,
        }
        for step in self.recipe.steps:
            environment = os.environ | dict(step.environment) | own
            self._run_step(step, tree / step.directory, environment, revision)

    def _run_step(
        self, step: BuildStep, place: Path, environment: dict[str, str], revision: Revision
    ) -> None:
        """Run one of them; fails as `failed_build` says."""
        if not place.is_dir():
            raise UntestableRevision(f"the build's directory {step.directory} is not there")
        confines = Confines(timeout_s=self._timeout_s, disk_bytes=_MOST_WRITTEN)
        words = ("/bin/sh", *(("-e",) if step.strict else ()), "-c", step.script)
        with Contained(words, place, environment, confines) as running:
            self._running.add(running)
            try:
                if self._is_over:
                    running.close()
                ran = running.wait()
            finally:
                self._running.discard(running)
        if self._is_over:
            raise InfraError("the build was ended with the search")
        if ran.status != 0:
            failure = failed_build(ran, place, f"{revision.label} ({revision.short_sha})")
            raise failure

    def _fetched(self, sha: str, tree: Path) -> Path:
        """What others built of a revision, in a fresh directory; fails as `fetch` does."""
        remove_tree(tree)
        tree.parent.mkdir(parents=True, exist_ok=True)
        archive = tree.with_name(f"{tree.name}.fetched")
        source = PrebuiltSource(pattern=self.recipe.prebuilt)
        try:
            if not fetch(source, sha, "", archive):
                raise UntestableRevision(f"nothing lies at {source.place(sha, '')}")
            unpacked.unpack(archive, tree)
        finally:
            archive.unlink(missing_ok=True)
        return tree

    def _uploaded(self, tree: Path, directory: Path) -> Path:
        """What is in the file that the build uploads, in a fresh directory, as a farm unpacks it.

        Raises:
            UntestableRevision: The build made no such file, or it is neither archive nor program.
        """
        upload = self.recipe.upload
        artefact = tree / upload
        ways = (artefact, *(way for way in artefact.parents if way.is_relative_to(tree)))
        if any(way.is_symlink() for way in ways if way != tree):
            raise UntestableRevision(f"{upload} is a symbolic link, which is not followed")
        if not artefact.is_file():
            raise UntestableRevision(f"the build made no {upload}")
        remove_tree(directory)
        unpacked.unpack(artefact, directory)
        return directory


def first_line(reason: str) -> str:
    """A failure without the output behind it."""
    return one_line(reason.partition("\n")[0], columns=200)


_SIGNAL = 128  # and its number: what a shell makes its status of
_AGAIN = "the same command goes on from here; bench-bisect's --skip steps around a revision"


def failed_build(ran: Ran, place: Path, revision: str) -> BenchError:
    """Return the error to raise for a build that did not end well in the directory `place`.

    A disk that is full, a build that somebody ended and a tool that is missing are the machine's
    (InfraError), all else is the revision's. What is missing of the tree is no tool.
    """
    free = shutil.disk_usage(place).free
    if ran.stop is Stop.FULL or free < RESERVE_BYTES:
        return _machine(ran, revision, f"{spoken(free)} are free on the disk", "make room")
    if ran.stop is Stop.TIMEOUT:
        what = f"the build had not ended after {ran.wall_s:.0f} s (see --build-timeout)"
        return UntestableRevision(f"{what}\n{ran.last_lines()}")
    if ran.stop is Stop.DISK:
        return UntestableRevision(f"the build fills the disk\n{ran.last_lines()}")
    if ran.status is None:
        return _machine(ran, revision, f"the build {ran.ending()}", "see what ended it")
    log = BuildLog()
    for output in (ran.stdout, ran.stderr):
        for line in output.text().splitlines():
            log.take(line)
    found = log.diagnosis(ran.status if ran.status >= 0 else _SIGNAL - ran.status)
    if found.is_builder_fault:
        what = f"this machine failed the build, which {ran.ending()}"
        return _machine(ran, revision, what, "fix what the last lines name, or correct --build")
    return UntestableRevision(f"the build {ran.ending()}\n{ran.last_lines()}")


def _machine(ran: Ran, revision: str, what: str, remedy: str) -> InfraError:
    return InfraError(f"{revision}: {what}\n{ran.last_lines()}", hint=f"{remedy}; {_AGAIN}")


_READ = 200  # characters of the note of who has the lock


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """A repository that this process alone measures."""

    git: Git
    room: Room
    store: Store


@contextmanager
def opened(git: Git, *, most_bytes: int) -> Iterator[Repository]:
    """Have a repository to oneself; `most_bytes` are for what is built."""
    room = Room(home=git.home / "bench", most_bytes=most_bytes)
    try:
        room.home.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(room.home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InfraError(
            f"{room.home} cannot be written: {error}", hint="use a clone of your own"
        ) from error
    try:
        _take(lock, room.home)
        store = Store(room.home / "evidence.sqlite")
        try:
            yield Repository(git=git, room=room, store=store)
        finally:
            store.close()
    finally:
        os.close(lock)


def _take(lock: int, home: Path) -> None:
    """Take the lock, and note who has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        who = one_line(os.pread(lock, _READ, 0).decode("utf-8", "replace"), columns=80)
        raise InfraError(
            f"process {who or 'of another'} measures in {home.parent} already, "
            "and two would disturb each other",
            hint="wait for it, or end it",
        ) from error
    except OSError as error:
        raise InfraError(f"{home}/lock cannot be locked: {error}") from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
