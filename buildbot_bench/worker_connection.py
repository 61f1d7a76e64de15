"""The master that a worker connects to, and how, by the worker's environment."""

import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twisted.internet.endpoints import quoteStringArgument

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

DEFAULT_PORT = 9989
# One that is there answers within a second, also over the sea.
PATIENCE_S = 5.0
# A worker of several masters ends after so many vain tries, about three seconds: what keeps it
# running starts it anew, and it looks which master answers.
TRIES = 3
_HERE = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True, kw_only=True, slots=True)
class MasterAddress:
    """Where a master listens for workers; `tries` is Buildbot's `maxRetries`, None for ever."""

    host: str
    port: int
    tries: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerConnection:
    """Buildbot's `connection_string` and `maxRetries` of a worker."""

    string: str
    tries: int | None


def worker_connection(environ: Mapping[str, str], base: Path) -> WorkerConnection:
    """How the worker in a directory gets to a master; plain only on this machine, or where asked.

    The master shows a certificate of the authority in BENCH_TRUST, or in `trust` of the directory:
    `bench-farm certificates` makes both.
    """
    named, port = environ.get("BENCH_MASTER", "localhost"), environ.get("BENCH_MASTER_PORT")
    master = master_address(named, int(port or DEFAULT_PORT))
    trust = Path(environ.get("BENCH_TRUST", base / "trust"))
    way = f"host={quoteStringArgument(master.host)}:port={master.port}"
    if trust.is_dir():
        way = f"tls:{way}:trustRoots={quoteStringArgument(str(trust))}"
    elif master.host in _HERE or environ.get("BENCH_UNENCRYPTED") == "yes":
        way = f"tcp:{way}"
    else:
        raise UsageError(
            f"{trust} is not there",
            hint="make certificates by `bench-farm certificates` and copy its trust/ here; in a "
            "network that nobody else is in, say BENCH_UNENCRYPTED=yes",
        )
    return WorkerConnection(string=way, tries=master.tries)


def master_address(named: str, port: int = DEFAULT_PORT) -> MasterAddress:
    """The one master that is named, or of `HOST:PORT,HOST:PORT` one that answers, drawn.

    UsageError when what is named is no address.
    """
    found = [_parse(one.strip(), port) for one in named.split(",")]
    if len(found) == 1:
        return found[0]
    random.shuffle(found)  # else all workers would be the first master's
    chosen = next((one for one in found if _answers(one)), found[0])
    return MasterAddress(host=chosen.host, port=chosen.port, tries=TRIES)


def _parse(text: str, default: int) -> MasterAddress:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):  # a name alone, or [2001:db8::1]
        host, port = text, str(default)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal():
        raise UsageError(
            f"BENCH_MASTER: {quoted(text)} is no address",
            hint="say HOST, HOST:PORT, or several with ','",
        )
    return MasterAddress(host=host, port=int(port))


def _answers(address: MasterAddress) -> bool:
    try:
        socket.create_connection((address.host, address.port), timeout=PATIENCE_S).close()
    except OSError:
        return False
    return True
