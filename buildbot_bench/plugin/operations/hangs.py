"""What a master writes down for its operator: when and where it hung, and its ports."""

import faulthandler
import json
import os
import re
import resource
import socket
import sys
import time
from calendar import timegm
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import astuple
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from buildbot_bench import hang_watcher
from buildbot_bench.core.condition import Hang, OpenPort
from buildbot_bench.core.legible import one_line

_LOG = Logger()

# Twenty times the longest pause that a page or the broker may see (docs/contributing/load.md).
SILENT_S = 60.0
BEAT_S = 5.0
_USEC = 1_000_000
_STDERR = 2


class _Watcher(ProcessProtocol):
    """The process that ends this master when it does not answer; one that ends is replaced."""

    transport: Any = None

    def __init__(self, reactor: Any, silent_s: float, file: Path) -> None:
        self._reactor = reactor
        self._arguments = (str(os.getpid()), str(silent_s), str(file))

    def beat(self) -> None:
        if self.transport is None:
            program = [sys.executable, "-I", "-S", hang_watcher.__file__, *self._arguments]
            # Without a directory of its own it is spawned, not forked.
            self._reactor.spawnProcess(
                self, program[0], program, env=os.environ, childFDs={0: "w", 1: 1, 2: 2}
            )
        self.transport.write(b".")

    def processEnded(self, reason: Any) -> None:
        self.transport = None
        _LOG.warn(
            "bench: the process that watches this master is replaced: {why}",
            why=reason.getErrorMessage(),
        )


class Heartbeat:
    """Tells that the reactor runs, until the process ends.

    The stacks of all threads go to standard error after half the silence that ends the master, and
    to the file when the master is aborted, also where its main thread hangs in C code.
    `environ` is as systemd sets it; what is read there is removed, so that no child has it.
    """

    def __init__(
        self, reactor: Any, file: Path, environ: MutableMapping[str, str] = os.environ
    ) -> None:
        self._reactor = reactor
        self._socket = environ.pop("NOTIFY_SOCKET", "")
        meant = environ.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        told_s = float(environ.pop("WATCHDOG_USEC", 0)) / _USEC if meant else 0.0
        environ.pop("WATCHDOG_USEC", None)
        self.silent_s = told_s or SILENT_S
        is_watched = bool(told_s and self._socket)
        self._watcher = None if is_watched else _Watcher(reactor, self.silent_s, file)
        self._file = file
        self._is_ready = False

    def begin(self) -> None:
        """Begin to beat. A start that takes long has its time limit extended by each beat."""
        # An image of the memory would hold passwords.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        # Open as long as the process lives: faulthandler writes by its number.
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        faulthandler.enable(descriptor, all_threads=True)
        beating = LoopingCall(self._beat)
        beating.clock = self._reactor
        beating.start(min(BEAT_S, self.silent_s / 4)).addErrback(
            lambda why: _LOG.failure("bench: the heartbeat ends", failure=why)
        )

    def ready(self) -> None:
        """Say that the start is over."""
        self._is_ready = True
        self._say("READY=1")

    def _beat(self) -> None:
        faulthandler.dump_traceback_later(self.silent_s / 2, file=_STDERR)
        extend = f"EXTEND_TIMEOUT_USEC={self.silent_s * _USEC:.0f}"
        self._say("WATCHDOG=1" if self._is_ready else extend)
        if self._watcher is not None:
            self._watcher.beat()

    def _say(self, line: str) -> None:
        if not self._socket:
            return
        # A name of Linux's abstract sockets begins with a zero byte, in the environment with "@".
        address = self._socket.replace("@", "\0", 1) if self._socket[0] == "@" else self._socket
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.setblocking(False)
            told.sendto(line.encode(), address)


DIRECTORY = "hangs"
MOST_KEPT = 20
_MOST_CHARACTERS = 64 * 1024
_FORM = "%Y%m%dT%H%M%SZ.txt"
_FATAL = re.compile(r"Fatal Python error: (.*)")
_ABORTED = "was aborted: it did not answer, or a library failed"


