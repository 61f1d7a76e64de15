"""The ports that a master listens on, written down for `bench-farm doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from buildbot_bench.core.condition import OpenPort
from buildbot_bench.core.listening import listening

NAME = "ports.json"


def worker_ports(protocols: Mapping[str, Any]) -> Iterator[object]:
    """The ports that workers connect to, as the configuration names them.

    Workers within the master, as the janitor's, need none.
    """
    for protocol in protocols.values():
        ports = protocol.get("port")
        named = ports if isinstance(ports, list) else [ports]
        yield from (port for port in named if port is not None)


def kind_of(port: object) -> str:
    """What may be said of a port to anybody: not where its key lies."""
    return ":".join(str(port).split(":")[:2])


def keep_ports(master: Path, config: Any) -> None:
    """Write down what a configuration of Buildbot's has a master listen on."""
    named = [("workers", port) for port in worker_ports(config.protocols)]
    if (pages := config.www.get("port")) is not None:
        named.append(("pages", pages))
    text = json.dumps([[of, kind_of(port), *_open(port)] for of, port in named])
    partial = master / f".{NAME}.part"
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(master / NAME)


def _open(port: object) -> tuple[bool, bool]:
    where = listening(port)
    return where.is_local, where.is_encrypted


def read_ports(master: Path) -> tuple[OpenPort, ...]:
    """What was written down; nothing where no master ran, or the file makes no sense."""
    try:
        rows = json.loads((master / NAME).read_text(encoding="utf-8"))
        return tuple(
            OpenPort(
                of=str(of), port=str(port), is_local=local is True, is_encrypted=secret is True
            )
            for of, port, local, secret in rows
        )
    except (OSError, ValueError, TypeError):
        return ()
