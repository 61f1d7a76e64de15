"""Manual pages and completions say what the parsers say, and roff and shells take them."""

import shutil
import sys

import pytest

from buildbot_bench import commands
from manual.__main__ import HOME, generated
from manual.parsers import local_parsers, parsers
from manual.roff import page
from tests.running import ran

PARSERS, LOCAL = parsers(), local_parsers()
GROFF = shutil.which("groff")


def options(parser) -> set[str]:
    """All options of a command and its subcommands that its help shows."""
    found = set()
    for action in parser._actions:
        if action.help != "==SUPPRESS==":
            found |= set(action.option_strings)
            for command in (action.choices or {}).values() if action.nargs == "A..." else ():
                found |= options(command)
    return found


def test_what_is_kept_is_what_the_parsers_say():
    made = generated()
    stale = [str(path) for path, text in made.items() if (HOME / path).read_text() != text]
    assert stale == [], "run `make manual`"
    kept = {
        path.relative_to(HOME)
        for path in HOME.glob("*/*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert kept == set(made)


def test_each_command_has_its_page():
    script = {path.name for path in (HOME / "man1").iterdir()}
    assert script == {f"{name}.1" for name in PARSERS}
    assert {name.replace("-", "_") for name in PARSERS} >= {
        name for name in vars(commands) if name.startswith("bench_")
    }


@pytest.mark.parametrize("command", PARSERS)
def test_each_option_is_on_its_page(command):
    text = page(PARSERS[command], []).replace("\\-", "-")
    assert options(PARSERS[command])
    assert [one for one in options(PARSERS[command]) if f"\\fB{one}\\fR" not in text] == []


@pytest.mark.parametrize("command", LOCAL)
def test_each_option_without_a_farm_is_on_its_page_with_how_it_is_called(command):
    text = page(PARSERS[command], [], LOCAL[command]).replace("\\-", "-")
    section = text.partition('.SH "WITHOUT A FARM"')[2].partition("\n.SH ")[0]
    assert options(LOCAL[command]) > {"--build", "--run", "--value"}
    assert [one for one in options(LOCAL[command]) if f"\\fB{one}\\fR" not in section] == []
    assert f"{command} --local" in text.partition(".SH DESCRIPTION")[0]


@pytest.mark.skipif(GROFF is None, reason="there is no groff")
@pytest.mark.parametrize("command", PARSERS)
def test_roff_takes_its_page(command):
    done = ran(
        [GROFF, "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=100n", HOME / "man1" / f"{command}.1"],
        env={"GROFF_NO_SGR": "1", "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = "".join(done.stdout.split("\b"))
    for heading in ("NNAAMMEE", "SSYYNNOOPPSSIISS", "DDEESSCCRRIIPPTTIIOONN", "SSEEEE AALLSSOO"):
        assert heading in shown


@pytest.mark.parametrize("command", PARSERS)
def test_bash_takes_its_completion(command):
    done = ran(["bash", "-n", HOME / "bash" / command])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("bench-farm in", ["init"]),
        ("bench-farm init --mast", ["--masters"]),
        ("bench-farm init --lab q", ["qemu"]),
        ("bench-bisect --rel", ["--release"]),
        ("bench-bisect --local --bui", ["--build", "--build-timeout"]),
        ("bench-compare --lo", ["--local", "--lower-is-better"]),
    ],
)
def test_bash_completes_commands_options_and_choices(words, completed):
    command = words.split()[0]
    program = (
        f"source {HOME}/bash/{command}; COMP_WORDS=({words}); "
        "COMP_CWORD=$((${#COMP_WORDS[@]}-1));"
        f'_shtab_{command.replace("-", "_")}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = ran(["bash", "-c", program])
    assert (done.stdout.split(), done.stderr) == (completed, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_command_prints_its_completion(capsys, monkeypatch, shell):
    monkeypatch.setattr(sys, "argv", ["bench-bisect", "--print-completion", shell])
    assert commands.bench_bisect() == 0
    (kept,) = (HOME / shell).glob("*bench-bisect*")
    assert capsys.readouterr().out == kept.read_text()


@pytest.mark.parametrize("shells", [[], ["../../etc"], ["bash", "zsh"]])
def test_no_other_shell_is_completed(capsys, monkeypatch, shells):
    monkeypatch.setattr(sys, "argv", ["bench-bisect", "--print-completion", *shells])
    assert commands.bench_bisect() == 2
    assert "takes one of bash, fish, zsh" in capsys.readouterr().err