def stacks_file(master: Path) -> Path:
    """Return the file for the stacks of the master that runs; it is empty while all is well."""
    return master / DIRECTORY / "current"


def has_hung(master: Path) -> bool:
    """Return whether the last master left the stacks of its threads, and none started since."""
    file = stacks_file(master)
    return file.is_file() and file.stat().st_size > 0


def keep_hang(master: Path) -> Hang | None:
    """Give the last master's stacks a file of their own. None if that master ended in order."""
    (master / DIRECTORY).mkdir(mode=0o700, exist_ok=True)
    if not has_hung(master):
        return None
    file = stacks_file(master)
    kept = file.rename(file.with_name(time.strftime(_FORM, time.gmtime(file.stat().st_mtime))))
    for old in _kept(master)[:-MOST_KEPT]:
        old.unlink()
    return _hang(kept)


def hangs(master: Path) -> tuple[Hang, ...]:
    """Return the hangs and crashes of a master that are kept, the oldest first."""
    found: list[Hang] = []
    for path in _kept(master):
        with suppress(OSError, ValueError):  # deleted meanwhile, or not of our making
            found.append(_hang(path))
    return tuple(found)


def stacks_of(hang: Hang) -> str:
    """Return what the threads did, cut to a length that a log takes."""
    with Path(hang.path).open(encoding="utf-8", errors="replace") as text:
        return text.read(_MOST_CHARACTERS)


def _kept(master: Path) -> list[Path]:
    return sorted((master / DIRECTORY).glob("*.txt"))


def _hang(path: Path) -> Hang:
    at_s = float(timegm(time.strptime(path.name, _FORM)))
    with path.open(encoding="utf-8", errors="replace") as text:
        first = text.readline(_MOST_CHARACTERS)
    what = one_line(first, columns=80)
    if fatal := _FATAL.match(what):
        what = _ABORTED if fatal[1] == "Aborted" else f"crashed: {fatal[1]}"
    return Hang(at_s=at_s, what=what, path=str(path))


NAME = "ports.json"


def worker_ports(protocols: Mapping[str, Any]) -> Iterator[object]:
    """The ports that workers connect to, as the configuration names them.

    Workers within the master, as the janitor's, need none.
    """
    for protocol in protocols.values():
        ports = protocol.get("port")
        named = ports if isinstance(ports, list) else [ports]
        yield from (port for port in named if port is not None)


def keep_ports(master: Path, config: Any) -> None:
    """Write down what a configuration of Buildbot's has a master listen on."""
    ports = [listening(port, of="workers") for port in worker_ports(config.protocols)]
    if (pages := config.www.get("port")) is not None:
        ports.append(listening(pages, of="pages"))
    text = json.dumps([astuple(port) for port in ports])
    partial = master / f".{NAME}.part"
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(master / NAME)


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


_FIELD = re.compile(r"((?:[^:\\]|\\.)*)(?::|$)", re.DOTALL)
_LOCAL_KINDS = frozenset({"unix", "fd", "systemd"})
_ENCRYPTED_KINDS = frozenset({"ssl", "tls"})


def listening(port: object, *, of: str) -> OpenPort:
    r"""What `tcp:9989:interface=127.0.0.1`, `unix:/run/bench`, `ssl:9989:…` or a number means.

    A colon within a value is written `\:`; without an interface all of the machine's are meant.
    What another program opened, or is a file, counts as local: its owner says who reaches it.
    Where a key lies is not kept.
    """
    kind, *fields = (re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(str(port)))
    named = dict(field.partition("=")[::2] for field in fields if "=" in field)
    return OpenPort(
        of=of,
        port=":".join(str(port).split(":")[:2]),
        is_local=kind in _LOCAL_KINDS or _is_loopback(named.get("interface", "")),
        is_encrypted=kind in _ENCRYPTED_KINDS,
    )


def _is_loopback(interface: str) -> bool:
    try:
        return ip_address(interface.strip("[]")).is_loopback
    except ValueError:
        return interface == "localhost"
