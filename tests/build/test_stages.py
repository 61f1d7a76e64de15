"""Where a build fails says whose it is; it says how far it is, and what each stage took."""

import io
import re
import sys
from itertools import count
from pathlib import Path

import pytest

from buildbot_bench.build.journal import Journal
from buildbot_bench.core.build_log import Stage
from tests.build.builder import DONE, ILL, UNTESTABLE, USAGE, needs_clang
from tests.running import ran

CONFIG = "usr.sbin/config/main.c"


@needs_clang
def test_the_tests_of_make_are_not_run(builder):
    assert builder.build(tool="make.py") == DONE


@needs_clang
def test_a_daemon_that_ignores_interrupts_builds_too(builder):
    words = builder.words(tool="make.py")
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [*ignoring, sys.executable, "-m", "buildbot_bench.build.cli", *words]
    done = ran(command)
    assert done.returncode == DONE, done.stdout + done.stderr


@needs_clang
def test_what_fails_in_the_bootstrap_is_the_builders(builder, capsys):
    builder.edit("tools/build/make.py", "if failing & set(named):", "if True:")
    assert builder.build(tool="make.py") == ILL
    said = capsys.readouterr().err
    assert "bootstrap: Failed tests" in said
    assert "bench-build check" in said


def test_what_fails_in_the_tool_chain_is_the_builders_with_its_remedy(builder, capsys):
    builder.edit(CONFIG, "int main", "#include <no-such-archive.h>\nint main")
    assert builder.build() == ILL
    said = capsys.readouterr().err
    assert f"toolchain: {CONFIG}:1:" in said
    assert "install the package that has no-such-archive.h" in said
    assert builder.toolchains() == 0


def test_a_module_that_does_not_compile_is_named(builder, capsys):
    builder.edit("sys/modules/em/module.c", "int em", "int 1em")
    assert builder.build() == UNTESTABLE
    assert "bench-build: module em: sys/modules/em/module.c:1:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("options NO_SUCH", 'unknown option "NO_SUCH"'),
        ("device nosuch", 'device "nosuch" is unknown'),
    ],
)
def test_an_option_that_this_revision_does_not_know_is_untestable_here(
    builder, capsys, options, complaint
):
    assert builder.build(options=options) == UNTESTABLE
    assert complaint in capsys.readouterr().err


def test_a_file_that_is_no_configuration_is_who_wrote_its(builder, capsys):
    mine = builder.home / "MINE"
    mine.write_text("include GENERIC\nthe fastest kernel\n")
    assert builder.build(f"--kernconf={mine}") == USAGE
    assert "syntax error; fix the file that --kernconf names" in capsys.readouterr().err


def test_every_line_is_kept_and_the_stages_with_their_times_are_shown(builder, capsys):
    assert builder.build() == DONE
    said = capsys.readouterr().out
    assert "configuration …" in said
    assert "kernel and modules" in said
    assert " s, packing " in said
    assert "-Wno-error=format" not in said
    assert "-Wno-error=format" in (builder.obj / "bench-build.log").read_text()
    assert builder.build("--verbose", "--clean") == DONE
    assert "-Wno-error=format" in capsys.readouterr().out


def test_what_make_takes_from_the_environment_is_none_of_the_kernels(builder):
    for name, value in {"MAKEFLAGS": "n", "CFLAGS": "-no-such", "NO_MODULES": "yes"}.items():
        builder.monkeypatch.setenv(name, value)
    assert builder.build() == DONE
    assert "if_em.ko" in builder.packed()


def journal_of_a_slow_build(tmp_path: Path) -> tuple[Journal, io.StringIO]:
    """Each look at its clock takes a second."""
    out, seconds = io.StringIO(), count()
    journal = Journal(
        log=tmp_path / "log",
        out=out,
        source=tmp_path,
        configuration=tmp_path / "BENCH",
        about=lambda: 960,
        clock=lambda: float(next(seconds)),
    )
    return journal, out


def test_a_userland_forecasts_what_is_left_at_this_runs_own_speed(tmp_path):
    journal, out = journal_of_a_slow_build(tmp_path)
    journal.begin(Stage.TOOLCHAIN)
    journal.take(">>> stage 4.2: building libraries")
    journal.take("===> lib/libc (obj,all,install)")
    for number in range(480):
        journal.take(f"/usr/bin/clang -target x86_64 -c f{number}.c")
    shown = [line for line in out.getvalue().splitlines() if "lib/libc, " in line]
    assert "min more" not in shown[0]
    # A file takes two looks at the clock, of a second each.
    assert re.fullmatch(
        r"userland: lib/libc, 4\d\d of about 960 files, about 17 min more", shown[-1]
    )


def test_progress_is_shown_every_few_seconds(tmp_path):
    journal, out = journal_of_a_slow_build(tmp_path)
    journal.begin(Stage.CONFIGURATION)
    journal.take(">>> stage 3.1: building everything")
    for number in range(30):
        journal.take(f"Building /obj/sys/BENCH/f{number}.o")
    shown = [line for line in out.getvalue().splitlines() if " of about " in line]
    assert shown[0].endswith(" of about 960 files")
    assert 1 <= len(shown) < 6
    assert journal.times().startswith("preparation 1 s, configuration ")


def test_a_tool_chain_says_every_few_seconds_which_directory_it_is_in(tmp_path):
    journal, out = journal_of_a_slow_build(tmp_path)
    journal.begin(Stage.TOOLCHAIN)
    for number in range(30):
        journal.take(f"===> lib/lib{number} (obj,all,install)")
        journal.take("--- main.o ---")
    _, first, *others = out.getvalue().splitlines()
    assert first.startswith("toolchain: lib/lib")
    assert 1 <= len(others) < 6
