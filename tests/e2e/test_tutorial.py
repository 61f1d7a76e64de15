"""The tutorial of five minutes, typed whole into a shell in an empty home, finds its commit."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.readme import FOLLOWED, RUN_BLOCKS, on
from tests.running import ran

pytestmark = pytest.mark.e2e

MARK = "=== "


def test_five_minutes_lead_a_stranger_to_the_commit(tmp_path: Path) -> None:
    commands = [one for block in RUN_BLOCKS if block in on(FOLLOWED) for one in block.commands]
    typed = [f"echo '{MARK}{number}'\n{one}" for number, one in enumerate(commands)]
    done = ran(
        ["sh", "-e", "-c", "\n".join(typed)],
        cwd=tmp_path,
        env={
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, *said = done.stdout.split(MARK)
    answers = dict(zip(commands, said, strict=True))
    found, again, compared = [text for one, text in answers.items() if one.startswith("bench-")]
    (shown,) = [block.text for block in on(FOLLOWED) if block.language == "text"]
    assert shown in found
    assert re.search(r"lowered the value of bench\.sh on \S+ by [56]\.\d %", found)
    assert "Checks:" in found
    assert "`Change 15`" in again
    assert "are known already and not repeated" in done.stderr
    assert "worse" in compared
