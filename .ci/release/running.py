"""Commands that a release runs, its clean copies and environments, and the reason why it ends."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# What maintainers install; users may install all other extras.
_OF_MAINTAINERS = {"docs", "release", "test"}


class Refusal(Exception):  # noqa: N818 — a refusal is no defect of the script
    """The reason why there is no release and what to do next, in one sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """What pyproject.toml says of the project in a directory."""

    name: str
    version: str
    extras: tuple[str, ...]
    """Those that users install."""

    @classmethod
    def of(cls, root: Path) -> "Project":
        """Read pyproject.toml."""
        read = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = read.get("optional-dependencies", {}).keys() - _OF_MAINTAINERS
        return cls(name=read["name"], version=read["version"], extras=tuple(sorted(extras)))

    def at(self, wheel: Path, *extras: str) -> str:
        """Return the requirement of a wheel with extras, as pip and uv take it."""
        return f"{self.name}[{','.join(extras)}] @ {wheel.resolve().as_uri()}"


def run(
    command: Sequence[str],
    *,
    otherwise: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> None:
    """Run a command that may print; with `quiet` show what it printed if it failed.

    Raises:
        Refusal: It failed; `otherwise` is what to do then.
    """
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        check=False,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
    if done.returncode:
        sys.stderr.write((done.stdout or b"").decode(errors="replace"))
        name = command[2] if command[1] == "-m" else Path(command[0]).name
        raise Refusal(f"`{name}` failed: {otherwise}, then run this again.")


def output(command: Sequence[str], cwd: Path) -> str:
    """Return what a command printed that is not expected to fail."""
    done = subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def uv(*words: str) -> list[str]:
    """Return the beginning of a command of uv."""
    return [sys.executable, "-m", "uv", *words, "--quiet"]


def copy_of(root: Path, to: Path) -> Path:
    """Check the last commit out into a new directory, which is returned."""
    run(
        ["git", "clone", "--quiet", "--shared", str(root), str(to)],
        otherwise="do what git says above",
    )
    return to


def environment(place: Path) -> Path:
    """Make an empty virtual environment of this Python; return its interpreter."""
    make = [*uv("venv"), f"--python={sys.executable}", str(place)]
    run(make, otherwise="do what uv says above")
    return place / "bin" / "python"
