"""A disk for a lab's machine, read back: its GPT, its boot blocks, and the files of its UFS1."""

import os
import struct
import uuid
import zlib

import pytest

from buildbot_bench.archives.disk import make_disk, make_file_system, run_tool
from buildbot_bench.core.errors import InfraError

KEY, LOADER = b"a secret\n", b"loader" * 3000
TIME_S = 1704067200


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    for name, content in {
        "boot/pmbr": b"\xeb\x3c" + bytes(510),
        "boot/gptboot": b"gptboot" * 100,
        "boot/loader": LOADER,
        "etc/a name with spaces": b"spaces",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "boot/loader").chmod(0o755)
    (root / "var/tmp").mkdir(parents=True)
    (root / "etc/link").symlink_to("a name with spaces")
    return root


def make(root, disk):
    make_disk(root, {"root/key": (0o600, KEY)}, disk, size_mib=20)
    return disk.read_bytes()


def partitions(disk):
    """The partitions as firmware finds them; each checksum and both headers are looked at."""
    assert disk[510:512] == b"\x55\xaa"
    assert disk[446 + 4] == 0xEE
    found = []
    for at in (1, len(disk) // 512 - 1):
        header = disk[at * 512 : at * 512 + 92]
        signature, checksum = header[:8], struct.unpack_from("<I", header, 16)[0]
        assert signature == b"EFI PART"
        assert zlib.crc32(header[:16] + bytes(4) + header[20:]) == checksum
        own, _other, first, last = struct.unpack_from("<4Q", header, 24)
        assert own == at
        table_at, count, size, table_sum = struct.unpack_from("<QIII", header, 72)
        table = disk[table_at * 512 : table_at * 512 + count * size]
        assert zlib.crc32(table) == table_sum
        rows = {}
        for row in range(count):
            kind, _, start, end = struct.unpack_from("<16s16sQQ", table, row * size)
            if any(kind):
                assert first <= start <= end <= last
                rows[str(uuid.UUID(bytes_le=kind))] = (start * 512, (end + 1) * 512)
        found.append(rows)
    assert found[0] == found[1]
    return found[0]


class MountedRoot:
    """A UFS1 of several groups, as a kernel finds its way about."""

    def __init__(self, image):
        self.image = image
        at = 8192  # FreeBSD 15.0 looks for UFS2 at 65536 alone, where not each makefs writes it
        assert self.number(at + 1372) == 0x011954
        assert self.number(at + 1000, "<q") == at
        self.fragment, self.block = self.number(at + 52), self.number(at + 48)
        self.group, self.inodes = self.number(at + 188), self.number(at + 184)
        self.inodes_at = self.number(at + 16)

    def number(self, at, layout="<i"):
        return struct.unpack_from(layout, self.image, at)[0]

    def inode(self, number):
        group, index = divmod(number, self.inodes)
        return (group * self.group + self.inodes_at) * self.fragment + index * 128

    def content(self, at):
        size = self.number(at + 8, "<Q")
        if self.number(at, "<H") & 0o170000 == 0o120000:
            return self.image[at + 40 : at + 40 + size]
        blocks = struct.unpack_from("<12i", self.image, at + 40)
        parts = (self.image[b * self.fragment : b * self.fragment + self.block] for b in blocks)
        return b"".join(parts)[:size]

    def files(self, inode=2, path=""):
        data, at = self.content(self.inode(inode)), 0
        while at < len(data):
            target, length, kind, size = struct.unpack_from("<IHBB", data, at)
            name = data[at + 8 : at + 8 + size].decode()
            at += length
            if target == 0 or name in (".", ".."):
                continue
            where = self.inode(target)
            mode, ids = self.number(where, "<H"), self.number(where + 112, "<Q")
            assert ids == 0  # of owner and group
            assert self.number(where + 24) == TIME_S
            yield f"{path}{name}", oct(mode & 0o7777), self.content(where) if kind != 4 else None
            if kind == 4:
                yield from self.files(target, f"{path}{name}/")


def test_a_disk_holds_boot_blocks_and_files_of_root_alone(root, tmp_path):
    disk = make(root, tmp_path / "disk")
    found = partitions(disk)
    boot = found["83bd6b9d-7f41-11dc-be0b-001560b84f0f"]
    ufs = found["516e7cb6-6ecf-11d6-8ff8-00022d09712b"]
    assert disk[:2] == b"\xeb\x3c"
    # pmbr loads all of the partition to the memory below 640 KiB.
    assert disk[slice(*boot)] == (b"gptboot" * 100).ljust(1024, b"\0")
    files = {name: (mode, data) for name, mode, data in MountedRoot(disk[slice(*ufs)]).files()}
    assert files["boot/loader"] == ("0o755", LOADER)
    assert files["root/key"] == ("0o600", KEY)
    assert files["etc/a name with spaces"] == ("0o644", b"spaces")
    assert files["etc/link"][1] == b"a name with spaces"
    assert files["etc"] == ("0o755", None)
    assert files["var/tmp"] == ("0o1777", None)


def test_the_same_files_give_the_same_bytes(root, tmp_path):
    first = make(root, tmp_path / "disk")
    again = tmp_path / "again"
    again.mkdir()
    os.utime(root / "boot/loader", (1, 1))
    os.utime(root, (2, 2))
    (root / "boot/loader").chmod(0o700)
    is_same = make(root, again / "disk") == first  # 20 MiB, of which pytest would show each byte
    assert is_same


def test_a_small_root_is_one_file_system_and_the_same_each_time(tmp_path):
    images = []
    for name in ("one", "again"):
        tree, image = tmp_path / name, tmp_path / f"{name}.ufs"
        (tree / "dev").mkdir(parents=True)
        files = {"sbin/init": (0o555, b"\x7fELF" * 9000), "etc/commands": (0o444, b"say hello\n")}
        make_file_system(tree, files, image, size_mib=1)
        images.append(image.read_bytes())
    is_same = images[0] == images[1]
    assert is_same
    assert len(images[0]) == 1 << 20
    found = {name: (mode, data) for name, mode, data in MountedRoot(images[0]).files()}
    assert found["sbin/init"] == ("0o555", b"\x7fELF" * 9000)
    assert found["etc/commands"] == ("0o444", b"say hello\n")
    assert found["dev"] == ("0o755", None)


def test_files_that_do_not_fit_are_the_labs_fault_and_leave_nothing(root, tmp_path):
    (root / "large").write_bytes(os.urandom(21 << 20))
    with pytest.raises(InfraError, match="makefs"):
        make(root, tmp_path / "disk")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]


def test_a_host_without_makefs_names_the_package(root, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfraError, match="there is no makefs; install it; Debian: apt-get install"):
        make(root, tmp_path / "disk")


def test_what_is_in_the_sbin_beside_a_bin_of_the_path_is_found(tmp_path, monkeypatch):
    """A user's PATH on Debian has no /usr/sbin, where makefs is."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{tmp_path / 'usr/bin'}")
    makefs = tmp_path / "usr/sbin/makefs"
    makefs.parent.mkdir(parents=True)
    makefs.write_text("#!/bin/sh\necho $1\n")
    makefs.chmod(0o755)
    assert run_tool(["makefs", "-t"]) == "-t\n"
