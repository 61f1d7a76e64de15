"""Small ELF files for tests, with the sections that a test needs."""

import struct
from dataclasses import dataclass

PROGBITS, STRTAB, NOTE, NOBITS = 1, 3, 7, 8
DATA, CODE, DEBUG = 2, 6, 0  # flags: allocated, allocated and executable, none
WRITE = 1  # and this one, of what is written to


# Where GNU ld says that a .bss begins which is aligned: behind the end of the file.
_BEYOND = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Part:
    """A section to be."""

    name: str
    content: bytes
    flags: int = DATA
    kind: int = PROGBITS


def elf(*parts: Part, bits: int = 64, order: str = "<", pad: int = 0) -> bytes:
    """An ELF file; `pad` bytes lie between its header and its first section."""
    names, texts = [0], b"\0"
    for part in (*parts, Part(name=".shstrtab", content=b"")):
        names.append(len(texts))
        texts += part.name.encode() + b"\0"
    all_parts = (*parts, Part(name=".shstrtab", content=texts, flags=0, kind=STRTAB))
    head_size, layout = (64, "2I4Q2I2Q") if bits == 64 else (52, "6I4I")
    body, headers = bytes(pad), [struct.pack(order + layout, *[0] * 10)]
    for name, part in zip(names[1:], all_parts, strict=True):
        where = head_size + len(body) if part.kind != NOBITS else _BEYOND
        told = (name, part.kind, part.flags, 0x1000, where, len(part.content), 0, 0, 1, 0)
        headers.append(struct.pack(order + layout, *told))
        body += part.content if part.kind != NOBITS else b""
    word = "Q" if bits == 64 else "I"
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    head = struct.pack(order + "2HI", 2, 62, 1)
    head += struct.pack(order + f"3{word}", 0, 0, head_size + len(body))
    sizes = (0, head_size, 0, 0, struct.calcsize(order + layout), len(headers), len(headers) - 1)
    return ident + head + struct.pack(order + "I6H", *sizes) + body + b"".join(headers)
