"""Environments that hold the project's wheel and what chosen extras need of others; no network.

The dependencies are links to those of the environment that runs the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.readme import CHECKOUT

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def build_wheel(directory: Path) -> Path:
    """The wheel as `pip install .` builds it."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", f"--wheel-dir={directory}")
    subprocess.run([*PIP, "wheel", *options, str(CHECKOUT)], check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


class Environment:
    """A virtual environment in which the wheel was installed with extras."""

    def __init__(self, root: Path, wheel: Path, *extras: str) -> None:
        venv.create(root, with_pip=False, symlinks=True)
        self.root = root
        python = ("--python", str(root / "bin" / "python"))
        install = ("install", "--no-deps", "--no-index", str(wheel))
        subprocess.run([*PIP, *python, *install], check=True)
        places = sysconfig.get_paths("venv", vars={"base": str(root), "platbase": str(root)})
        self.packages = Path(places["purelib"])
        (itself,) = self.packages.glob("buildbot_bench-*.dist-info")
        for found in _closure(PathDistribution(itself), {"", *extras}, set()):
            self._link(found)

    @property
    def commands(self) -> list[str]:
        """The project's own, in order."""
        return sorted(path.name for path in (self.root / "bin").glob("bench-*"))

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run what is in its bin/, with nothing of ours around."""
        return subprocess.run(
            [str(self.root / "bin" / command), *arguments],
            cwd=self.root,
            env={"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "HOME": str(self.root)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def _link(self, found: Distribution) -> None:
        for name in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
            link = self.packages / name
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(name))))


def _closure(found: Distribution, extras: set[str], seen: set[str]) -> Iterator[Distribution]:
    for line in found.requires or ():
        wanted = Requirement(line)
        if wanted.marker and not any(wanted.marker.evaluate({"extra": e}) for e in extras):
            continue
        key = f"{re.sub(r'[-_.]+', '-', wanted.name).lower()} {sorted(wanted.extras)}"
        if key not in seen:
            seen.add(key)
            needed = distribution(wanted.name)
            yield needed
            yield from _closure(needed, {"", *wanted.extras}, seen)
