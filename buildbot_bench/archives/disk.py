"""A disk with a GPT, FreeBSD's loader and UFS, the same bytes for the same files."""

import os
import shutil
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.programs import answer_of

SECTOR = 512  # bytes
_BOOT_AT, ROOT_AT = 40, 2048  # sectors
# sys/sys/disk/gpt.h of FreeBSD.
_BOOT_TYPE = uuid.UUID("83bd6b9d-7f41-11dc-be0b-001560b84f0f")
_ROOT_TYPE = uuid.UUID("516e7cb6-6ecf-11d6-8ff8-00022d09712b")
_ENTRIES, _ENTRY_SIZE = 128, 128
_TABLE = _ENTRIES * _ENTRY_SIZE // SECTOR  # sectors
_HEADER = struct.Struct("<8s4sIIIQQQQ16sQIII")
_ENTRY = struct.Struct("<16s16sQQQ72s")
_LARGEST_BOOT = 545 * 1024  # bytes: gpart(8)
_CHUNK = 1 << 20  # bytes
_CODE = 440  # bytes of boot code in a master boot record


def write_gpt(disk: Path, root: Path, *, pmbr: Path, boot: Path) -> None:
    """Write a disk of the file system `root` and the loader's first stages `pmbr` and `boot`."""
    code, size = boot.read_bytes(), root.stat().st_size
    if not 0 < len(code) <= _LARGEST_BOOT or size % SECTOR:
        raise InfraError(f"{boot} or {root} is no part of a disk: of a wrong size")
    root_end = ROOT_AT + size // SECTOR
    last = root_end + _TABLE  # the sector of the second header, behind its table
    table = b"".join(
        _ENTRY.pack(kind.bytes_le, _id(name), start, end - 1, 0, name.encode("utf-16-le"))
        for kind, name, start, end in (
            # pmbr loads the whole partition, which must fit below 640 KiB.
            (_BOOT_TYPE, "bootfs", _BOOT_AT, _BOOT_AT + -(-len(code) // SECTOR)),
            (_ROOT_TYPE, "rootfs", ROOT_AT, root_end),
        )
    ).ljust(_TABLE * SECTOR, b"\0")
    protective = struct.pack("<8B2I", 0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, last)
    with disk.open("wb") as file:
        file.write(pmbr.read_bytes()[:_CODE].ljust(446, b"\0") + protective.ljust(64, b"\0"))
        file.write(b"\x55\xaa" + _header(table, at=1, other=last, table_at=2) + table)
        file.seek(_BOOT_AT * SECTOR)
        file.write(code)
        file.seek(ROOT_AT * SECTOR)
        with root.open("rb") as content:
            copy_sparsely(content, file)
        file.write(table + _header(table, at=last, other=1, table_at=root_end))


def copy_sparsely(source: BinaryIO, target: BinaryIO) -> None:
    """Copy a file to its end, leaving holes where it has nothing but zeros."""
    zeros = bytes(_CHUNK)
    while chunk := source.read(_CHUNK):
        if chunk == zeros:
            target.seek(_CHUNK, 1)
        else:
            target.write(chunk)


def _header(table: bytes, *, at: int, other: int, table_at: int) -> bytes:
    """The sector of a header; the last usable sector lies before the second table."""
    usable = (2 + _TABLE, max(at, other) - _TABLE - 1)

    def packed(checksum: int) -> bytes:
        head = (b"EFI PART", b"\0\0\1\0", _HEADER.size, checksum, 0, at, other, *usable)
        tail = (_id("disk"), table_at, _ENTRIES, _ENTRY_SIZE, zlib.crc32(table))
        return _HEADER.pack(*head, *tail)

    return packed(zlib.crc32(packed(0))).ljust(SECTOR, b"\0")


def _id(name: str) -> bytes:
    """A unique identifier that is the same for each disk of ours, which never meet on a machine."""
    return uuid.uuid5(_ROOT_TYPE, name).bytes_le


_AT_S = 1704067200  # 2024: the same files give the same image
_INODES = 25  # for each MiB: a lab's machine writes logs and kernels beside what it is given
_LIMIT_S = 600.0  # for half a GB, on a machine however busy
_ESCAPED = frozenset(b" \t\n\r\\#*?[")  # what mtree(5) writes in octal
# hier(7): whoever may write there. A plain user's copy of the tree has no such modes.
_FOR_ALL = {"tmp": 0o1777, "var/tmp": 0o1777}
# UFS1 has its superblock at 8192 for each makefs(8) and each release. Debian's puts that of UFS2
# there, too, where FreeBSD 15.0 does not look for it.
_SUPERBLOCK_AT = 8192
# `struct fs` of ufs/ffs/fs.h: offsets, in bytes, of what is read or cleared here. makefs(8) writes
# pointers of its own memory, which the kernel fills in anew when it mounts.
_MAGIC_AT, _MAGIC = 1372, 0x011954
_COPY_AT, _GROUPS_AT, _FRAGMENT_AT, _GROUP_SIZE_AT = 8, 44, 52, 188
_POINTERS_AT, _POINTERS = 832, 16


def make_disk(
    root: Path, more: Mapping[str, tuple[int, bytes]], disk: Path, *, size_mib: int
) -> None:
    """Write a disk of the files below `root` and of `more`, by names with their modes and contents.

    All belong to root. `root` has /boot/pmbr and /boot/gptboot. Raises InfraError where makefs(8)
    fails or the files do not fit into `size_mib`.
    """
    work = disk.with_name(f"{disk.name}.new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    tree, image = work / "root", work / "root.ufs"
    try:
        shutil.copytree(root, tree, symlinks=True)
        make_file_system(tree, more, image, size_mib=size_mib)
        boot = tree / "boot"
        write_gpt(work / "disk", image, pmbr=boot / "pmbr", boot=boot / "gptboot")
        (work / "disk").replace(disk)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def make_file_system(
    tree: Path, more: Mapping[str, tuple[int, bytes]], image: Path, *, size_mib: int
) -> None:
    """Write a UFS1 of the files below `tree`, once `more` is there, too: names, modes, contents."""
    modes = {name: mode for name, (mode, _) in more.items()}
    for name, (_, content) in more.items():
        _put(tree / name, content)
    specification = image.with_suffix(".mtree")
    specification.write_bytes(b"#mtree\n" + b"".join(_lines(tree, modes)))
    words = ["makefs", "-t", "ffs", "-B", "little", "-o", "version=1", "-s", f"{size_mib}m"]
    words += ["-f", str(_INODES * size_mib), "-T", str(_AT_S), "-F", str(specification)]
    run_tool([*words, str(image), str(tree)])
    _clear_pointers(image)


def program_at(name: str) -> str | None:
    """Return where a program is: on the PATH, or in the `sbin` beside a `bin` of it.

    Debian has makefs(8) in /usr/sbin, which no user but root has on the PATH.
    """
    path = os.environ.get("PATH", os.defpath)
    return shutil.which(name, path=os.pathsep.join((path, path.replace("/bin", "/sbin"))))


def run_tool(words: Sequence[str]) -> str:
    """Run a program and return its output; InfraError with its last lines if it fails."""
    name = Path(words[0]).name
    if (program := program_at(words[0])) is None:
        hint = f"install it; Debian: apt-get install {_PACKAGES.get(name, name)}"
        raise InfraError(f"there is no {name}", hint=hint)
    env = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    done = answer_of([program, *words[1:]], deadline_s=_LIMIT_S, env=env)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-_LAST_LINES:] or [f"status {done.returncode}"]
        raise InfraError(f"{name} failed: {quoted(' | '.join(said), columns=400)}")
    return done.stdout


_LAST_LINES = 3
_PACKAGES = {"makefs": "makefs", "ssh-keygen": "openssh-client"}


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def _lines(tree: Path, modes: Mapping[str, int]) -> list[bytes]:
    """The lines of mtree(5) for all below a directory, without owners and times of the host."""
    lines = [_line(b".", tree, 0o755)]
    for directory, names, files in os.walk(tree):
        names.sort()
        for name in sorted((*names, *files)):
            path = Path(directory, name)
            at = path.relative_to(tree)
            mode = modes.get(str(at), _FOR_ALL.get(str(at)))
            if mode is None:
                mode = 0o755 if path.is_symlink() or path.stat().st_mode & 0o100 else 0o644
            lines.append(_line(b"./" + os.fsencode(at), path, mode))
    return lines


def _line(name: bytes, path: Path, mode: int) -> bytes:
    kind = "link" if path.is_symlink() else "dir" if path.is_dir() else "file"
    words = f" type={kind} uid=0 gid=0 mode={mode:04o} time={_AT_S}.0".encode()
    target = b" link=" + _escaped(os.fsencode(path.readlink())) if kind == "link" else b""
    return _escaped(name) + words + target + b"\n"


def _escaped(name: bytes) -> bytes:
    return b"".join(b"\\%03o" % c if c in _ESCAPED else bytes((c,)) for c in name)


def _clear_pointers(image: Path) -> None:
    """Clear the pointers that each copy of the superblock has, which differ from run to run."""
    with image.open("r+b") as file:

        def number(at: int) -> int:
            file.seek(at)
            return int(struct.unpack("<i", file.read(4))[0])

        if number(_SUPERBLOCK_AT + _MAGIC_AT) != _MAGIC:
            raise InfraError(f"makefs wrote no UFS1 to {image}", hint="see what `makefs -t ffs` is")
        of = (_FRAGMENT_AT, _GROUP_SIZE_AT, _COPY_AT, _GROUPS_AT)
        fragment, size, copy, groups = (number(_SUPERBLOCK_AT + at) for at in of)
        for at in (_SUPERBLOCK_AT, *((group * size + copy) * fragment for group in range(groups))):
            if number(at + _MAGIC_AT) == _MAGIC:
                file.seek(at + _POINTERS_AT)
                file.write(bytes(_POINTERS))
