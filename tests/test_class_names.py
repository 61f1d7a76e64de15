"""A public class of the package has a name that no other class of it has."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "buildbot_bench"
# The class within a resource that describes its JSON; Buildbot looks for it by this name.
PRESCRIBED = "EntityType"


def test_no_other_class_of_the_package_has_the_same_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        within = {
            inner
            for outer in ast.walk(tree)
            if isinstance(outer, ast.ClassDef)
            for inner in outer.body
            if isinstance(inner, ast.ClassDef)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if node.name != PRESCRIBED or node not in within:
                found[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(found) > 100
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
