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

    def merge(self, name: str, into: str = "main", **files: str) -> None:
        """Merge a branch into another; `files` are what a person writes into the merge."""
        git(self.path, "checkout", "--quiet", into)
        who = ["-c", "user.name=A Committer", "-c", "user.email=committer@example.org"]
        command = ["git", *who, "merge", "--quiet", "--no-ff", "--no-commit", name]
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
