"""The commits that a merge brought, as a range that can be searched like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.local.git import GitRefusedError, identity
from buildbot_bench.local.revisions import Revisions, by_hash


@dataclass(frozen=True, kw_only=True, slots=True)
class Brought:
    """What a merge brought: `built` is searched, `shown` has the commits that a reader knows.

    They differ where `onto` is not None: each commit is then built merged with that revision, the
    one that came before the merge; else as it stands, from where its branch left.
    """

    built: RevisionRange
    shown: RevisionRange
    onto: Revision | None


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
        pairs = self._merged(before, merge, shown, sides)
        if pairs is None:
            return self._as_it_stands(mainline, sides)
        known = by_hash([commit for _, commit in pairs])
        built = tuple(
            replace(one, sha=made.sha, parent_sha=made.parent_sha)
            for one, (made, _) in zip(known.revisions, pairs, strict=True)
        )
        return Brought(built=RevisionRange(revisions=built), shown=known, onto=shown[0])

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

    def _merged(
        self,
        before: Revision,
        merge: Revision,
        shown: tuple[Revision, Revision],
        sides: Sequence[Sequence[Revision]],
    ) -> list[tuple[Revision, Revision]] | None:
        """Each commit, merged with what came before; None where one does not merge by itself.

        A commit that changes nothing then is left out; where the last one gives the merge's own
        tree, the merge is what is built of it.
        """
        pairs = [(before, shown[0])]
        last, tree = before.sha, self._tree(before.sha)
        for commits in sides:
            onto = last
            for commit in commits:
                merged = self._merge(onto, commit)
                if merged is None:
                    return None
                last, now = merged
                if now != tree:
                    pairs.append((replace(commit, sha=last, parent_sha=onto), commit))
                    tree = now
        if tree != self._tree(merge.sha):
            return [*pairs, (merge, shown[1])]
        changed = [(merge, pairs.pop()[1])] if len(pairs) > 1 else [(merge, shown[1])]
        return [*pairs, *changed]

    def _tree(self, sha: str) -> str:
        return self.revisions.git.text("rev-parse", "--verify", f"{sha}^{{tree}}")

    def _merge(self, onto: str, commit: Revision) -> tuple[str, str] | None:
        """The hashes of a commit and its tree that merge two; None where they conflict.

        No branch names it, so that git removes it some weeks later. It is the same each time.
        """
        git = self.revisions.git
        try:
            tree = git.text("merge-tree", "--write-tree", onto, commit.sha).partition("\n")[0]
        except GitRefusedError:
            return None
        more = identity("bench-bisect", commit.committed_at_s)
        words = ("commit-tree", tree, "-p", onto, "-p", commit.sha, "-m", "A merge to be measured")
        try:
            return git.bytes(*words, more=more).decode().strip(), tree
        except GitRefusedError as error:
            raise InfraError(f"git commit-tree failed: {error}") from error
