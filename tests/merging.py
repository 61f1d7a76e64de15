"""A checkout whose main branch merges others, some commit of which makes it slow."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.gitrepo import git

FAST, SLOW = "1000\n", "800\n"


class Project:
    """A checkout whose main branch merges others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
        self.commit("base", level=FAST, number="1\n", settings="plain\n")
        git(path, "tag", "base")

    def commit(self, subject: str, **files: str) -> None:
        """A commit that writes a file of its own name, and others."""
        self._write(subject, {subject.replace(" ", "-"): subject, **files})

    def _write(self, subject: str, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(content)
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--message", subject)

    def branch(self, name: str, at: str = "base") -> None:
        """Go on from there on a new branch."""
        git(self.path, "checkout", "--quiet", "-B", name, at)

    def several(self, name: str, count: int, *, slow: int = 0, **files: str) -> None:
        """So many commits, one of which makes it slow."""
        for place in range(1, count + 1):
            changed = {"level": SLOW} if place == slow else {}
            self.commit(f"{name} {place}", **changed, **files)

    def merge(self, name: str, into: str = "main", under: str = "", **files: str) -> None:
        """Merge a branch into another, or into a directory of it, as git subtree does.

        `files` are what a person writes into the merge.
        """
        git(self.path, "checkout", "--quiet", into)
        who = ["-c", "user.name=A Committer", "-c", "user.email=committer@example.org"]
        where = [f"-Xsubtree={under}"] if under else []
        command = ["git", *who, "merge", "--quiet", "--no-ff", "--no-commit", *where, name]
        subprocess.run(command, cwd=self.path, check=False, capture_output=True)
        self._write(f"Merge {name}", files)


def one_merge(project: Project, *, slow: int = 3) -> None:
    """A branch of five commits that main merges."""
    project.branch("side")
    project.several("side", 5, slow=slow)
    git(project.path, "checkout", "--quiet", "main")
    project.several("main", 2)
    project.merge("side")
    project.several("later", 2)


ZLIB = "contrib/zlib+"
_LINES = "".join(f"line {number}\n" for number in range(30))


def deflate(**changed: str) -> str:
    """The vendor's file, with some lines changed: `line_3="ours"`."""
    text = _LINES
    for name, now in changed.items():
        line = name.replace("_", " ")
        text = text.replace(f"{line}\n", f"{line}, {now}\n")
    return text


def import_zlib(project: Project) -> None:
    """Main gets a directory that is a vendor's branch, as `git subtree add` does it."""
    path = project.path
    git(path, "checkout", "--quiet", "--orphan", "vendor")
    git(path, "rm", "-r", "-f", "--quiet", ".")
    project.commit("zlib import", level=FAST, **{"deflate.c": deflate(), "Makefile": "all:\n"})
    git(path, "checkout", "--quiet", "main")
    ours = ("-s", "ours", "--no-commit", "--allow-unrelated-histories")
    git(path, "merge", "--quiet", *ours, "vendor")
    git(path, "read-tree", f"--prefix={ZLIB}/", "-u", "vendor")
    git(path, "commit", "--quiet", "--message", "Import zlib")
    project.commit("main patches zlib", **{f"{ZLIB}/deflate.c": deflate(line_3="ours")})


def zlib_drop(project: Project, **files: str) -> None:
    """The vendor goes on: its second commit is slow, its third adds a file; main merges it."""
    git(project.path, "checkout", "--quiet", "vendor")
    project.commit("zlib 1", **{"deflate.c": deflate(line_20="theirs")})
    project.commit("zlib 2", level=SLOW)
    project.commit("zlib 3", **{"inflate.c": "new\n"})
    git(project.path, "checkout", "--quiet", "main")
    project.commit("main first")
    project.merge("vendor", under=ZLIB, **files)


def zlib_clash(project: Project) -> None:
    """Of the vendor's next commits two conflict with what main did, the slow one among them."""
    git(project.path, "checkout", "--quiet", "vendor")
    project.commit("zlib clashes", **{"deflate.c": deflate(line_3="theirs")})
    project.commit("zlib slow", level=SLOW)
    project.commit("zlib gives way", **{"deflate.c": deflate()})
    project.commit("zlib last")
    project.merge("vendor", under=ZLIB)
