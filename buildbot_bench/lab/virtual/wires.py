"""The exchange of bursts with a virtual DUT: sent on one side, received on the other."""

import socket
import time

from buildbot_bench.lab.virtual.frames import IPV4, PACKETS, PREFIX, BurstTraffic, addressed

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
