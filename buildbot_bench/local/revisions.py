"""The commits that a person means, the working tree among them, and the chain between two."""

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, Revision, RevisionRange
from buildbot_bench.programs import Git, GitRefusedError, identity

WORKING_TREE = "."
"""The name by which a person means it."""
_MOST_NEW_BYTES = 1 << 30  # of files that git does not track: more are what a build left there


def working_tree(git: Git) -> str:
    """The hash of a commit that has the tracked and the new files as they lie there, upon HEAD.

    HEAD itself where they do not differ. No branch names the commit, and its date is HEAD's: the
    same files give the same commit. Neither the files nor the index are touched; ignored files
    stay out.

    Raises InfraError: git fails, or its objects cannot be written.
    """
    try:
        top = Path(os.fsdecode(git.bytes("rev-parse", "--show-toplevel").rstrip(b"\n")))
        head = git.text("rev-parse", "--verify", "HEAD^{commit}")
    except GitRefusedError as error:
        raise UsageError(
            f"{git.place} has no working tree with a commit: {error}",
            hint="go into a checkout, or name a commit",
        ) from error
    _check(git, top)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-index-") as room:
            index = Path(room) / "index"
            kept = git.bytes("rev-parse", "--path-format=absolute", "--git-path", "index")
            if (own := Path(os.fsdecode(kept.rstrip(b"\n")))).is_file():
                shutil.copy2(own, index)  # by its time git knows which files it has to read
            more = {"GIT_INDEX_FILE": str(index)}
            git.bytes("add", "--all", place=top, more=more)
            tree = git.bytes("write-tree", place=top, more=more).decode().strip()
        if tree == git.text("rev-parse", "--verify", f"{head}^{{tree}}"):
            return head
        at_s = git.text("log", "--max-count=1", "--format=%ct", head)
        words = ("commit-tree", tree, "-p", head, "-m", "What is not committed yet")
        return git.bytes(*words, more=identity("bench-compare", int(at_s))).decode().strip()
    except (GitRefusedError, OSError) as error:
        raise InfraError(f"the working tree cannot be read: {error}") from error


def _check(git: Git, top: Path) -> None:
    """See that git can take the files as they are, and that they are a source tree."""
    try:
        conflicts = git.bytes("diff", "--name-only", "--diff-filter=U", "-z", place=top)
        others = git.bytes("ls-files", "--others", "--exclude-standard", "-z", place=top)
    except GitRefusedError as error:
        raise InfraError(f"git cannot list the working tree: {error}") from error
    if conflicts:
        name = quoted(os.fsdecode(conflicts.split(b"\0")[0]))
        raise UsageError(f"{name} is in conflict", hint="resolve the merge first, or name a commit")
    sizes = {
        name: (top / name).lstat().st_size
        for name in map(os.fsdecode, others.split(b"\0"))
        if name and os.path.lexists(top / name)
    }
    if sum(sizes.values()) > _MOST_NEW_BYTES:
        raise UsageError(
            f"the new files of the working tree have more than {_MOST_NEW_BYTES >> 30} GiB, "
            f"most of it {quoted(max(sizes, key=lambda name: sizes[name]))}",
            hint="name in .gitignore what a build leaves there",
        )


_FORMAT = "--format=%H%x00%P%x00%an <%ae>%x00%ct%x00%s%x00"
_FIELDS = 5
_COUNT = re.compile(r"n([0-9]{1,9})")
_DEEPEN = "get the rest by `git fetch --unshallow`; in GitHub Actions, fetch-depth: 0"
NAMED_BY = 10
"""Digits of a hash by which a commit off the first-parent chain is called."""
_RANGE = re.compile(r"(.+)\.\.(.+)")


