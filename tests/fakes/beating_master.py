"""A process with a reactor that beats as a master does: run as a program.

`BASE SILENT_S PORT THEN` listens on the port (0 for none), and does after some beats what THEN
says: `sleep` or `hold` hangs the main thread, `crash` ends by a fault of C code, `last` goes on.
"""

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

from twisted.internet import protocol, reactor

from buildbot_bench.plugin.operations.hangs import Heartbeat, keep_hang, stacks_file


def stand_still() -> None:
    time.sleep(600)


def hold_the_interpreter() -> None:
    """In C code: neither a handler in Python nor another thread gets a turn."""
    while True:
        ctypes.PyDLL(None).sleep(600)


def help_others() -> None:
    threading.Event().wait()


THEN = {
    "sleep": stand_still,
    "hold": hold_the_interpreter,
    "crash": lambda: ctypes.string_at(0),
    "last": lambda: None,
}


def main() -> None:
    base, silent_s, port, then = sys.argv[1:]
    if silent_s != "0":
        os.environ["WATCHDOG_USEC"] = str(int(float(silent_s) * 1e6))
    hang = keep_hang(Path(base))
    threading.Thread(target=help_others, daemon=True).start()
    heartbeat = Heartbeat(reactor, stacks_file(Path(base)))
    heartbeat.begin()
    if int(port):
        reactor.listenTCP(int(port), protocol.Factory.forProtocol(protocol.Protocol))

    def told() -> None:
        heartbeat.ready()
        sys.stdout.write(f"it begins, after {hang.what if hang else 'nothing'}\n")
        sys.stdout.flush()

    reactor.callLater(0.3, told)
    # The next life is a better one.
    reactor.callLater(0.5, THEN["last" if hang else then])
    reactor.run()


main()
