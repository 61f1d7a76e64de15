"""`make docs` builds the manual, and says what is wrong with a page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Table

from buildbot_bench.plugin.db.schema import METADATA
from manual.parsers import parsers
from manual.reference import TEXTS
from tests.readme import CHECKOUT
from tests.running import ran

MAKES = [one for one in ("make", "bmake") if shutil.which(one)]


def build(place: Path, made: Path) -> subprocess.CompletedProcess[str]:
    """Build a copy of docs/ with the Makefile's own recipe for it."""
    return ran(
        [sys.executable, "-m", "sphinx", *STRICTLY, "--builder", "html", place / "docs", made],
        timeout=280,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )


def strictly() -> list[str]:
    makefile = (CHECKOUT / "Makefile").read_text()
    (line,) = [one for one in makefile.splitlines() if one.startswith("SPHINX =")]
    return line.partition(" -m sphinx ")[2].replace("--jobs auto", "").split()


STRICTLY = strictly()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of all pages, and of the package from which the reference is made."""
    shutil.copytree(CHECKOUT / "docs", tmp_path / "docs")
    for page in CHECKOUT.glob("*.md"):
        shutil.copy(page, tmp_path)
    return tmp_path


def test_all_pages_are_built_and_name_what_the_code_has(place: Path) -> None:
    done = build(place, place / "made")
    assert (done.returncode, done.stderr) == (0, "")
    reference = place / "made" / "reference"
    commands = (reference / "commands.html").read_text()
    assert [name for name in parsers() if f">{name}<a" not in commands] == []
    tables = (reference / "tables.html").read_text()
    assert [name for name in METADATA.tables if name not in tables] == []
    assert "false-alarms" in (reference / "bench-yml.html").read_text()
    mails = (place / "made" / "how-to" / "reading-a-mail.html").read_text()
    assert "Subject: [bench] apu2 is out of control" in mails
    assert "bench_testbed_quarantined" in (reference / "metrics.html").read_text()
    assert "/api/v2/bench/searches/SEARCHID" in (reference / "rest.html").read_text()


def test_a_link_to_nothing_and_a_page_of_no_use_are_errors(place: Path) -> None:
    for page in (place / "docs").rglob("*.md"):
        page.unlink()
    (place / "docs" / "index.md").write_text(
        "# A\n\n[gone](#gone) [away](away.md) {ref}`x`\n\n```{reference} nothing\n```\n"
    )
    (place / "docs" / "lonely.md").write_text("# Lonely\n")
    done = build(place, place / "made")
    assert done.returncode != 0
    for words in ("'gone'", "away.md", "there is no reference 'nothing'", "lonely.md"):
        assert words in done.stderr


def test_each_input_and_output_of_the_action_is_in_the_reference() -> None:
    text = TEXTS["action"]()
    action = (CHECKOUT / "action.yml").read_text()
    names = re.findall(r"^  ([a-z-]+):$", action.partition("\nruns:")[0], re.MULTILINE)
    assert {"fail-on", "token", "verdicts", "report"} <= {*names}
    for name in names:
        assert f"| `{name}` |" in text, name


def test_each_table_is_explained_in_words() -> None:
    text = TEXTS["tables"]()
    assert isinstance(next(iter(METADATA.tables.values())), Table)
    unsaid = [name for name in METADATA.tables if f"## {name}\n\n\n" in text]
    assert unsaid == [], "add a sentence to manual/reference/tables_text.py"


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("target", ["docs", "docs-links", "picture"])
def test_both_kinds_of_make_know_the_targets(make: str, target: str) -> None:
    done = ran([make, "-n", target], cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    assert ".venv/bin/python -m" in done.stdout
