"""A small read-only UFS2 file system, made of a few small files.

One cylinder group of blocks of 4 KiB without fragments, laid out as newfs(8) does it; places and
meanings of the numbers are those of FreeBSD's ufs/ffs/fs.h, ufs/ufs/dinode.h and ufs/ufs/dir.h.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from buildbot_bench.core.errors import InfraError

BLOCK = 4096  # bytes
MOST_BYTES = 12 * BLOCK  # of a file: the blocks that an inode names itself
_SUPERBLOCK_AT = 65536  # bytes: SBLOCK_UFS2 of ufs/ffs/fs.h
_COPY, _GROUP, _INODES, _DATA = 18, 20, 21, 22  # where each begins, in blocks
_INODE_COUNT, _INODE_SIZE = 16, 256  # inodes; bytes of each, as struct ufs2_dinode has
_ROOT = 2  # UFS_ROOTINO
_DIRECTORY, _FILE = 0o040555, 0o100555  # modes: 0555 of either kind
_KINDS = {_DIRECTORY: 4, _FILE: 8}  # DT_DIR and DT_REG
_DIRECTORY_SIZE = 512  # bytes: DIRBLKSIZ
_AT_S = 1704067200  # 2024: the same files give the same image
_GROUP_MAGIC = 0x90255  # CG_MAGIC
_MAPS_AT = 168  # in the cylinder group, behind its numbers

# Offsets in `struct fs`, and what stands there: 32 bits each, and then those of 64 bits.
_FIXED_32 = {
    8: _COPY,
    12: _GROUP,
    16: _INODES,
    20: _DATA,
    44: 1,  # cylinder group
    48: BLOCK,
    52: BLOCK,  # of a fragment
    56: 1,  # fragment in a block
    72: -BLOCK,  # a mask
    76: -BLOCK,
    80: 12,  # its shift
    84: 12,
    88: 1,  # contiguous block
    92: BLOCK // 2,  # blocks of one file in a group
    100: 3,  # from blocks to sectors of 512 bytes
    104: BLOCK,  # bytes of the superblock
    116: BLOCK // 8,  # addresses in a block
    120: BLOCK // _INODE_SIZE,
    156: BLOCK,  # bytes of the summary
    160: BLOCK,  # bytes of the group's numbers and maps
    184: _INODE_COUNT,
    860: BLOCK,
    1196: 16384,  # the usual average size of a file
    1200: 64,  # and number of files in a directory
    1320: 120,  # the longest symbolic link in an inode
    1324: 2,  # the format of inodes
    1372: 0x19540119,  # UFS2
}
_CLEAN_AT, _UPDATED_AT = 209, 211  # offsets in bytes
_FIXED_64 = {
    1000: _SUPERBLOCK_AT,
    1072: _AT_S,
    1096: _DATA,  # where the summary is
    1208: _AT_S,
    1328: sum((MOST_BYTES, *(BLOCK * (BLOCK // 8) ** n for n in (1, 2, 3)))) - 1,  # a file's end
    1336: BLOCK - 1,
    1344: BLOCK - 1,
}


@dataclass(slots=True)
class _Node:
    """A file, or a directory with the inodes of what is in it."""

    mode: int
    links: int
    parent: int = _ROOT
    content: bytes = b""
    entries: dict[str, int] = field(default_factory=dict)


def make_image(files: Mapping[str, bytes], directories: Sequence[str] = ()) -> bytes:
    """An image of these files, each `directory/name`, and of more directories; all are 0555."""
    nodes = _nodes(files, directories)
    if len(nodes) > _INODE_COUNT - _ROOT:
        raise InfraError(f"the root has room for {_INODE_COUNT - _ROOT} files, not {len(nodes)}")
    inodes, data = bytearray(BLOCK), bytearray(BLOCK)  # the first block has the summary
    for number, node in enumerate(nodes, start=_ROOT):
        content = node.content if node.mode == _FILE else _directory(number, nodes)
        if len(content) > MOST_BYTES:
            raise InfraError(f"a file of the root may have {MOST_BYTES} bytes, not {len(content)}")
        first, count = _DATA + len(data) // BLOCK, -(-len(content) // BLOCK)
        _write_inode(inodes, number, node, len(content), range(first, first + count))
        data += content.ljust(count * BLOCK, b"\0")
    directory_count = sum(node.mode == _DIRECTORY for node in nodes)
    free = _INODE_COUNT - _ROOT - len(nodes)
    data[:16] = summary = struct.pack("<4i", directory_count, 0, free, 0)
    size = _DATA + len(data) // BLOCK
    superblock = _superblock(size, directory_count, free)
    group = _group(size, len(nodes), summary)
    return b"".join((bytes(_SUPERBLOCK_AT), superblock, superblock, group, inodes, data))


def _nodes(files: Mapping[str, bytes], directories: Sequence[str]) -> list[_Node]:
    """The root and all that is below it, in the order of their inodes."""
    root = _Node(mode=_DIRECTORY, links=2)
    nodes = [root]
    for name in sorted({*directories, *(path.partition("/")[0] for path in files)}):
        root.entries[name] = _ROOT + len(nodes)
        root.links += 1
        nodes.append(_Node(mode=_DIRECTORY, links=2))
    for path, content in sorted(files.items()):
        directory, _, name = path.partition("/")
        parent = root.entries[directory]
        nodes[parent - _ROOT].entries[name] = _ROOT + len(nodes)
        nodes.append(_Node(mode=_FILE, links=1, parent=parent, content=content))
    return nodes


def _directory(number: int, nodes: Sequence[_Node]) -> bytes:
    """A directory's content, in which the last entry takes up the rest."""
    node = nodes[number - _ROOT]
    entries = [(".", number), ("..", node.parent), *node.entries.items()]
    content = b""
    for place, (name, target) in enumerate(entries, start=1):
        text = name.encode("ascii")
        last = place == len(entries)
        length = _DIRECTORY_SIZE - len(content) if last else (8 + len(text) + 4) & ~3
        kind = _KINDS[nodes[target - _ROOT].mode]
        content += struct.pack("<IHBB", target, length, kind, len(text))
        content += text.ljust(length - 8, b"\0")
    return content


