"""`make test` and `make test-vm` look for their tests where there are some, and miss none."""

from __future__ import annotations

import re

import pytest

from tests.readme import CHECKOUT

TEXT = (CHECKOUT / "Makefile").read_text()
OURS = CHECKOUT / "tests"


@pytest.mark.parametrize(("mark", "variable"), [("e2e", "FARMS"), ("vm", "MACHINES")])
def test_all_that_is_marked_lies_where_make_looks_for_it(mark: str, variable: str) -> None:
    found = re.search(rf"^{variable} = (.*)$", TEXT, re.MULTILINE)
    assert found is not None
    places = [CHECKOUT / place for place in found[1].split()]
    said = re.compile(rf"mark\.{mark}\b")
    marked = [path for path in OURS.rglob("*.py") if said.search(path.read_text())]
    assert marked
    assert [path for path in marked if not any(map(path.is_relative_to, places))] == []


def test_the_longest_modules_that_begin_first_are_there() -> None:
    from tests.e2e.conftest import LONGEST

    assert {name for name in LONGEST if not [*OURS.rglob(f"{name}.py")]} == set()
