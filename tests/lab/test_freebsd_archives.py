"""What is taken out of an artefact, and what no virtual machine with FreeBSD could boot."""

import io
import lzma
import struct
import tarfile

import pytest

from buildbot_bench.archives.contents import Manifest
from buildbot_bench.build.outcome import pack
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.freebsd_system import unpack
from buildbot_bench.lab.virtual.system import FileKind, Multiboot, kind_of

MULTIBOOT = struct.pack("<I", 0x1BADB002)


def elf(machine=62, kind=2, abi=9, bits=2):
    """The beginning of an ELF file."""
    head = b"\x7fELF" + bytes([bits, 1, 1, abi]) + bytes(8) + struct.pack("<HH", kind, machine)
    return head.ljust(64, b"\0")


@pytest.fixture
def packed(tmp_path):
    """A tar file of those names and contents, in that order."""

    def packed(*files, mode="w:gz"):
        path = tmp_path / "artefact"
        with tarfile.open(path, mode) as archive:
            for name, content in files:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return path

    return packed


@pytest.fixture
def open_(tmp_path):
    def open_(artefact, *modules, **options):
        return unpack(artefact, sha256(artefact), tmp_path / "boot", modules, **options)

    return open_


def test_what_a_builder_packs_is_taken_out(tmp_path, open_):
    names = ("kernel", "kernel.debug", "if_em.ko", "pf.ko")
    for name in names:
        (tmp_path / name).write_bytes(elf() + name.encode())
    artefact = tmp_path / "kernel.txz"
    pack({name: tmp_path / name for name in names}, Manifest(), artefact)
    image = open_(artefact, "if_em")
    assert image.kernel.read_bytes() == elf() + b"kernel"
    assert image.digest == sha256(image.kernel)
    assert {name: path.read_bytes() for name, path in image.modules.items()} == {
        "if_em": elf() + b"if_em.ko"
    }
    assert image.debug is not None
    assert image.debug.read_bytes() == elf() + b"kernel.debug"
    written = {path.name for path in (tmp_path / "boot").iterdir()}
    assert written == {"kernel", "kernel.debug", "if_em.ko"}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_archives_are_taken_however_they_are_packed(packed, open_, mode):
    artefact = packed(("boot/kernel/kernel", elf()), mode=mode)
    assert open_(artefact).kernel.read_bytes() == elf()


def test_a_kernel_alone_is_one_too(tmp_path, open_):
    artefact = tmp_path / "artefact"
    artefact.write_bytes(elf())
    image = open_(artefact, "if_em")
    assert image.kernel.read_bytes() == elf()
    assert (image.modules, image.missing, image.debug) == ({}, ("if_em",), None)


def test_modules_are_in_the_order_in_which_they_are_wanted(packed, open_):
    files = [(f"{name}.ko", elf(kind=1)) for name in ("a", "b", "c", "d")]
    image = open_(packed(("kernel", elf()), *files), "c", "x", "a", optional=("d", "y"))
    assert list(image.modules) == ["d", "c", "a"]
    assert image.missing == ("x",)


def test_the_kernel_is_the_least_deep_one(packed, open_):
    other, this = elf() + b"other", elf() + b"this"
    assert open_(packed(("a/b/kernel", other), ("a/kernel", this))).kernel.read_bytes() == this
    assert open_(packed(("a/kernel", this), ("a/b/kernel", other))).kernel.read_bytes() == this


def test_nothing_is_written_but_what_is_wanted_and_nowhere_else(packed, open_, tmp_path):
    evil = [("../evil", b"x"), ("/etc/evil", b"x"), ("../../evil/kernel", elf() + b"deep")]
    artefact = packed(("kernel", elf()), *evil, ("../if_em.ko", elf(kind=1)))
    image = open_(artefact, "if_em")
    assert image.kernel.read_bytes() == elf()
    assert {path.name for path in tmp_path.rglob("*")} == {"artefact", "boot", "kernel", "if_em.ko"}


def test_a_link_is_no_kernel(tmp_path, open_):
    artefact = tmp_path / "artefact"
    with tarfile.open(artefact, "w") as archive:
        info = tarfile.TarInfo("kernel")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(UntestableRevision, match="no file 'kernel' in the artefact"):
        open_(artefact)


