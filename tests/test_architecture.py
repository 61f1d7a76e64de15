"""ARCHITECTURE.md speaks of what is there: every path that it names, and every room."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# Paths are those of the project, of the package, or of the plugin.
BASES = (ROOT, ROOT / "buildbot_bench", ROOT / "buildbot_bench" / "plugin")


def test_each_path_that_it_names_is_there():
    named = re.findall(r"`([a-z_][\w./-]*(?:/|\.(?:py|md|toml|yml)))`", TEXT)
    assert len(named) > 30
    missing = [path for path in named if not any((base / path).exists() for base in BASES)]
    assert missing == ["bench.yml"] * missing.count("bench.yml")


def test_each_room_is_told():
    for place in ("buildbot_bench", "buildbot_bench/plugin"):
        rooms = [path.parent.name for path in (ROOT / place).glob("*/__init__.py")]
        assert [room for room in rooms if f"`{room}/`" not in TEXT] == []


def test_each_entry_point_is_told():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    ours = [group for group in groups if group.startswith("buildbot_bench.")]
    assert [group for group in ours if f"`{group}`" not in TEXT] == []
