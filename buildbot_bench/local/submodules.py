"""Fills the submodules of a worktree from those that the user has, without a network."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.legible import one_line
from buildbot_bench.local.git import Git, GitRefusedError
from buildbot_bench.local.trees import remove_tree

_LINK = re.compile(r"160000 commit ([0-9a-f]+)\t(.+)", re.DOTALL)  # of git ls-tree
_PATH = re.compile(r"submodule\.(.+)\.path\n(.+)", re.DOTALL)  # of git config -z
_URL = re.compile(r"submodule\.(.+)\.url\n")
_LONGEST = 1000  # characters of a path, however deep submodules lie in submodules


@dataclass(frozen=True, kw_only=True, slots=True)
class _Submodule:
    """A submodule of one tree: its name in .gitmodules, where it lies, its commit."""

    name: str
    path: str
    sha: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Submodules:
    """The submodules of the user's repository, in its git directory and its checkout."""

    git: Git

    def fill(self, tree: Path) -> list[str]:
        """Fill those of a worktree; returns a sentence for each that stays empty.

        Raises InfraError: git cannot be started.
        """
        return list(self._fill(tree, "", [self.git.home], self._checkouts()))

    def _checkouts(self) -> list[Path]:
        try:
            return [Path(self.git.text("rev-parse", "--show-toplevel"))]
        except GitRefusedError:  # a bare repository
            return []

    def _fill(
        self, tree: Path, above: str, homes: Sequence[Path], checkouts: Sequence[Path]
    ) -> Iterator[str]:
        """Fill the submodules of one tree, and theirs; `homes` and `checkouts` may have them.

        `above` is where the tree lies in the topmost one.
        """
        for one in self._submodules(tree):
            path = f"{above}{one.path}"
            place = tree / one.path
            inner = [home / "modules" / one.name for home in homes]
            outer = [checkout / one.path for checkout in checkouts]
            there = [source for source in (*inner, *outer) if _is_repository(source)]
            renamed = [source for source in self._registered() if self._has(source, one.sha)]
            if not place.resolve().is_relative_to(tree.resolve()) or len(path) > _LONGEST:
                yield f"the submodule {one_line(path)} stays empty: it leads out of the tree"
            elif any(self._clone(source, place, one.sha) for source in (*there, *renamed)):
                yield from self._fill(place, f"{path}/", (*inner, *renamed), outer)
            else:
                quoted = shlex.quote(one_line(path))
                remedy = f"-C {quoted} fetch" if there else "submodule update --init --recursive"
                lacks = f"your checkout lacks {one.sha[:12]} of it" if there else "you have it not"
                yield f"the submodule {one_line(path)} stays empty, as {lacks}: `git {remedy}`"

    def _registered(self) -> list[Path]:
        """Those that the user has: an older revision may have one by another name and path."""
        try:
            told = self.git.text("config", "-z", "--get-regexp", r"^submodule\..+\.url$")
        except GitRefusedError:  # there is none
            return []
        names = [match[1] for one in told.split("\0") if (match := _URL.match(one))]
        return [self.git.home / "modules" / name for name in names]

    def _has(self, source: Path, sha: str) -> bool:
        try:
            self.git.bytes(
                f"--git-dir={source}", "--work-tree=.", "cat-file", "-e", f"{sha}^{{commit}}"
            )
        except GitRefusedError:  # another repository, or none
            return False
        return True

    def _submodules(self, tree: Path) -> list[_Submodule]:
        if not (tree / ".gitmodules").is_file():
            return []
        asked = ("config", "-z", "--blob", "HEAD:.gitmodules", "--get-regexp", r"\.path$")
        try:
            told = self.git.text(*asked, place=tree).split("\0")
            listed = self.git.text("ls-tree", "-r", "-z", "HEAD", place=tree).split("\0")
        except GitRefusedError:
            return []
        names = {match[2]: match[1] for one in told if (match := _PATH.fullmatch(one))}
        links = [match for one in listed if (match := _LINK.fullmatch(one))]
        return [
            _Submodule(name=names[match[2]], path=match[2], sha=match[1])
            for match in links
            if match[2] in names and {"..", "/"}.isdisjoint(Path(names[match[2]]).parts)
        ]

    def _clone(self, source: Path, place: Path, sha: str) -> bool:
        """Check a commit out of a repository that has it; False where it does not."""
        clone = ("clone", "--quiet", "--shared", "--no-checkout", "--", str(source), str(place))
        try:
            self.git.bytes("-c", "protocol.file.allow=always", *clone)
            self.git.bytes("checkout", "--quiet", "--force", "--detach", sha, place=place)
        except GitRefusedError:
            remove_tree(place)
            place.mkdir(parents=True)
            return False
        return True


def _is_repository(place: Path) -> bool:
    return (place / "HEAD").is_file() or (place / ".git").exists()
