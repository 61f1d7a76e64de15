"""Archives that are small as they come and large as they are read: each is refused in words."""

import io
import lzma
import resource
import tarfile
from dataclasses import replace

import pytest

from buildbot_bench.archives.contents import contents, contents_apart
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.limits import KERNEL_ARCHIVE, KIB, MIB
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.install import repack
from buildbot_bench.lab.virtual.freebsd_system import unpack

# As the real one, but small: a test that fails is not to take the machine with it.
SMALL = replace(
    KERNEL_ARCHIVE,
    total_bytes=8 * MIB,
    member_bytes=2 * MIB,
    members=300,
    memory_bytes=256 * MIB,
    cpu_s=20,
)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


ZEROS = lzma.compress(bytes(MIB), preset=0)


def squeezed(path, *pieces: bytes, zeros: int = 0):
    """An xz file of those pieces and so many zeros, in as many streams as is quick to make."""
    body = lzma.compress(b"".join(pieces), preset=0) if pieces else b""
    path.write_bytes(body + ZEROS * (zeros // MIB) + lzma.compress(bytes(zeros % MIB), preset=0))
    return path


def long_header(path, kind: bytes = tarfile.XHDTYPE):
    return squeezed(path, header("kernel", 64 * MIB, kind), zeros=64 * MIB)


def long_member(path):
    return squeezed(path, header("kernel", 3 * MIB), zeros=4 * MIB)


def many_directories(path):
    one = header("a/", 0, tarfile.DIRTYPE)
    return squeezed(path, header("kernel", 0), one * 400, zeros=1024)


def chained_names(path):
    name = header("././@LongLink", 512, tarfile.GNUTYPE_LONGNAME) + b"a" * 512
    return squeezed(path, name * 400, header("kernel", 0), zeros=1024)


def unpacks_to_more(path):
    files = [header(f"{number}.ko", MIB) + bytes(MIB) for number in range(9)]
    return squeezed(path, *files, zeros=1024)


BOMBS = {
    long_header: "header .* 64 KiB",
    long_member: "'kernel' .* 3 MiB",
    many_directories: "more than 300 members",
    chained_names: "header .* 64 KiB",
    unpacks_to_more: "unpacks to more than 8 MiB",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_no_kernel_and_the_reason_says_what_is_too_large(tmp_path, bomb):
    with pytest.raises(UntestableRevision, match=BOMBS[bomb]):
        contents(bomb(tmp_path / "artefact"), SMALL)


def test_zeros_without_an_end_are_read_to_the_budgets_end(tmp_path):
    with pytest.raises(UntestableRevision, match="unpacks to more than 8 MiB"):
        contents(squeezed(tmp_path / "artefact", zeros=9 * MIB), SMALL)


def test_a_file_larger_than_the_budget_is_not_read(tmp_path):
    (tmp_path / "artefact").write_bytes(bytes(8 * MIB + 1))
    with pytest.raises(UntestableRevision, match="has more than 8 MiB"):
        contents(tmp_path / "artefact", SMALL)


def test_a_chain_of_headers_that_a_long_path_needs_is_read(tmp_path):
    with tarfile.open(tmp_path / "artefact", "w:xz", format=tarfile.PAX_FORMAT) as archive:
        for name in ("boot/kernel/kernel", "boot/" + "d" * 3000 + "/if_em.ko"):
            info = tarfile.TarInfo(name)
            info.size = 4
            archive.addfile(info, io.BytesIO(b"code"))
    assert contents(tmp_path / "artefact", SMALL).kernel_digest


@pytest.mark.parametrize("pieces", [[(0, 512), (0, 512)], [(512, 512), (0, 512)], [(0, 9 << 30)]])
def test_a_file_whose_holes_overlap_is_not_looked_through_for_ever(tmp_path, pieces):
    numbers = [str(len(pieces)), *(str(number) for piece in pieces for number in piece)]
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    records |= {"GNU.sparse.name": "kernel", "GNU.sparse.realsize": "2048"}
    content = ("\n".join(numbers) + "\n").encode().ljust(512, b"\0") + bytes(1024)
    info = tarfile.TarInfo("GNUSparseFile.0/kernel")
    info.size, info.pax_headers = len(content), records
    with tarfile.open(tmp_path / "artefact", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(content))
    artefact = tmp_path / "artefact"
    assert contents(artefact, SMALL).kernel_digest == sha256(
        artefact
    )  # damaged: known by its bytes


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_process_of_its_own_refuses_alike(tmp_path, bomb):
    with pytest.raises(UntestableRevision, match=BOMBS[bomb]):
        contents_apart(bomb(tmp_path / "artefact"), SMALL)


def test_a_process_of_its_own_reads_what_is_a_kernel(tmp_path):
    (tmp_path / "artefact").write_bytes(b"\x7fELF")
    assert contents_apart(tmp_path / "artefact") == contents(tmp_path / "artefact")


def test_memory_beyond_the_budget_ends_the_reading_and_nothing_else(tmp_path):
    large = replace(SMALL, total_bytes=1 << 30, member_bytes=1 << 30)
    artefact = squeezed(tmp_path / "bomb", header("kernel", 400 * MIB), zeros=400 * MIB + KIB)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(UntestableRevision, match="more than 256 MiB of memory"):
        contents_apart(artefact, large)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_processor_time_beyond_the_budget_ends_the_reading(tmp_path):
    artefact = squeezed(tmp_path / "artefact", zeros=2048 * MIB)
    large = replace(SMALL, total_bytes=4 << 30, cpu_s=1)
    with pytest.raises(UntestableRevision, match="more than 1 s to read"):
        contents_apart(artefact, large)


# What a lab reads: the master has seen it before, but a lab need not trust its master's disk.
LAB_BOMBS = {
    "header": (long_header, "header"),
    "long name": (lambda path: long_header(path, tarfile.GNUTYPE_LONGNAME), "header"),
    "names": (chained_names, "header"),
    "member": (
        lambda path: squeezed(path, header("kernel", 300 * MIB), zeros=MIB),
        "'kernel' .* 300 MiB",
    ),
}


LAB_READERS = {
    "repack": lambda path, digest: repack(path, digest, path.with_name("there") / "kernel.tgz"),
    "unpack": lambda path, digest: unpack(path, digest, path.with_name("boot"), ()),
}


@pytest.mark.parametrize("name", LAB_BOMBS)
@pytest.mark.parametrize("reader", LAB_READERS)
def test_a_lab_refuses_them_too(tmp_path, name, reader):
    bomb, reason = LAB_BOMBS[name]
    artefact = bomb(tmp_path / "artefact")
    digest = sha256(artefact)
    with pytest.raises(UntestableRevision, match=reason):
        LAB_READERS[reader](artefact, digest)
