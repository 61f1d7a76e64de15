"""The frames that a virtual testbed sends, and how they must come out; it sends none.

The smallest UDP packets, between the networks that RFC 2544 sets aside for benchmarks. On the wire
of QEMU's `stream` network each frame follows its length, four bytes, big-endian.
"""

from __future__ import annotations

import struct

PACKETS = 64  # in a burst: a quarter of the ring of an Intel 82540EM
FRAME = 60  # bytes, without the checksum that hardware appends
PREFIX = 4  # bytes of a frame's length before it
_ETHERNET = 14
_TTL, _FORWARDED_TTL = 64, 63
_UDP = 17
_SENDER = bytes.fromhex("525400000100")
PORTS = (bytes.fromhex("525400000001"), bytes.fromhex("525400000002"))  # the DUT's; QEMU's prefix
_IP_HEADER = struct.Struct("!BBHHHBBH4s4s")


def burst() -> bytes:
    """PACKETS frames of as many flows, as they go to the DUT."""
    return b"".join(_on_the_wire(_frame(number)) for number in range(PACKETS))


def ping() -> bytes:
    """A single frame."""
    return _on_the_wire(_frame(0))


def forwarded(answer: bytes) -> str:
    """What is wrong with frames that came back, in one clause; empty when nothing is.

    Addresses of Ethernet are the kernel's choice; from the IP header on each must be as sent, but
    for a time to live that is one less.
    """
    size = PREFIX + FRAME
    for number in range(len(answer) // size):
        frame = answer[number * size + PREFIX : (number + 1) * size]
        if frame[_ETHERNET:] != _packet(number, _FORWARDED_TTL):
            return f"packet {number + 1} of a burst came out as {frame.hex()}"
    return ""


def _on_the_wire(frame: bytes) -> bytes:
    return struct.pack("!I", len(frame)) + frame


def _frame(number: int) -> bytes:
    return PORTS[0] + _SENDER + b"\x08\x00" + _packet(number, _TTL)


def _packet(number: int, ttl: int) -> bytes:
    source, destination = bytes([198, 18, 0, 1 + number]), bytes([198, 19, 0, 1 + number])
    data = struct.pack("!HHHH", 2000 + number, 2000, 8 + 18, 0) + bytes(18)
    fields = [0x45, 0, _IP_HEADER.size + len(data), number, 0, ttl, _UDP, 0, source, destination]
    fields[7] = _checksum(_IP_HEADER.pack(*fields))
    return _IP_HEADER.pack(*fields) + data


def _checksum(header: bytes) -> int:
    """The ones' complement of the ones' complement sum, RFC 1071."""
    total: int = sum(word for (word,) in struct.iter_unpack("!H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
