"""A program with a reactor that has functions calculated, as a master does.

`life DIRECTORY` prints what became of several calculations; `wait DIRECTORY` has one hang until it
is ended itself; `freeze SECONDS` calculates while it forks git, and `freeze-late SECONDS` does so
where master.cfg had imported numpy before our package.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from buildbot.util import runprocess
from twisted.internet import defer, reactor
from twisted.internet.task import deferLater

if "freeze-late" in sys.argv:
    import numpy  # noqa: F401, ICN001

import buildbot_bench.core.search  # noqa: F401  what a master imports
from buildbot_bench.plugin.farm.calculating import calculate, known
from buildbot_bench.process_environment import limit_loaded
from tests import calculated

HANGS_S = 20.0


async def life(directory: Path) -> dict[str, object]:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.set_inheritable(True)
    told = await calculate(calculated.surroundings)
    own = calculated.pools()
    os.kill(told["pid"], signal.SIGTERM)
    os.kill(told["pid"], signal.SIGHUP)
    os.kill(told["pid"], signal.SIGINT)
    again = await calculate(calculated.surroundings, 2)
    both = await defer.gatherResults(
        [calculate(calculated.algebra, 20, 1), calculate(calculated.algebra, 20, 2)]
    )
    order = await in_order(str(directory / "order"))
    return told | {
        "order": order,
        "own": os.getpid(),
        "own_threads": own,
        "same": again["pid"] == told["pid"],
        "processes": len(set(both)),
        "hung": await error_of(calculate(calculated.hang, str(directory / "hung"), limit_s=2.0)),
        "dead": await error_of(calculate(calculated.die)),
        "revived": await calculate(calculated.die_once, str(directory / "mark")),
        "refused": await error_of(calculate(calculated.refuse, "r9")),
        "odd": await error_of(calculate(calculated.fail_oddly)),
        "unpicklable": await error_of(calculate(lambda: 1)),
    }


async def in_order(path: str) -> list[str]:
    """The order in which a plan and a page are calculated, behind what keeps both processes."""
    busy = [calculate(calculated.algebra, 20, seed) for seed in (3, 4)]
    planned: defer.Deferred[None] = defer.Deferred()
    known(calculated.note, path, "plan", then=lambda: planned.callback(None))
    # In the queue of the same process, whichever that is.
    await defer.gatherResults([calculate(calculated.note, path, "page"), planned, *busy])
    return await calculate(calculated.noted, path)


async def error_of(asked: defer.Deferred[object]) -> list[str]:
    try:
        return ["none", str(await asked)]
    except Exception as error:  # noqa: BLE001 - it is what is told
        return [type(error).__name__, str(error)]


async def wait(directory: Path) -> None:
    await calculate(calculated.hang, str(directory / "hung"))


async def freeze(seconds: str) -> None:
    """Calculate and fork, each as often as it goes, and end with a status that says what hung."""
    limit_loaded()
    pools = {"master": calculated.pools(), "calculator": await calculate(calculated.pools)}
    print(json.dumps(pools), flush=True)
    end = time.monotonic() + float(seconds)
    done = {"forks": 0, "calculations": 0}
    began, here = [0.0], []

    async def calculations() -> None:
        while time.monotonic() < end:
            began[0] = time.monotonic()
            number = done["calculations"]
            pid = await calculate(calculated.algebra, (128, 200, 400)[number % 3], number)
            here.extend([pid] if pid == os.getpid() else [])
            began[0] = 0.0
            done["calculations"] += 1

    calculating = defer.ensureDeferred(calculations())
    while time.monotonic() < end:
        # With a directory of its own Twisted forks.
        await runprocess.run_process(reactor, ["git", "--version"], workdir="/")
        done["forks"] += 1
        age = time.monotonic() - began[0] if began[0] else 0.0
        print(f"{done}, this calculation for {age:.1f} s", flush=True)
        if age > HANGS_S:
            os._exit(3)
        await deferLater(reactor, 0.02)
    await calculating
    os._exit(4 if here or not done["calculations"] else 0)


def main() -> None:
    what, argument = sys.argv[1:]
    print("begun", flush=True)

    async def run() -> None:
        match what:
            case "life":
                print(json.dumps(await life(Path(argument))), flush=True)
            case "wait":
                await wait(Path(argument))
            case "freeze" | "freeze-late":
                await freeze(argument)
        reactor.stop()

    def failed(why: object) -> None:
        print(why, file=sys.stderr, flush=True)
        os._exit(5)

    reactor.callWhenRunning(lambda: defer.ensureDeferred(run()).addErrback(failed))
    reactor.run()


main()
