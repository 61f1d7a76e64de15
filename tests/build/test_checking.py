"""`bench-build check` says what a builder lacks, and which package has it."""

import pytest

from buildbot_bench.build.cli import main
from buildbot_bench.build.freebsd import HEADERS, PROGRAMS, Need
from tests.build.builder import DONE, ILL


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_machine_without_its_programs_is_told_the_packages(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["check", f"--obj={tmp_path}", "--least-free=1"]) == ILL
    said = lines(capsys)
    assert "missing: clang: install Debian: clang; Fedora: clang" in said
    assert any(line.startswith("missing: archive.h: install Debian: libarchive") for line in said)


def test_a_disk_that_is_full_is_told(tmp_path, capsys):
    assert main(["check", f"--obj={tmp_path / 'new' / 'obj'}", "--least-free=999999999"]) == ILL
    assert any(f"free at {tmp_path}, 999999999 are needed" in line for line in lines(capsys))


def test_each_line_is_a_verdict(tmp_path, capsys):
    status = main(["check", f"--obj={tmp_path}", "--least-free=1"])
    said = lines(capsys)
    assert all(line.startswith(("ok: ", "missing: ")) for line in said)
    assert (status == DONE) == all(line.startswith("ok: ") for line in said)


@pytest.mark.parametrize("need", [*PROGRAMS, *HEADERS], ids=lambda need: need.name)
def test_each_need_names_a_package_on_each_system(need: Need):
    assert need.debian
    assert need.fedora
    assert need.elsewhere_only or "FreeBSD: " in need.remedy
