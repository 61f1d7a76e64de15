"""Environments with the project's wheel and chosen extras, made without network.

The dependencies are links to those of the environment that runs the tests.
"""

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
from tests.running import ran

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def build_wheel(directory: Path) -> Path:
    """The wheel as `pip install .` builds it."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", f"--wheel-dir={directory}")
    subprocess.run([*PIP, "wheel", *options, str(CHECKOUT)], check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


class Environment:
    """A virtual environment in which the wheel was installed with extras.

    Unless `own`, what the package itself requires is left out, as by `pip install --no-deps`.
    """

    def __init__(self, root: Path, wheel: Path, *extras: str, own: bool = True) -> None:
        venv.create(root, with_pip=False, symlinks=True)
        self.root = root
        python = ("--python", str(root / "bin" / "python"))
        install = ("install", "--no-deps", "--no-index", str(wheel))
        subprocess.run([*PIP, *python, *install], check=True)
        places = sysconfig.get_paths("venv", vars={"base": str(root), "platbase": str(root)})
        self.packages = Path(places["purelib"])
        (itself,) = self.packages.glob("buildbot_bench-*.dist-info")
        for found in _closure(PathDistribution(itself), {*extras, *([""] if own else [])}, set()):
            self._link(found)

    @property
    def commands(self) -> list[str]:
        """The project's own, in order."""
        return sorted(path.name for path in (self.root / "bin").glob("bench-*"))

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run what is in its bin/, with nothing of ours around."""
        return ran(
            [str(self.root / "bin" / command), *arguments],
            cwd=self.root,
            env=self._environment(self.root),
            timeout=120,
        )

    def start(self, place: Path, command: str, *arguments: str) -> subprocess.Popen[str]:
        """Begin what is in its bin/ in an empty directory, with one stream for all it says."""
        home = place / "home"
        home.mkdir()
        return subprocess.Popen(
            [str(self.root / "bin" / command), *arguments],
            cwd=place,
            env=self._environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _environment(self, home: Path) -> dict[str, str]:
        return {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "HOME": str(home)}

    def _link(self, found: Distribution) -> None:
        for name in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
            link = self.packages / name
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(name))))
        for point in found.entry_points.select(group="console_scripts"):
            script = self.root / "bin" / point.name
            module, _, function = point.value.partition(":")
            program = f"import sys; from {module} import {function} as main; sys.exit(main())"
            script.write_text(f"#!{self.root / 'bin' / 'python'}\n{program}\n")
            script.chmod(0o755)


def _closure(found: Distribution, extras: set[str], seen: set[str]) -> Iterator[Distribution]:
    for line in found.requires or ():
        wanted = Requirement(line)
        if not _is_wanted(wanted, extras):
            continue
        key = f"{re.sub(r'[-_.]+', '-', wanted.name).lower()} {sorted(wanted.extras)}"
        if key not in seen:
            seen.add(key)
            needed = distribution(wanted.name)
            yield needed
            yield from _closure(needed, {"", *wanted.extras}, seen)


def _is_wanted(requirement: Requirement, extras: set[str]) -> bool:
    """Whether one of these extras asks for it; what is asked for without one has the extra ''."""
    if requirement.marker is None:
        return "" in extras
    return any(requirement.marker.evaluate({"extra": extra}) for extra in extras)
