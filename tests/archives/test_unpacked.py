"""An artefact is unpacked within its directory and its budget, or not at all."""

import io
import tarfile

import pytest

from buildbot_bench.archives.unpacked import unpack
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.limits import KIB, ArchiveBudget

SMALL = ArchiveBudget(
    total_bytes=64 * KIB,
    member_bytes=8 * KIB,
    members=20,
    header_bytes=16 * KIB,
    memory_bytes=0,
    cpu_s=0,
    wall_s=0,
)


def member(name, *, kind=tarfile.REGTYPE, link="", mode=0o644, body=b"x"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    info.size = len(body) if kind == tarfile.REGTYPE else 0
    return info, io.BytesIO(body)


@pytest.fixture
def unpacked(tmp_path):
    def unpacked(*members, mode="w:gz"):
        with tarfile.open(tmp_path / "artefact", mode) as archive:
            for info, body in members:
                archive.addfile(info, body)
        unpack(tmp_path / "artefact", tmp_path / "in", SMALL)
        return tmp_path / "in"

    return unpacked


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_files_directories_and_links_within_it_are_there(unpacked, mode):
    place = unpacked(
        member("./", kind=tarfile.DIRTYPE),
        member("./bin", kind=tarfile.DIRTYPE),
        member("./bin/bench", mode=0o755, body=b"#!/bin/sh\n"),
        member("lib/x.so.1", body=b"code"),
        member("lib/x.so", kind=tarfile.SYMTYPE, link="x.so.1"),
        member("bin/lib", kind=tarfile.SYMTYPE, link="../lib"),
        member("bin/again", kind=tarfile.LNKTYPE, link="bin/bench"),
        mode=mode,
    )
    assert (place / "bin/bench").stat().st_mode & 0o777 == 0o755
    assert (place / "lib/x.so.1").stat().st_mode & 0o777 == 0o644
    assert (place / "bin/lib/x.so").read_bytes() == b"code"
    assert (place / "bin/again").read_bytes() == b"#!/bin/sh\n"


@pytest.mark.parametrize(
    "members",
    [
        [member("../out")],
        [member("/tmp/bench-out")],
        [member("a/../../out")],
        [member("a", kind=tarfile.SYMTYPE, link="/etc")],
        [member("a", kind=tarfile.SYMTYPE, link="../out")],
        [member("a/b", kind=tarfile.SYMTYPE, link="../../out")],
        [member("a", kind=tarfile.SYMTYPE, link="b"), member("a/out")],
        [member("d", kind=tarfile.DIRTYPE), member("d", kind=tarfile.SYMTYPE, link="e")],
        [member("a", kind=tarfile.LNKTYPE, link="../out")],
        [member("a", kind=tarfile.LNKTYPE, link="not-there")],
        [member("a", kind=tarfile.FIFOTYPE)],
        [member("a", kind=tarfile.CHRTYPE)],
        [member("a"), member("a/b")],
        [member("a", body=b"x" * 9 * KIB)],
        [member(f"f{number}", body=b"x" * 7 * KIB) for number in range(12)],
        [member(f"f{number}") for number in range(30)],
        [],
    ],
)
def test_what_leads_out_or_is_too_much_is_refused_and_nothing_is_outside(
    unpacked, tmp_path, members
):
    with pytest.raises(UntestableRevision):
        unpacked(*members)
    assert {path.name for path in tmp_path.iterdir()} <= {"artefact", "in"}


def test_two_links_that_lead_out_together_are_refused(unpacked):
    with pytest.raises(UntestableRevision, match="leads out"):
        unpacked(
            member("top", kind=tarfile.DIRTYPE),
            member("deep/er", kind=tarfile.DIRTYPE),
            member("deep/er/up", kind=tarfile.SYMTYPE, link="../../top"),
            member("out", kind=tarfile.SYMTYPE, link="deep/er/up/../../../artefact"),
        )


def test_a_program_lies_there_alone_and_other_bytes_are_nothing(tmp_path):
    (tmp_path / "program").write_text("#!/bin/sh\n")
    unpack(tmp_path / "program", tmp_path / "one")
    assert (tmp_path / "one" / "artefact").stat().st_mode & 0o111
    for body in (b"\0nothing of the kind\n", b"text\n", b"\x1f\x8b\x08" + b"\0" * 50, b""):
        (tmp_path / "program").write_bytes(body)
        with pytest.raises(UntestableRevision):
            unpack(tmp_path / "program", tmp_path / "two")
