"""A tar archive is unpacked in one place, and nothing of it gets out of there, on any Python."""

import ast
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from tests.readme import CHECKOUT
from tests.unpacking import unpack

HELPER = CHECKOUT / "tests" / "unpacking.py"
OURS = ("buildbot_bench", "benchmarks", "tests", "workers")


@pytest.fixture(params=["filter", "no filter"])
def python(request, monkeypatch) -> None:
    """With tarfile's filter, and without it as before Python 3.11.4."""
    if request.param == "no filter":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.fixture
def packed(tmp_path):
    """Makes an archive of members: (name, type, what it links to or holds, mode)."""

    def make(*members: tuple[str, bytes, str], mode: int = 0o644) -> Path:
        path = tmp_path / "archive.tgz"
        with tarfile.open(path, "w:gz") as tar:
            for name, kind, what in members:
                info = tarfile.TarInfo(name)
                info.type, info.mode, info.uid, info.gid = kind, mode, 4321, 4321
                content = what.encode() if kind == tarfile.REGTYPE else b""
                info.linkname = "" if content else what
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return path

    return make


FILE, SYMLINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
DIRECTORY, DEVICE, FIFO = tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE


@pytest.mark.usefixtures("python")
def test_files_directories_and_links_within_are_unpacked(packed, tmp_path):
    archive = packed(
        ("boot", DIRECTORY, ""),
        ("boot/kernel", FILE, "a kernel"),
        ("boot/again", HARD, "boot/kernel"),
        ("etc/rc.conf", FILE, 'hostname="dut"'),
        ("etc/boot", SYMLINK, "../boot"),
    )
    unpack(archive, tmp_path / "root")
    root = tmp_path / "root"
    assert (root / "etc" / "boot" / "kernel").read_text() == "a kernel"
    assert (root / "boot" / "again").samefile(root / "boot" / "kernel")
    assert (root / "etc" / "rc.conf").read_text() == 'hostname="dut"'


@pytest.mark.usefixtures("python")
def test_what_is_unpacked_is_ours_and_nobody_else_may_write_it(packed, tmp_path):
    archive = packed(("bin", DIRECTORY, ""), ("bin/su", FILE, "as root"), mode=0o6777)
    unpack(archive, tmp_path / "root")
    for name in ("bin", "bin/su"):
        status = (tmp_path / "root" / name).stat()
        assert status.st_uid == os.geteuid()
        assert not status.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH)
        assert status.st_mode & stat.S_IXUSR


HOSTILE = {
    "an absolute name": [("/tmp/out", FILE, "x")],
    "a name with ..": [("a/../../out", FILE, "x")],
    "a link to an absolute place": [("a", SYMLINK, "/etc")],
    "a link out": [("a/b", SYMLINK, "../../out")],
    "a link out by way of another": [("a/b", SYMLINK, ".."), ("c", SYMLINK, "a/b/../out")],
    "a file behind a link": [("a", SYMLINK, "."), ("a/b", FILE, "x")],
    "a file behind a file": [("a", FILE, "x"), ("a/b", FILE, "x")],
    "a file in place of a link": [("a", SYMLINK, "b"), ("a", FILE, "x")],
    "a hard link out": [("a", HARD, "../out")],
    "a hard link to a link": [("a/b", SYMLINK, "../c"), ("d", HARD, "a/b")],
    "a hard link to what is not there": [("a", HARD, "b")],
    "a device": [("null", DEVICE, "")],
    "a pipe": [("pipe", FIFO, "")],
    "nothing but its directory": [(".", SYMLINK, "..")],
}


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_an_archive_that_reaches_out_is_refused_before_anything_is_written(
    packed, tmp_path, members
):
    archive = packed(*members)
    with pytest.raises(UsageError) as error:
        unpack(archive, tmp_path / "in" / "root")
    assert str(error.value).startswith(f"{archive}: ")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["archive.tgz"]


@pytest.mark.usefixtures("python")
def test_an_archive_that_is_larger_than_allowed_is_refused(packed, tmp_path):
    archive = packed(("a", FILE, "x" * 60), ("b", FILE, "x" * 60))
    with pytest.raises(UsageError, match="more than 100 bytes"):
        unpack(archive, tmp_path / "root", most_bytes=100)
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\0damaged"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match="file: no tar archive"):
        unpack(tmp_path / "file", tmp_path / "root")


def test_nothing_is_unpacked_over_what_is_there(packed, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="is not empty"):
        unpack(packed(("a/out", FILE, "x")), tmp_path / "root")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("tar.extractall(there)", 1),
        ("tar.extractall(there, filter='data')", 1),
        ("tar.extract(member, filter=tarfile.data_filter)", 2),
        ("tar.extraction_filter = staticmethod(tarfile.tar_filter)", 2),
        ("shutil.unpack_archive(path, there)", 1),
        ("tar.add(path, filter=owned_by_root)", 0),
        ("tar.extractfile(member)", 0),
    ],
)
def test_what_python_3_11_2_lacks_or_does_unsafely_is_recognised(source, found):
    assert len(list(unpacks(ast.parse(source)))) == found


def test_no_other_code_unpacks_an_archive():
    places = [place for name in OURS for place in (CHECKOUT / name).rglob("*")]
    assert HELPER in places
    assert [
        f"{place.relative_to(CHECKOUT)}:{node.lineno}"
        for place in (*places, CHECKOUT / "master.cfg")
        if place.suffix in {".py", ".tac", ".cfg"} and place != HELPER
        for node in unpacks(ast.parse(place.read_text(encoding="utf-8")))
    ] == []


def unpacks(tree: ast.AST) -> Iterator[ast.expr]:
    """Where a program unpacks an archive, or names one of tarfile's filters."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="extractall" | "extract" | "unpack_archive")):
                yield node
            case ast.Attribute(attr="extraction_filter"):
                yield node
            case ast.Attribute(attr="data_filter" | "tar_filter" | "fully_trusted_filter"):
                yield node
