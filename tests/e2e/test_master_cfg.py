"""The configuration as it is shipped: short, plain, and taken by Buildbot from a fresh copy."""

import ast
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.readme import CHECKOUT
from tests.running import ran

pytestmark = pytest.mark.e2e

MASTER_CFG = CHECKOUT / "master.cfg"
LOGIC = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.For, ast.While)


def test_master_cfg_is_one_short_page_without_logic() -> None:
    text = MASTER_CFG.read_text()
    assert len(text.splitlines()) <= 60
    assert not [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, (*LOGIC, ast.comprehension))
    ]


def test_fresh_copy_passes_checkconfig(tmp_path: Path) -> None:
    for name in ("master.cfg", "bench.yml"):
        shutil.copyfile(CHECKOUT / name, tmp_path / name)
    done = ran(
        [Path(sys.executable).parent / "buildbot", "checkconfig", "master.cfg"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("BENCH_")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Config file is good!" in done.stdout
