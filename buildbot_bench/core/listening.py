"""The reach of a port that a master listens on, from its Twisted or Buildbot description."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address

_FIELD = re.compile(r"((?:[^:\\]|\\.)*)(?::|$)", re.DOTALL)
_LOCAL_KINDS = frozenset({"unix", "fd", "systemd"})
_ENCRYPTED_KINDS = frozenset({"ssl", "tls"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """A port that a master listens on: who reaches it, and whether what is said there is secret.

    What another program opened, or is a file, counts as local: its owner says who reaches it.
    """

    is_local: bool
    is_encrypted: bool


def listening(port: object) -> Listening:
    r"""What `tcp:9989:interface=127.0.0.1`, `unix:/run/bench`, `ssl:9989:…` or a number means.

    A colon within a value is written `\:`; without an interface all of the machine's are meant.
    """
    kind, *fields = (re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(str(port)))
    if kind.isdigit():
        return Listening(is_local=False, is_encrypted=False)
    named = dict(field.partition("=")[::2] for field in fields if "=" in field)
    return Listening(
        is_local=kind in _LOCAL_KINDS or _is_loopback(named.get("interface", "")),
        is_encrypted=kind in _ENCRYPTED_KINDS,
    )


def _is_loopback(interface: str) -> bool:
    try:
        return ip_address(interface.strip("[]")).is_loopback
    except ValueError:
        return interface == "localhost"
