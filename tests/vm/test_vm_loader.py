"""The loader, by a kernel that checks each piece of metadata that it is handed."""

import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.lab.virtual.system import checker, programs
from tests.fakes.freebsd_kernels import preloaded_module
from tests.fakes.vm_kernels import need_machine

pytestmark = pytest.mark.vm

SETTINGS = QemuSettings(system="freebsd", memory_mib=160)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A directory with the kernel and the module."""
    need_machine()
    directory = tmp_path_factory.mktemp("checking")
    shutil.copyfile(checker(directory), directory / "kernel")
    preloaded_module(directory)
    return directory


@dataclass
class Bench:
    """Boots the loader with files of one's own; returns the lines on the console."""

    home: Path
    built: Path
    handed: list[str] = field(default_factory=list)

    def hand(self, name: str, kind: str, known_as: str, content: bytes | None = None) -> None:
        path = self.home / name
        if content is None:
            shutil.copyfile(self.built / name, path)
        else:
            path.write_bytes(content)
        self.handed.append(f"../{name} {kind} {known_as}")

    def boot(self) -> list[str]:
        loader = programs(self.home).loader
        boot = ["-kernel", str(loader), "-initrd", ",".join(self.handed)]
        machine = VirtualMachine(SETTINGS, boot, self.home)
        try:
            assert machine.ends_within(30)
            return machine.console().splitlines()
        finally:
            machine.power_off()


@pytest.fixture
def bench(tmp_path, built):
    home = tmp_path / 'a lab, "ours"'
    home.mkdir()
    return Bench(home, built)


def test_a_kernel_finds_all_that_it_was_handed(bench):
    bench.hand("kernel", "kernel", "/boot/kernel/kernel")
    bench.hand("checked.ko", "module", "/boot/kernel/checked.ko")
    bench.hand("image", "image", "/image", b"a file system\0".ljust(5000, b"\1"))
    bench.hand("kenv", "kenv", "", b"console=comconsole\0a.b=c d, e\0\0")
    said = bench.boot()
    assert not [line for line in said if line.startswith("WRONG")]
    assert said[0].startswith("build-id: ")
    assert said[1:] == [
        *("name: /boot/kernel/kernel", "type: elf kernel", "elf header", "sections", "symbols"),
        *("howto: 1000", "kenv: console=comconsole", "kenv: a.b=c d, e"),
        *("kernend", "modulep", "memory: 159 MiB"),
        *("name: /boot/kernel/checked.ko", "type: elf obj module", "elf header", "sections"),
        *(*["relocations"] * said.count("relocations"), "answer: 42"),
        *("name: /image", "type: md_image", "image: a file system 5000"),
        "checked",
    ]
    assert said.count("relocations") >= 2


def test_a_kernel_without_symbols_and_alone_boots_too(bench):
    content = bytearray((bench.built / "kernel").read_bytes())
    struct.pack_into("<Q", content, 40, 0)  # e_shoff
    struct.pack_into("<HHH", content, 58, 0, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    bench.hand("kernel", "kernel", "/boot/kernel/kernel", bytes(content))
    said = bench.boot()
    assert said[-1] == "checked"
    assert "symbols" not in said
    assert not [line for line in said if line.startswith("WRONG")]


def changed(content: bytes, offset: int, layout: str, value: int) -> bytes:
    """An ELF file with another number at some place."""
    altered = bytearray(content)
    struct.pack_into(layout, altered, offset, value)
    return bytes(altered)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda kernel: b"\0nothing of the kind\n", "is cut short"),
        (lambda kernel: b"\0" * 64, "is no ELF file of 64 bits"),
        (lambda kernel: changed(kernel, 18, "<H", 183), "is for another processor than amd64"),
        (lambda kernel: changed(kernel, 16, "<H", 3), "is an ELF file of another type"),
        (lambda kernel: kernel[:3000], "is cut short"),
        (lambda kernel: changed(kernel, 40, "<Q", 1 << 63), "is cut short"),
        (lambda kernel: changed(kernel, 56, "<H", 0), "has nothing to load"),
        (lambda kernel: changed(kernel, 24, "<Q", 0x401000), "is linked for an address"),
        (lambda kernel: changed(kernel, 64 + 16, "<Q", 0x401000), "is linked for an address"),
        (lambda kernel: changed(kernel, 64 + 16, "<Q", (1 << 64) - 4096), "are too large"),
        (lambda kernel: changed(kernel, 64 + 40, "<Q", 1 << 26), "are too large"),
        (lambda kernel: changed(kernel, 64 + 40, "<Q", 1), "larger in its file than in memory"),
    ],
)
def test_a_kernel_that_cannot_be_loaded_is_refused_in_words(bench, damage, complaint):
    content = damage((bench.built / "kernel").read_bytes())
    bench.hand("kernel", "kernel", "/boot/kernel/kernel", content)
    (line,) = bench.boot()
    assert line.startswith("loader: ")
    assert complaint in line


def test_a_module_that_is_none_is_refused(bench):
    bench.hand("kernel", "kernel", "/boot/kernel/kernel")
    bench.hand("x.ko", "module", "/boot/kernel/x.ko", (bench.built / "kernel").read_bytes())
    (line,) = bench.boot()
    assert line == "loader: /boot/kernel/x.ko is an ELF file of another type than is wanted here"


def test_files_that_do_not_fit_below_the_loader_are_refused(bench):
    bench.hand("kernel", "kernel", "/boot/kernel/kernel")
    bench.hand("image", "image", "/image", bytes(60 << 20))
    (line,) = bench.boot()
    assert line == "loader: the kernel and its modules are too large for this loader"