def test_what_was_unpacked_before_is_gone(packed, open_):
    open_(packed(("kernel", elf()), ("if_em.ko", elf(kind=1))), "if_em")
    assert open_(packed(("kernel", elf())), "if_em").missing == ("if_em",)


@pytest.mark.parametrize(("name", "size"), [("kernel", 1 << 30), ("anything", 1 << 40)])
def test_an_archive_that_claims_too_much_is_not_believed(tmp_path, open_, name, size):
    artefact = tmp_path / "artefact"
    info = tarfile.TarInfo(name)
    info.size = size
    artefact.write_bytes(info.tobuf() + elf() * 100)
    with pytest.raises(UntestableRevision, match="a file may have 256 MiB"):
        open_(artefact)


def test_a_damaged_archive_is_untestable(packed, open_):
    artefact = packed(("kernel", elf() * 1000), mode="w:xz")
    content = artefact.read_bytes()
    for damaged in (content[:-40], content[:40] + b"\0" * 40 + content[80:], content[:20]):
        artefact.write_bytes(damaged)
        with pytest.raises(UntestableRevision, match="is no kernel archive"):
            open_(artefact)


def test_another_digest_is_a_fault_of_the_lab(packed, tmp_path):
    with pytest.raises(InfraError, match="SHA-256"):
        unpack(packed(("kernel", elf())), "0" * 64, tmp_path / "boot", ())


KINDS = {
    FileKind.FREEBSD: elf(),
    FileKind.FOREIGN: elf(machine=183),
    FileKind.MULTIBOOT: elf(machine=3, abi=0, bits=1) + MULTIBOOT,
    FileKind.PVH: elf(abi=0).ljust(1 << 16, b"\0") + b"Xen\0",
    FileKind.AMD64: elf(abi=0) + MULTIBOOT,
    FileKind.ELF: elf(kind=1, abi=0),
    FileKind.OTHER: b"\0nothing of the kind\n",
    FileKind.ARCHIVE: lzma.compress(b"x"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_files_are_told_apart(kind, tmp_path):
    (tmp_path / "file").write_bytes(KINDS[kind])
    assert kind_of(tmp_path / "file") is kind


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x1f\x8b", elf()[:20]])
def test_a_short_file_is_of_some_kind_too(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    assert kind_of(tmp_path / "file")


@pytest.mark.parametrize("kind", [FileKind.FOREIGN, FileKind.MULTIBOOT, FileKind.PVH, FileKind.ELF])
def test_another_system_s_kernel_is_the_testbed_s_fault(kind, packed, open_, tmp_path):
    (tmp_path / "alone").write_bytes(KINDS[kind])
    for artefact in (tmp_path / "alone", packed(("kernel", KINDS[kind]))):
        with pytest.raises(InfraError, match="FreeBSD kernels for amd64") as caught:
            open_(artefact)
        assert str(kind) in caught.value.message
        assert "testbeds.toml" in caught.value.hint


def test_what_is_no_kernel_at_all_is_untestable(packed, open_, tmp_path):
    (tmp_path / "alone").write_bytes(KINDS[FileKind.OTHER])
    for artefact in (tmp_path / "alone", packed(("kernel", KINDS[FileKind.OTHER]))):
        with pytest.raises(UntestableRevision, match="holds no kernel"):
            open_(artefact)


@pytest.mark.parametrize("kind", [FileKind.ARCHIVE, FileKind.FREEBSD, FileKind.FOREIGN])
def test_a_testbed_for_multiboot_programs_says_which_one_boots_a_freebsd(kind, tmp_path):
    artefact = tmp_path / "artefact"
    artefact.write_bytes(KINDS[kind])
    with pytest.raises(InfraError, match="boots what QEMU boots itself") as caught:
        Multiboot().unpack(artefact, sha256(artefact), tmp_path / "boot")
    assert 'system = "freebsd"' in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "suspected"),
    [(FileKind.AMD64, True), (FileKind.ELF, True), (FileKind.MULTIBOOT, False)],
)
def test_what_qemu_could_never_boot_says_nothing_of_a_revision(kind, suspected, tmp_path):
    artefact = tmp_path / "artefact"
    artefact.write_bytes(KINDS[kind])
    system = Multiboot()
    image = system.unpack(artefact, sha256(artefact), tmp_path / "boot")
    assert system.suspects_testbed(image) is suspected
