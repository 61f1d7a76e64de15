"""Public classes of report, render, cli and workflow have names that occur once in the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "buildbot_bench"
DISTINCT = ("core/report", "render", "cli", "workflow")


def test_no_other_class_of_the_package_has_the_same_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    several = {name: places for name, places in found.items() if len(places) > 1}
    assert {
        name: places
        for name, places in several.items()
        if any(place.startswith(tuple(f"{home}/" for home in DISTINCT)) for place in places)
    } == {}
