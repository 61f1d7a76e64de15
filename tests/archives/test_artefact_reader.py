"""What an artefact holds: a kernel is the same for whoever packed it, and says of what it is."""

import hashlib
import io
import tarfile

import pytest

from buildbot_bench.archives.contents import (
    MANIFEST_NAME,
    Manifest,
    contents,
    contents_apart,
    neutral_digest,
    write_manifest,
)
from buildbot_bench.core.elf import Sizes
from tests.core.elf_files import CODE, DATA, WRITE, Part, elf

MADE = Manifest(variant="r311849", config="GENERIC-NODEBUG", toolchain="clang 14", flags="-j4")


def kernel(version: str = "r311849", code: bytes = b"\xc3") -> bytes:
    text = Part(name=".text", content=code, flags=CODE)
    return elf(text, Part(name=".data", content=version.encode()))


def packed(path, files: dict[str, bytes], mode: str = "w:xz"):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_a_kernel_alone_is_known_by_its_neutral_digest(tmp_path):
    path = tmp_path / "kernel"
    path.write_bytes(kernel())
    assert contents(path).kernel_digest == neutral_digest(kernel())
    assert contents(path).manifest is None


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_an_archive_is_known_by_its_kernel_and_modules_however_it_is_packed(tmp_path, mode):
    one = packed(tmp_path / "one", {"kernel": kernel(), "if_em.ko": kernel(code=b"em")}, mode)
    files = {"if_em.ko": kernel("r311850", b"em"), "kernel": kernel("r311850")}
    other = packed(tmp_path / "other", files)
    assert contents(one).kernel_digest == contents(other).kernel_digest


@pytest.mark.parametrize(
    "files",
    [
        {"kernel": kernel(code=b"\x90"), "if_em.ko": kernel(code=b"em")},
        {"kernel": kernel(), "if_em.ko": kernel(code=b"me")},
        {"kernel": kernel()},
        {"kernel": kernel(), "if_igb.ko": kernel(code=b"em")},
    ],
)
def test_another_kernel_or_module_is_another_digest(tmp_path, files):
    whole = packed(tmp_path / "whole", {"kernel": kernel(), "if_em.ko": kernel(code=b"em")})
    other = packed(tmp_path / "other", files)
    assert contents(whole).kernel_digest != contents(other).kernel_digest


def test_the_manifest_is_told_and_makes_no_other_kernel(tmp_path):
    bare = packed(tmp_path / "bare", {"boot/kernel": kernel()})
    files = {f"boot/{MANIFEST_NAME}": write_manifest(MADE).encode(), "boot/kernel": kernel()}
    held = contents(packed(tmp_path / "told", files))
    assert held.manifest == MADE
    assert held.kernel_digest == contents(bare).kernel_digest


def sized(text: int, data: int) -> bytes:
    parts = Part(name=".text", content=bytes(text), flags=CODE), Part(name=".rodata", content=b"r")
    return elf(*parts, Part(name=".data", content=bytes(data), flags=DATA | WRITE))


def test_the_sizes_of_kernel_and_modules_are_told_to_who_has_it_read(tmp_path):
    files = {"boot/kernel/kernel": sized(70, 8), "boot/kernel/if_em.ko": sized(20, 2)}
    files |= {"kernel.debug": sized(900, 9), "linker.hints": b"hints", "x" * 300: sized(1, 1)}
    read = contents_apart(packed(tmp_path / "whole", files))
    assert read.kernel == Sizes(text=71, data=8, bss=0)
    assert read.modules == {"if_em.ko": Sizes(text=21, data=2, bss=0)}
    alone = tmp_path / "kernel"
    alone.write_bytes(sized(70, 8))
    assert (contents(alone).kernel, contents(alone).modules) == (read.kernel, {})


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2}', '{"format": 1, "files": {}}'])
def test_a_manifest_that_is_none_is_passed_over(tmp_path, text):
    files = {MANIFEST_NAME: text.encode(), "kernel": kernel()}
    assert contents(packed(tmp_path / "odd", files)).manifest is None


def test_an_archive_that_is_cut_short_is_known_by_its_bytes(tmp_path):
    path = packed(tmp_path / "short", {"kernel": kernel()}, "w:gz")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert contents(path).kernel_digest == hashlib.sha256(whole[:-30]).hexdigest()


def test_facts_of_a_manifest_are_those_that_are_told():
    assert MADE.facts == {
        ("kernel config", "GENERIC-NODEBUG"),
        ("compiler", "clang 14"),
        ("build", "-j4"),
    }
    assert Manifest(variant="r1").facts == frozenset()
