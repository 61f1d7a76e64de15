"""The commits that a merge brought, a subtree's too, as a range to be searched like any other."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.variant import is_directory
from buildbot_bench.local.revisions import Revisions, by_hash
from buildbot_bench.programs import Git, GitRefusedError, identity


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Brought:
    """What a merge brought: `built` is searched, `shown` has the commits that a reader knows.

    They differ where `onto` is not None: each commit is then built merged with that revision, the
    one that came before the merge; else as it stands, from where its branch left. `under` are the
    directories into which commits are merged, by their hashes. Those at the positions `conflicts`
    do not merge, and as they stand they have nothing but the files of their directory.
    """

    built: RevisionRange
    shown: RevisionRange
    onto: Revision | None
    under: Mapping[str, str] = field(default_factory=dict)
    conflicts: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Merges:
    """The merges of one repository."""

    revisions: Revisions

    def brought(
        self, before: Revision, merge: Revision, *, shown: tuple[Revision, Revision]
    ) -> Brought | None:
        """What the later of two neighbours brought, None where it is no merge.

        `before` and `merge` are what was built of the two, `shown` the commits that these stand
        for. Where no commit changes anything that the merge does not change itself, `built` has
        these two alone.

        Raises InfraError: git fails.
        """
        parents = self.revisions.parents(shown[1].sha)
        mainline = shown[0].sha if shown[0].sha in parents else next(iter(parents), "")
        sides = [
            commits
            for parent in parents
            if parent != mainline and (commits := self.revisions.brought(mainline, parent))
        ]
        if not sides:
            return None
        ways = [self._way(before.sha, merge.sha, commits) for commits in sides]
        pairs = self._merged(before, merge, shown, ways)
        if pairs is None:
            return self._as_it_stands(mainline, sides)
        known = by_hash([commit for _, commit in pairs])
        built = tuple(
            replace(one, sha=made.sha, parent_sha=made.parent_sha) if made else one
            for one, (made, _) in zip(known.revisions, pairs, strict=True)
        )
        return Brought(
            built=RevisionRange(revisions=built),
            shown=known,
            onto=shown[0],
            under={one.sha: way.under for way in ways for one in way.commits if way.under},
            conflicts=frozenset(at for at, (made, _) in enumerate(pairs) if made is None),
        )

    def sizes(self, between: RevisionRange) -> Mapping[str, int]:
        """How many commits each merge of a range brought, by its hash, along first parents."""
        asked = ("rev-list", "--parents", "--end-of-options")
        what = f"{between.old.sha}..{between.new.sha}"
        lines = self.revisions.git.text(*asked, what).splitlines()
        parents = {sha: rest for sha, *rest in map(str.split, lines)}
        chain = [one.sha for one in between.revisions]
        seen = set(chain)
        sizes = {}
        for before, sha in pairwise(chain):
            size = 0
            for side in parents.get(sha, ()):
                tip = side if side != before else ""
                while tip in parents and tip not in seen:
                    seen.add(tip)
                    size += 1
                    tip = next(iter(parents[tip]), "")
            if size:
                sizes[sha] = size
        return sizes

    def _as_it_stands(self, mainline: str, sides: Sequence[Sequence[Revision]]) -> Brought | None:
        """The branch with most commits, from where it left; None of one that never did."""
        commits = max(sides, key=len)
        git = self.revisions.git
        try:
            base = git.text("merge-base", "--end-of-options", mainline, commits[-1].sha)
        except GitRefusedError:
            return None
        between = by_hash([replace(self.revisions.one(base), position=0), *commits])
        return Brought(built=between, shown=between, onto=None)

    def _way(self, onto: str, merge: str, commits: Sequence[Revision]) -> "_Way":
        """How a branch was merged: that which gives the merge's tree, or where most files are."""
        git, whole, tip = self.revisions.git, _Way(commits=commits), commits[-1]
        try:
            directory = directory_of(git, merge, tip.sha)
            if not is_directory(directory):
                return whole
            subtree = Subtree.of(git, onto, tip, directory)
        except GitRefusedError:  # what came before has no such directory
            return whole
        way = _Way(commits=commits, under=directory, subtree=subtree)
        tree = self._tree(merge)
        made = (one for one in (way, whole) if self._merged_tree(onto, tip, one) == tree)
        return next(made, way)

    def _merged(
        self,
        before: Revision,
        merge: Revision,
        shown: tuple[Revision, Revision],
        ways: Sequence["_Way"],
    ) -> list[tuple[Revision | None, Revision]] | None:
        """Each commit, merged with what came before; None where one does not merge by itself.

        A commit that changes nothing then is left out; where the last one gives the merge's own
        tree, the merge is what is built of it. In a directory those that conflict have None.
        """
        pairs: list[tuple[Revision | None, Revision]] = [(before, shown[0])]
        last, tree = before.sha, self._tree(before.sha)
        for way in ways:
            onto = last
            for commit in way.commits:
                now = self._merged_tree(onto, commit, way)
                if now is None and not way.under:
                    return None
                if now is None:
                    pairs.append((None, commit))
                    continue
                last = self._commit(onto, commit, now)
                if now != tree or pairs[-1][0] is None:
                    pairs.append((replace(commit, sha=last, parent_sha=onto), commit))
                    tree = now
        if pairs[-1][0] is None or tree != self._tree(merge.sha):
            return [*pairs, (merge, shown[1])]
        changed = [(merge, pairs.pop()[1])] if len(pairs) > 1 else [(merge, shown[1])]
        return [*pairs, *changed]

    def _tree(self, sha: str) -> str:
        return self.revisions.git.text("rev-parse", "--verify", f"{sha}^{{tree}}")

    def _merged_tree(self, onto: str, commit: Revision, way: "_Way") -> str | None:
        """The tree that merges two; None where they conflict."""
        try:
            if way.subtree:
                return way.subtree.merged(commit.sha)
            merged = self.revisions.git.text("merge-tree", "--write-tree", onto, commit.sha)
        except GitRefusedError:
            return None
        return merged.partition("\n")[0]

    def _commit(self, onto: str, commit: Revision, tree: str) -> str:
        """The hash of a commit that merges two.

        No branch names it, so that git removes it some weeks later. It is the same each time.
        """
        more = identity("bench-bisect", commit.committed_at_s)
        words = ("commit-tree", tree, "-p", onto, "-p", commit.sha, "-m", "A merge to be measured")
        try:
            return self.revisions.git.bytes(*words, more=more).decode().strip()
        except GitRefusedError as error:
            raise InfraError(f"git commit-tree failed: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class _Way:
    """The commits of a branch, and the directory into which they are merged, empty: the root."""

    commits: Sequence[Revision]
    under: str = ""
    subtree: Subtree | None = None
