"""Branches whose files lie in one directory of the trunk, as those of a vendor do."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from buildbot_bench.core.revision import Revision
from buildbot_bench.local.git import Git, identity


def directory_of(git: Git, merge: str, tip: str) -> str:
    """The directory of a merge that has most files of a branch's tip; empty: its root.

    Raises GitRefusedError: git complains.
    """
    side = dict(_files(git, tip))
    votes = Counter[bytes]()
    for path, entry in _files(git, merge):
        directory, rest = b"", path
        while rest:
            if side.get(rest) == entry:
                votes[directory] += 1
            head, _, rest = rest.partition(b"/")
            directory = directory + b"/" + head if directory else head
    most = max(votes.values(), default=0)
    return "" if votes[b""] == most else os.fsdecode(votes.most_common(1)[0][0])


def _files(git: Git, sha: str) -> Iterator[tuple[bytes, bytes]]:
    """The files of a commit, by path, each with its mode and hash."""
    for line in git.bytes("ls-tree", "-r", "-z", sha).split(b"\0"):
        entry, _, path = line.partition(b"\t")
        yield path, entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Subtree:
    """A directory of a commit, with which branches are merged as `git merge -Xsubtree` does.

    `ours` is a commit of the directory alone, whose parents are what the branch shares with the
    trunk. `around` are the other entries of each tree from the directory up to the root.
    """

    git: Git
    ours: str
    around: tuple[tuple[bytes, bytes], ...]

    @classmethod
    def of(cls, git: Git, onto: str, tip: Revision, directory: str) -> Self:
        """That of a commit and a branch; raises GitRefusedError where they share no history."""
        shared = git.text("merge-base", "--all", "--end-of-options", onto, tip.sha).split()
        parents = (word for base in shared for word in ("-p", base))
        tree = git.text("rev-parse", "--verify", f"{onto}:{directory}")
        words = ("commit-tree", tree, *parents, "-m", "A directory to be merged")
        # Of an older commit git would look for what it shares with a branch through all history.
        more = identity("bench-bisect", tip.committed_at_s)
        ours = git.bytes(*words, more=more).decode().strip()
        around, names = [], directory.split("/")
        for depth, name in enumerate(map(os.fsencode, names)):
            listed = git.bytes("ls-tree", "-z", f"{onto}:{'/'.join(names[:depth])}")
            lines = (line for line in listed.split(b"\0") if line)
            others = b"".join(line + b"\0" for line in lines if line.partition(b"\t")[2] != name)
            around.append((others, name))
        return cls(git=git, ours=ours, around=tuple(reversed(around)))

    def merged(self, sha: str) -> str:
        """The tree of the whole, merged with a commit; raises GitRefusedError: they conflict."""
        tree = self.git.text("merge-tree", "--write-tree", self.ours, sha).partition("\n")[0]
        for others, name in self.around:
            listed = b"%s040000 tree %s\t%s\0" % (others, tree.encode(), name)
            tree = self.git.bytes("mktree", "-z", "--missing", stdin=listed).decode().strip()
        return tree