def _write_inode(inodes: bytearray, number: int, node: _Node, size: int, blocks: range) -> None:
    at = number * _INODE_SIZE
    sectors = len(blocks) * BLOCK // 512
    struct.pack_into("<HhIIIQQ", inodes, at, node.mode, node.links, 0, 0, 0, size, sectors)
    struct.pack_into("<4q", inodes, at + 32, *[_AT_S] * 4)
    struct.pack_into(f"<{len(blocks)}q", inodes, at + 112, *blocks)


def _superblock(size: int, directory_count: int, free_inodes: int) -> bytes:
    block = bytearray(2 * BLOCK)
    for offset, number in _FIXED_32.items():
        struct.pack_into("<i", block, offset, number)
    for offset, number in _FIXED_64.items():
        struct.pack_into("<q", block, offset, number)
    block[_CLEAN_AT], block[_UPDATED_AT] = 1, 0x80
    struct.pack_into("<i", block, 188, size)  # blocks of a group
    struct.pack_into("<4q", block, 1008, directory_count, 0, free_inodes, 0)
    struct.pack_into("<qq", block, 1080, size, size - _DATA - 1)  # of which for files
    return bytes(block)


def _group(size: int, node_count: int, summary: bytes) -> bytes:
    """The cylinder group: which inodes are used, which blocks are free (none)."""
    block = bytearray(BLOCK)
    used, free = _MAPS_AT, _MAPS_AT + _INODE_COUNT // 8
    end = free + -(-size // 8)
    struct.pack_into("<i", block, 4, _GROUP_MAGIC)
    struct.pack_into("<I", block, 20, size)
    block[24:40] = summary
    struct.pack_into("<3I", block, 92, used, free, end)
    struct.pack_into("<2I", block, 116, _INODE_COUNT, _INODE_COUNT)
    struct.pack_into("<q", block, 136, _AT_S)
    in_use = (1 << (_ROOT + node_count)) - 1
    block[used:free] = in_use.to_bytes(free - used, "little")
    return bytes(block)
