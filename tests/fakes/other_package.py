"""Another package, as pip installs one: modules, and metadata with entry points."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def install(place: Path, modules: Mapping[str, str], entry_points: str) -> Path:
    """Put a package `extra` below `place`, a directory to be on sys.path; gives the directory."""
    package, metadata = place / "extra", place / "extra-1.0.dist-info"
    for directory in (package, metadata):
        directory.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    described = "Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(described, encoding="utf-8")
    (metadata / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    return place


def import_from(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process find the package there, and forget it when the test ends."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "extra"]:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(place))
