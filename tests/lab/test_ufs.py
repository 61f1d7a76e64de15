"""The root image, read back by a reader of UFS2's own structures."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.virtual.freebsd.ufs import BLOCK, MOST_BYTES, make_image

ROOT = 2
DIRECTORY, FILE = 0o040000, 0o100000
names = st.text("abcdefghijklmnopqrstuvwxyz0123456789._-", min_size=1, max_size=40).filter(
    lambda name: name.strip(".")
)


def number(image, offset, layout="<i"):
    return struct.unpack_from(layout, image, offset)[0]


class Mounted:
    """A file system by its superblock at 64 KiB, as a kernel finds its way about."""

    def __init__(self, image):
        self.image = image
        self.block = number(image, 65536 + 48)
        self.inodes = number(image, 65536 + 16) * self.block

    def inode(self, inode):
        at = self.inodes + 256 * inode
        mode, links = struct.unpack_from("<Hh", self.image, at)
        return mode, links, number(self.image, at + 16, "<Q"), at

    def content(self, inode):
        _, _, size, at = self.inode(inode)
        blocks = struct.unpack_from("<12q", self.image, at + 112)
        data = b"".join(self.image[b * self.block : (b + 1) * self.block] for b in blocks if b)
        return data[:size]

    def entries(self, inode):
        data, at, found = self.content(inode), 0, {}
        while at < len(data):
            target, length, kind, name_length = struct.unpack_from("<IHBB", data, at)
            assert length % 4 == 0
            found[data[at + 8 : at + 8 + name_length].decode()] = (target, kind)
            at += length
        return found

    def walk(self, inode=ROOT, path=""):
        for name, (target, kind) in self.entries(inode).items():
            if name in (".", ".."):
                continue
            mode = self.inode(target)[0]
            assert (mode & 0o170000, kind) in ((DIRECTORY, 4), (FILE, 8))
            assert mode & 0o777 == 0o555
            if kind == 8:
                yield f"{path}{name}", self.content(target)
            else:
                assert self.entries(target)["."][0] == target
                assert self.entries(target)[".."][0] == inode
                yield f"{path}{name}", None
                yield from self.walk(target, f"{path}{name}/")


def test_files_and_directories_are_found_again():
    files = {
        "sbin/init": b"\x7fELF" + bytes(9000),
        "etc/commands": b"say hello\n",
        "etc/empty": b"",
    }
    found = dict(Mounted(make_image(files, ("dev",))).walk())
    directories = dict.fromkeys(("dev", "etc", "sbin"))
    assert found == directories | files


@given(st.dictionaries(names.map(lambda name: f"d/{name}"), st.binary(max_size=100), max_size=9))
def test_any_small_files_are_found_again(files):
    found = dict(Mounted(make_image(files, ("dev",))).walk())
    assert {name: content for name, content in found.items() if content is not None} == files


def test_the_superblock_says_what_is_there():
    image = make_image({"sbin/init": b"x" * 5000}, ("dev",))
    at, size = 65536, len(image) // BLOCK
    assert number(image, at + 1372) == 0x19540119  # the magic number of UFS2
    assert number(image, at + 1000, "<q") == at  # where it says that it is itself
    assert number(image, at + 1080, "<q") == number(image, at + 188) == size
    assert image[at + 209] == 1  # clean
    assert struct.unpack_from("<4q", image, at + 1008) == (3, 0, 16 - 2 - 4, 0)
    copy = number(image, at + 8) * BLOCK
    assert image[copy : copy + BLOCK] == image[at : at + BLOCK]


def test_the_cylinder_group_counts_as_the_superblock_does():
    image = make_image({"sbin/init": b"x"}, ("dev",))
    group = number(image, 65536 + 12) * BLOCK
    assert number(image, group + 4) == 0x90255
    summary = image[group + 24 : group + 40]
    assert summary == image[number(image, 65536 + 1096, "<q") * BLOCK :][:16]
    assert struct.unpack("<4i", summary) == struct.unpack_from("<4q", image, 65536 + 1008)
    used = number(image, group + number(image, group + 92), "<H")
    assert used == 0b111111  # two that nobody uses, the root, two directories, a file
    free = image[group + number(image, group + 96) : group + number(image, group + 100)]
    assert not any(free)


def test_links_are_counted():
    mounted = Mounted(make_image({"sbin/init": b"x"}, ("dev",)))
    assert mounted.inode(ROOT)[1] == 4
    assert mounted.inode(mounted.entries(ROOT)["dev"][0])[1] == 2


def test_the_same_files_give_the_same_image():
    assert make_image({"a/b": b"c"}) == make_image({"a/b": b"c"})


def test_what_does_not_fit_is_told():
    make_image({"a/b": bytes(MOST_BYTES)})
    with pytest.raises(InfraError, match="may have 49152 bytes, not 49153"):
        make_image({"a/b": bytes(MOST_BYTES + 1)})
    with pytest.raises(InfraError, match="has room for 14 files, not 15"):
        make_image({f"a/{n}": b"" for n in range(13)})
