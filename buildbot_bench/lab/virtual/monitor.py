"""Commands to a running QEMU by its machine protocol, QMP."""

import json
import socket
from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.virtual.wires import Lost

_DEADLINE_S = 20.0  # for an answer of QEMU's, on a machine however busy


class Monitor:
    """QEMU's monitor at the other end of a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.settimeout(_DEADLINE_S)
        self._lines = connection.makefile("rb")
        self._greeted = False

    def command(self, line: str) -> str:
        """Run one of the monitor's own commands; returns what it printed.

        Raises Lost when QEMU does not answer, InfraError when it has no such command.
        """
        if not self._greeted:
            self._execute({"execute": "qmp_capabilities"})
            self._greeted = True
        arguments = {"command-line": line}
        return self._execute({"execute": "human-monitor-command", "arguments": arguments})

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._connection.close()

    def _execute(self, request: dict[str, Any]) -> str:
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            while line := self._lines.readline():
                answer = json.loads(line)
                if "return" in answer:
                    return str(answer["return"])
                if "error" in answer:
                    raise InfraError(f"QEMU refuses {request}: {answer['error']}")
        except (OSError, ValueError, RecursionError) as error:
            raise Lost(f"QEMU's monitor does not answer: {error}") from error
        raise Lost("QEMU's monitor hung up")