def by_hash(chain: Sequence[Revision], *, first: int = 0) -> RevisionRange:
    """Commits as a range from a position on; one without a number is called by its hash."""
    return RevisionRange(
        revisions=tuple(
            replace(
                one,
                position=first + place,
                name=one.label if one.position or one.name else one.sha[:NAMED_BY],
            )
            for place, one in enumerate(chain)
        )
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Revisions:
    """The revisions of one repository."""

    git: Git

    def sha(self, name: str, *, within: str | None = None) -> str:
        """The commit that git takes a name for; `n36` is the 36th of the chain of `within`.

        `.` is the working tree as it lies there.

        Raises InfraError: git fails.
        """
        if name == WORKING_TREE:
            return working_tree(self.git)
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        try:
            return self.git.text(*asked)
        except GitRefusedError as error:
            match = _COUNT.fullmatch(name)
            if within is not None and match is not None:
                return self._by_count(int(match[1]), within)
            shallow = self._is_shallow()
            raise UsageError(
                f"{quoted(name)} is no commit of this "
                f"{'clone, which is shallow' if shallow else 'repository'}",
                hint=_DEEPEN
                if shallow
                else "name it as git log does: a hash, a tag, a branch, main~3; "
                "`git fetch` gets what is not here yet",
            ) from error

    def _by_count(self, number: int, within: str) -> str:
        total = self.count(within)
        if not 1 <= number <= total:
            hint = _DEEPEN if self._is_shallow() else "name a hash or a tag"
            raise UsageError(f"n{number} is not among n1 to n{total}", hint=hint)
        return self._asked(
            "rev-parse", "--verify", "--end-of-options", f"{within}~{total - number}"
        )

    def count(self, sha: str) -> int:
        """How many commits the first-parent chain of one has, itself included."""
        return int(self._asked("rev-list", "--count", "--first-parent", "--end-of-options", sha))

    def between(self, old: str, new: str, *, first_parent: bool = False) -> RevisionRange:
        """The commits from one named commit to another, each a parent of the next, both included.

        First parents as far as they lead from NEW to OLD. Where OLD is no ancestor of NEW, the
        range begins at their merge base. With `first_parent`, OLD must be on NEW's chain of those.

        Raises InfraError: git fails.
        """
        newest = self.sha(new, within="HEAD")
        oldest = self.sha(old, within=newest)
        if oldest == newest:
            raise UsageError(
                f"{old} and {new} are the same commit, {newest[:ABBREVIATION_LENGTH]}",
                hint="name two that differ: OLD before the change, NEW after it",
            )
        after = self.brought(oldest, newest)
        if not after or after[0].parent_sha != oldest:
            if first_parent:
                raise self._not_on_the_chain((old, oldest), (new, newest), after)
            oldest = self._base((old, oldest), (new, newest), after)
            after = self._way(oldest, newest)
        chain = [*self._log(oldest, "--max-count=1"), *after]
        if all(one.parent_sha == before.sha for before, one in pairwise(chain)):
            first = self.count(newest) - len(after)
            return RevisionRange(
                revisions=tuple(replace(one, position=p) for p, one in enumerate(chain, first))
            )
        return by_hash(chain, first=self.count(oldest))

    def brought(self, before: str, tip: str) -> list[Revision]:
        """The commits along first parents from a tip that `before` does not contain, oldest first.

        Their positions are not known yet.
        """
        return self._log(f"{before}..{tip}")

    def parents(self, sha: str) -> list[str]:
        """The parents of a commit, the first one first."""
        return self._asked("rev-list", "--parents", "--max-count=1", sha).split()[1:]

    def _base(self, old: tuple[str, str], new: tuple[str, str], after: Sequence[Revision]) -> str:
        """OLD, or the newest commit that it and NEW both contain."""
        if self._is_ancestor(old[1], new[1]):
            return old[1]
        if not after or self._is_shallow():
            raise self._not_on_the_chain(old, new, after)
        try:
            return self.git.text("merge-base", "--end-of-options", old[1], new[1])
        except GitRefusedError:
            raise self._not_on_the_chain(old, new, after) from None

    def _way(self, oldest: str, newest: str) -> list[Revision]:
        """A way from an ancestor to a commit, which leaves first parents only where it must."""
        asked = ("rev-list", "--ancestry-path", "--end-of-options", f"{oldest}..{newest}")
        descendants = frozenset(self._asked(*asked).split())
        way: list[Revision] = []
        tip = newest
        while True:
            newest_first = reversed(self.brought(oldest, tip))
            piece = list(takewhile(lambda one: one.sha in descendants, newest_first))
            way = [*reversed(piece), *way]
            parents = self.parents(way[0].sha)
            if oldest in parents:
                return way
            tip = next(sha for sha in parents if sha in descendants)

    def one(self, name: str) -> Revision:
        """The revision that a name means; raises as `sha` does."""
        sha = self.sha(name, within="HEAD")
        (found,) = self._log(sha, "--max-count=1")
        return replace(found, position=self.count(sha))

    def named_in(
        self, between: RevisionRange, names: Sequence[str], *, elsewhere: bool = False
    ) -> frozenset[int]:
        """The positions, from 0, of named revisions of a range, `A..B` names those after A.

        A name may be of a commit that a merge of the range brought; with `elsewhere` of any.

        Raises InfraError: git fails.
        """
        places = {one.sha: place for place, one in enumerate(between.revisions)}
        found = set[int]()
        for name in names:
            match = _RANGE.fullmatch(name)
            ends = (match[1], match[2]) if match else (name, name)
            shas = [self.sha(end, within=between.new.sha) for end in ends]
            first, last = (places.get(sha) for sha in shas)
            if first is None or last is None:
                if elsewhere or all(self._is_brought(between, sha) for sha in shas):
                    continue
                raise UsageError(
                    f"{quoted(name)} is not in the range",
                    hint=f"skip revisions from {between.old.label} to {between.new.label} only",
                )
            found |= set(range(first + 1, last + 1)) if match else {first}
        return frozenset(found)

    def _log(self, what: str, *options: str) -> list[Revision]:
        """Commits along first parents, oldest first; their positions are not known yet."""
        asked = ("log", "--first-parent", "--encoding=UTF-8", "--no-show-signature", "-z", _FORMAT)
        told = self._asked(*asked, *options, "--end-of-options", what)
        fields = [field.lstrip("\n") for field in told.split("\0")]
        found: list[Revision] = []
        for start in range(0, len(fields) - _FIELDS, _FIELDS + 1):
            sha, parents, author, at_s, subject = fields[start : start + _FIELDS]
            found.append(
                Revision(
                    sha=sha,
                    position=0,
                    parent_sha=parents.split()[0] if parents else None,
                    subject=one_line(subject),
                    author=one_line(author),
                    committed_at_s=int(at_s) if at_s.isdigit() else 0,
                )
            )
        return found[::-1]

    def _not_on_the_chain(
        self, old: tuple[str, str], new: tuple[str, str], after: Sequence[Revision]
    ) -> UsageError:
        """What is wrong with two ends, and which old end would do."""
        what = f"{old[0]} is not on the first-parent chain of {new[0]}"
        if not after:
            return UsageError(
                f"{what}: it is newer", hint=f"did you mean {new[0]} for OLD and {old[0]} for NEW?"
            )
        fork = after[0].parent_sha
        if self._is_shallow():
            return UsageError(f"{what}, as far as this clone knows: it is shallow", hint=_DEEPEN)
        if fork is None:
            return UsageError(f"{what}, and they share no history", hint="name two of one branch")
        known = self.git.text("rev-list", "--max-count=1", "--end-of-options", f"{fork}..{old[1]}")
        where = f"{old[0]} is on a branch that " + (
            "was merged into it" if self._is_ancestor(old[1], new[1]) else "left it"
        )
        return UsageError(
            f"{what}: {where}" if known else what,
            hint=f"take {fork[:ABBREVIATION_LENGTH]} for OLD, which both have",
        )

    def _is_brought(self, between: RevisionRange, sha: str) -> bool:
        """Whether NEW contains a commit that OLD does not contain."""
        inside = self._is_ancestor(sha, between.new.sha)
        return inside and not self._is_ancestor(sha, between.old.sha)

    def _is_shallow(self) -> bool:
        return self.git.text("rev-parse", "--is-shallow-repository") == "true"

    def _is_ancestor(self, one: str, other: str) -> bool:
        try:
            self.git.text("merge-base", "--is-ancestor", "--end-of-options", one, other)
        except GitRefusedError:
            return False
        return True

    def _asked(self, *arguments: str) -> str:
        """What git prints."""
        try:
            return self.git.text(*arguments)
        except GitRefusedError as error:
            raise InfraError(f"git {arguments[0]} failed: {error}") from error
