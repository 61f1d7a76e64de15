"""Bursts of frames to a virtual DUT: what is sent, what comes back, and what it executes for it."""

import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PACKETS = 64  # in a burst: a quarter of the ring of an Intel 82540EM
FRAME = 60  # bytes of a frame of IPv4, without the checksum that hardware appends
PREFIX = 4  # bytes of a frame's length before it
SENDER = bytes.fromhex("525400000100")  # the two machines on the wires; QEMU's prefix
RECEIVER = bytes.fromhex("525400000101")
PORTS = (bytes.fromhex("525400000001"), bytes.fromhex("525400000002"))  # the DUT's
# The networks that RFC 2544 and RFC 5180 set aside for benchmarks.
SOURCE_4, DESTINATION_4 = bytes([198, 18, 0, 0]), bytes([198, 19, 0, 0])  # /16 each
SOURCE_6 = bytes.fromhex("20010002000000180000000000000000")  # /64 each, of 2001:2::/48
DESTINATION_6 = bytes.fromhex("20010002000000190000000000000000")
_ETHERNET = 14  # bytes of a header
_HOPS, _FORWARDED_HOPS = 64, 63  # before and after the DUT
_UDP = 17  # IP's number of it
_BROADCAST = 1  # the bit in an Ethernet address's first byte: also multicast
_IP_HEADER = struct.Struct("!BBHHHBBH4s4s")


