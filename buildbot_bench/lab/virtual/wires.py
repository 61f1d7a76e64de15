"""Sends bursts into a virtual DUT and takes them out on its other side; it judges no kernel.

Sender and receiver go in lock-step: a burst is sent when the one before it is back. QEMU takes a
burst from its socket in one gulp, so that the guest, which sleeps meanwhile, finds all of it.
"""

from __future__ import annotations

import socket
import time

from buildbot_bench.lab.virtual.frames import FRAME, PACKETS, PREFIX, burst, forwarded, ping

_PING_S = 0.1
_PING_LENGTH = PREFIX + FRAME


class Lost(Exception):  # noqa: N818 - what happened, of which somebody else makes an error
    """Packets, or answers, did not come back, or not as they should."""


class Wires:
    """Both sides of a DUT, each the other end of one of its ports."""

    def __init__(self, sender: socket.socket, receiver: socket.socket, stall_s: float) -> None:
        self._sender = sender
        self._receiver = receiver
        self._stall_s = stall_s
        self._burst = burst()
        self._answer = b""

    def answers(self) -> bool:
        """Send one packet, and say whether it or an earlier one came back within 0.1 s."""
        self._receiver.settimeout(_PING_S)
        try:
            self._sender.sendall(ping())
            return len(self._receiver.recv(_PING_LENGTH, socket.MSG_WAITALL)) == _PING_LENGTH
        except TimeoutError:
            return False
        except OSError:
            time.sleep(_PING_S)  # nobody at the other end, and nobody to wait for
            return False

    def settle(self) -> None:
        """Take what still comes of earlier packets, until nothing does for 0.1 s."""
        self._receiver.settimeout(_PING_S)
        try:
            while self._receiver.recv(1 << 16):
                pass
        except OSError:
            return

    def send_burst(self) -> float:
        """Send one burst through the DUT; returns how long it took, in seconds.

        Raises Lost when it does not come back as it should.
        """
        self._receiver.settimeout(self._stall_s)
        began_s = time.perf_counter()
        answer = self._exchange()
        took_s = time.perf_counter() - began_s
        if answer != self._answer:
            if wrong := forwarded(answer):
                raise Lost(wrong)
            self._answer = answer
        return took_s

    def close(self) -> None:
        """Cut both."""
        self._sender.close()
        self._receiver.close()

    def _exchange(self) -> bytes:
        taken = bytearray()
        try:
            self._sender.sendall(self._burst)
            while missing := len(self._burst) - len(taken):
                part = self._receiver.recv(missing)
                if not part:
                    break
                taken += part
        except OSError:
            pass  # a time-out, or a wire that QEMU's end cut: what came tells
        if len(taken) < len(self._burst):
            back = len(taken) // (PREFIX + FRAME)
            raise Lost(f"{back} of {PACKETS} packets came back within {self._stall_s:g} s")
        return bytes(taken)
