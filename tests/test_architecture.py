"""ARCHITECTURE.md speaks of what is there: every path that it names, and every room.

And each command says what it is without what it works with.
"""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from manual.parsers import parsers
from tests.running import ran

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


SCRIPTS = {
    script.name: script.value.split(":")
    for script in metadata.distribution("buildbot-bench").entry_points
    if script.group == "console_scripts"
}
ASK = """
import contextlib, io, sys
before = {*sys.modules}
for line in sys.argv[1:]:
    sys.argv = line.split()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        from MODULE import FUNCTION
        FUNCTION()
packages = {name.partition(".")[0] for name in {*sys.modules} - before}
print(*packages - sys.stdlib_module_names - {"buildbot_bench"})
"""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_command_says_what_it_is_by_python_alone(name):
    words = [
        word
        for action in parsers()[name]._actions
        if action.nargs == "A..."
        for word in action.choices
    ]
    asked = ["--version", "--help", "--local --help", *(f"{word} --help" for word in words)]
    module, function = SCRIPTS[name]
    program = ASK.replace("MODULE", module).replace("FUNCTION", function)
    lines = [f"{name} {one}" for one in asked]
    done = ran([sys.executable, "-c", program, *lines], check=True)
    assert done.stdout.split() == []