@dataclass(frozen=True, kw_only=True, slots=True)
class BurstTraffic:
    """One kind of packets: `packet` makes the n-th flow's with so many hops left to go.

    `frame` is a frame's length in bytes, `kind` is Ethernet's type of what it carries.
    """

    frame: int
    kind: bytes
    packet: Callable[[int, int], bytes]

    def ping(self) -> bytes:
        """A single frame, as it goes to the DUT."""
        return self._sent(0)

    def burst(self) -> bytes:
        """PACKETS frames of as many flows."""
        return b"".join(map(self._sent, range(PACKETS)))

    def forwarded(self, answer: bytes) -> str:
        """What is wrong with frames that came back, in one clause; empty when nothing is.

        Addresses of Ethernet are the kernel's choice; from the IP header on each must be as sent,
        but for one hop less.
        """
        size = PREFIX + self.frame
        for number in range(len(answer) // size):
            frame = answer[number * size + PREFIX : (number + 1) * size]
            if frame[_ETHERNET:] != self.packet(number, _FORWARDED_HOPS):
                return f"packet {number + 1} of a burst came out as {frame.hex()}"
        return ""

    def _sent(self, number: int) -> bytes:
        frame = PORTS[0] + SENDER + self.kind + self.packet(number, _HOPS)
        return struct.pack("!I", len(frame)) + frame


def addressed(taken: bytes) -> tuple[bytes, bytes]:
    """The whole frames in what was taken from a wire, and what follows them, a frame's beginning.

    Frames to everybody are left out: a kernel may ask for neighbours or tell of itself whenever it
    wants to, and the traffic is not meant for everybody.
    """
    kept, start = [], 0
    while (end := _end_of_frame(taken, start)) <= len(taken):
        if not taken[start + PREFIX] & _BROADCAST:
            kept.append(taken[start:end])
        start = end
    return b"".join(kept), taken[start:]


def _end_of_frame(taken: bytes, start: int) -> int:
    """Where the frame ends that begins there; beyond the end of all for one that is not whole."""
    if len(taken) < start + PREFIX:
        return len(taken) + 1
    length: int = struct.unpack_from("!I", taken, start)[0]
    return start + PREFIX + max(length, 1)


def _ipv4(number: int, hops: int) -> bytes:
    source, destination = _host(SOURCE_4, number), _host(DESTINATION_4, number)
    data = struct.pack("!HHHH", 2000 + number, 2000, 8 + 18, 0) + bytes(18)
    fields = [0x45, 0, _IP_HEADER.size + len(data), number, 0, hops, _UDP, 0, source, destination]
    fields[7] = _checksum(_IP_HEADER.pack(*fields))
    return _IP_HEADER.pack(*fields) + data


def _ipv6(number: int, hops: int) -> bytes:
    """Without data; a checksum of UDP is not optional here."""
    addresses = _host(SOURCE_6, number) + _host(DESTINATION_6, number)
    ports = struct.pack("!HH", 2000 + number, 2000)
    checksum = _checksum(addresses + struct.pack("!II", 8, _UDP) + ports + b"\0\x08\0\0")
    header = struct.pack("!IHBB", 6 << 28, 8, _UDP, hops)
    return header + addresses + ports + struct.pack("!HH", 8, checksum)


def _host(network: bytes, number: int) -> bytes:
    return network[:-1] + bytes([1 + number])


def _checksum(header: bytes) -> int:
    """The ones' complement of the ones' complement sum, RFC 1071."""
    total: int = sum(word for (word,) in struct.iter_unpack("!H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


IPV4 = BurstTraffic(frame=FRAME, kind=b"\x08\x00", packet=_ipv4)
# 62 bytes: the least that holds IPv6 and UDP.
IPV6 = BurstTraffic(frame=62, kind=b"\x86\xdd", packet=_ipv6)


_PING_S = 0.1  # for an answer to one packet
_GULP = 1 << 16  # bytes at once


class Lost(Exception):  # noqa: N818 - what happened, of which somebody else makes an error
    """Packets, or answers, did not come back, or not as they should."""


class Wires:
    """Both sides of a DUT, each the other end of one of its ports."""

    def __init__(
        self,
        sender: socket.socket,
        receiver: socket.socket,
        stall_s: float,
        traffic: BurstTraffic = IPV4,
    ) -> None:
        self._sender = sender
        self._receiver = receiver
        self._stall_s = stall_s
        self._traffic = traffic
        self._burst = traffic.burst()
        self._answer = b""
        self._rest = b""

    def answers(self) -> bool:
        """Send one packet, and say whether it or an earlier one came back within 0.1 s."""
        self._receiver.settimeout(_PING_S)
        end_s = time.monotonic() + _PING_S
        try:
            self._sender.sendall(self._traffic.ping())
            while time.monotonic() < end_s:
                if not (part := self._receiver.recv(_GULP)):
                    time.sleep(_PING_S)  # nobody at the other end, and nobody to wait for
                    return False
                kept, self._rest = addressed(self._rest + part)
                if kept:
                    return True
        except TimeoutError:
            return False
        except OSError:
            time.sleep(_PING_S)
        return False

    def settle(self) -> None:
        """Take what still comes of earlier packets, until nothing does for 0.1 s."""
        self._receiver.settimeout(_PING_S)
        self._rest = b""
        try:
            while self._receiver.recv(_GULP):
                pass
        except OSError:
            return

    def send_burst(self) -> float:
        """Send one burst through the DUT; returns how long it took, in seconds."""
        self._receiver.settimeout(self._stall_s)
        began_s = time.perf_counter()
        answer = self._exchange()
        took_s = time.perf_counter() - began_s
        if answer != self._answer:
            if wrong := self._traffic.forwarded(answer):
                raise Lost(wrong)
            self._answer = answer
        return took_s

    def close(self) -> None:
        """Cut both."""
        self._sender.close()
        self._receiver.close()

    def _exchange(self) -> bytes:
        """Send a burst and take as much back; what came among it for everybody is left out."""
        wanted, kept, taken = len(self._burst), b"", b""
        try:
            self._sender.sendall(self._burst)
            while len(kept) < wanted:
                part = self._receiver.recv(max(1, wanted - len(kept) - len(taken)))
                if not part:
                    break
                taken += part
                if taken == self._answer:
                    return taken
                if len(kept) + len(taken) >= wanted:
                    more, taken = addressed(taken)
                    kept += more
        except OSError:
            pass  # a time-out, or a wire that QEMU's end cut: what came tells
        kept += addressed(taken)[0]
        if len(kept) < wanted:
            back = len(kept) // (PREFIX + self._traffic.frame)
            raise Lost(f"{back} of {PACKETS} packets came back within {self._stall_s:g} s")
        return kept


Executed = Counter[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """How often each address was executed for one burst, and how often the processor halted."""

    executed: Executed
    sleeps: int


# Bursts: rings of 4096 descriptors, the most that em(4) has, at 64 packets a burst.
LONGEST = 64
# Rounds by which periods are compared. One burst of eight of FreeBSD 13.1 is disturbed: five of
# eight are in one phase of 600. With four rounds, half of the boots took 64 bursts or 32 for
# em(4)'s 16, which changes a value by 0.0001 %.
ROUNDS = 8
MOST_ROUNDS = 32  # of the shortest period; four times ROUNDS
# Of the whole: what a longer period, or other rounds, must change to matter. It is a fifteenth of
# an instruction per packet of FreeBSD 13.1, which executes 3600.
TOLERANCE = 2e-5


def usual(bursts: Sequence[Burst], period: int) -> Executed:
    """How often each address is usually executed for the packets of one period of bursts.

    They are in the order sent, a whole number of rounds. A ring of descriptors wraps once in a
    period: bursts that lie a period apart are of one phase, and do the same work.
    """
    total: Executed = Counter()
    for phase in range(period):
        total.update(_medians(bursts[phase::period]))
    return total


def level(bursts: Sequence[Burst], period: int) -> float:
    """The same as instructions per burst."""
    return usual(bursts, period).total() / period


def find_period(bursts: Sequence[Burst]) -> int:
    """The least power of two of which no multiple has more work, of those worth a look.

    The longest has ROUNDS among the bursts, the shortest MOST_ROUNDS. They are compared by as many
    rounds each, as chance has more to say in few: a short one by the mean of several such parts.
    """
    periods = [len(bursts) // MOST_ROUNDS]
    while 2 * periods[-1] * ROUNDS <= len(bursts):
        periods.append(2 * periods[-1])
    levels = [_level_of_parts(bursts, period) for period in periods]
    return next(
        period for n, period in enumerate(periods) if levels[n] >= max(levels[n:]) * (1 - TOLERANCE)
    )


def are_enough(bursts: Sequence[Burst], period: int) -> bool:
    """Whether the rounds agree with each other, or there are MOST_ROUNDS."""
    return len(bursts) >= MOST_ROUNDS * period or disagreement(bursts, period) <= TOLERANCE


def disagreement(bursts: Sequence[Burst], period: int) -> float:
    """By which share the earlier half of the rounds differs from the later one."""
    middle = len(bursts) // period // 2 * period
    before, after = level(bursts[:middle], period), level(bursts[middle:], period)
    return abs(after - before) / before


def _level_of_parts(bursts: Sequence[Burst], period: int) -> float:
    part = period * ROUNDS
    starts = range(0, len(bursts) - part + 1, part)
    return sum(level(bursts[start : start + part], period) for start in starts) / len(starts)


def _medians(bursts: Sequence[Burst]) -> Executed:
    """Each address's median; of an even number the lower one, as more is rather too much.

    A kernel's interrupts and threads add or move work in few bursts, and the least count lacks
    moved work: three boots of FreeBSD 13.1 by vtnet differed by 0.05 % by it, and not by this.
    """
    calm = _calm(bursts)
    place = (len(calm) - 1) // 2
    if 2 * calm.count(calm[place]) > len(calm):
        return calm[place]
    medians: Executed = Counter()
    for address in set().union(*calm):
        if count := sorted(burst[address] for burst in calm)[place]:
            medians[address] = count
    return medians


def _calm(bursts: Sequence[Burst]) -> list[Executed]:
    """The half in which the processor slept least often and, of the same, executed least.

    On a busy host the clock is in most of the bursts: at a load of 20 counts of FreeBSD 13.1 by
    vtnet differed by up to 0.3 % by all of them; by the calmer half 24 of 25 were the same.
    """
    ordered = sorted(bursts, key=lambda burst: (burst.sleeps, burst.executed.total()))
    return [burst.executed for burst in ordered[: (len(ordered) + 1) // 2]]
