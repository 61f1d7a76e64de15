"""Whatever bench-farm is given for a farm, a file or a database, it answers in a sentence."""

import itertools
from pathlib import Path

import pytest

from buildbot_bench.demo.command import main
from tests.fakes.whole_farm import WORKFLOW

DATABASES = [
    *("unknown://x", "sqlite+foo:///x", "postgresql+foo://h/db", "postgresql+psycopg://h:abc/db"),
    *("nonsense", "sqlite://", "sqlite:////dev/null", "sqlite:///text", "sqlite:////nowhere/x"),
    *("sqlite:///" + "x" * 5000, "sqlite:///a\nb", "postgresql://h/db"),
]
PATHS = ["text", "loop", "nowhere/x", "text/x", "x" * 5000, "a\nb", ".", "farm/bench.yml"]
COMMANDS = [
    *(["verify", "--dir"], ["doctor", "--dir"], ["backup", "copy", "--dir"], ["check"]),
    *(["restore", "--dir=new"], ["restore", "farm", "--dir"], ["verify", "--dir=farm", "--master"]),
    *(["verify", "--dir=farm", "--workflow"], ["backup", "copy", "--dir=farm", "--testbeds"]),
    *(["verify", "--dir=farm", "--lab"], ["backup", "--dir=farm"]),
]
CASES = [
    *([*command, path] for command, path in itertools.product(COMMANDS, PATHS)),
    *([name, "--dir=farm", f"--db={url}"] for name in ("verify", "doctor") for url in DATABASES),
    *(["certificates", path, "h.example.org"] for path in PATHS if path not in {"a\nb", "."}),
    *(["certificates", "new", host] for host in ("", "a\nb", "x" * 300, "..", "\0" * 64)),
]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "farm" / "master").mkdir(parents=True)
    (tmp_path / "farm" / "bench.yml").write_text(WORKFLOW)
    (tmp_path / "farm" / "master" / "text").write_text("no database")
    (tmp_path / "text").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def test_odd_arguments_are_answered_in_a_sentence(here, capsys):
    for arguments in CASES:
        try:
            status = main(arguments)
        except SystemExit as refused:
            status = refused.code
        said = "".join(capsys.readouterr())
        assert status in {0, 1, 2, 4}, arguments
        assert said, arguments
        assert "\\x00" not in said, arguments
    assert (here / "text").read_text() == "mine"
