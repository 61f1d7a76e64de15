"""Public classes have names that occur once in the package: a name says which one is meant."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "buildbot_bench"


def test_no_two_public_classes_have_the_same_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
