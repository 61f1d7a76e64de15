"""`make test` and `make test-vm` look for their tests where there are some, and miss none."""

import re
from pathlib import Path

import pytest

from buildbot_bench.process_environment import LIMITS
from tests.readme import CHECKOUT
from tests.running import ran

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


# What a machine may have set, and no test may set for what it starts: the product runs as users
# run it. Each place that may name one is a test of it.
OF_USERS = frozenset(LIMITS) | {
    "AIOSMTPD_CONTROLLER_TIMEOUT",
    "MPLBACKEND",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONOPTIMIZE",
    "PYTHONPYCACHEPREFIX",
    "PYTHONWARNINGS",
}
TESTS_OF_THEM = {"tests/plugin/farm/test_calculating.py", "tests/test_makefile.py"}


def test_nothing_is_set_for_the_product_that_users_do_not_set() -> None:
    of_ci = [path for path in (CHECKOUT / ".ci").rglob("*") if path.is_file()]
    told = [CHECKOUT / "Makefile", *(path for path in of_ci if path.suffix != ".pyc")]
    for place in ("tests", "benchmarks"):
        told += [*(CHECKOUT / place).rglob("*.py"), *(CHECKOUT / place).rglob("*.sh")]
    named = {
        str(path.relative_to(CHECKOUT))
        for path in told
        if any(name in path.read_text(encoding="utf-8") for name in OF_USERS)
    }
    assert named == TESTS_OF_THEM


def test_no_recipe_of_make_sets_a_variable_of_the_environment() -> None:
    lines = TEXT.replace("\\\n", " ").splitlines()
    recipes = [line.lstrip("\t@-") for line in lines if line.startswith("\t")]
    recipes += [value for line in lines if (value := line.partition(" = ")[2].strip())]
    assert [one for one in recipes if re.match(r"(env |export )|\w+=", one)] == []


def test_the_longest_modules_that_begin_first_are_there() -> None:
    from tests.e2e.conftest import LONGEST

    assert {name for name in LONGEST if not [*OURS.rglob(f"{name}.py")]} == set()


@pytest.mark.parametrize("make", ["make", "bmake"])
def test_a_python_by_which_pip_cannot_fetch_is_refused_at_once(make: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase "$2" in *ssl*) exit 1 ;; esac\necho went on\n')
    python.chmod(0o755)
    words = [make, f"PYTHON={python}", f"VENV={tmp_path}/venv", f"{tmp_path}/venv/ready"]
    done = ran(words, cwd=CHECKOUT)
    assert done.returncode != 0
    assert "say PYTHON=" in done.stderr
    assert "went on" not in done.stdout
