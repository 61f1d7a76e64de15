"""Faults that end processes and connections: SIGKILL, a power cut, a server that drops a client."""

import os
import random
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from buildbot_bench.demo.on_disk import lab_states, processes
from tests.chaos.faults import Fault, Struck, Target, no_server
from tests.e2e.lab_processes import followers, runner_of

_CONNECTIONS = """\
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
ORDER BY pid"""


# Of the kills of a master or a worker that hit one which has done nothing yet.
_EARLY = 0.15


def _kill_child(name: str) -> Callable[[Target, random.Random], Struck | None]:
    def strike(target: Target, chance: random.Random) -> Struck | None:
        child = target.farm.children[name]
        if not child.running or (chance.random() > _EARLY and not target.farm.has_worked(name)):
            return None
        target.farm.kill(name)
        return Struck(what=f"the {name}")

    return strike


def _kill_client(target: Target, chance: random.Random) -> Struck | None:
    clients = target.demand.clients
    if not clients:
        return None
    client = chance.choice(clients)
    target.demand.kill(client)
    return Struck(what=" ".join(client.command))


def _kill_follower(target: Target, chance: random.Random) -> Struck | None:
    return _kill_one(followers(target.farm), chance)


def _kill_job(target: Target, chance: random.Random) -> Struck | None:
    """End the process that measures, and not what follows it."""
    farm = target.farm
    running = {one.pid for one in processes(farm.directory, lab_states(farm.directory))}
    runners = (runner_of(farm, job) for job in farm.job_names())
    return _kill_one((pid for pid in runners if pid in running), chance)


def _kill_build(target: Target, chance: random.Random) -> Struck | None:
    """End something that the builder worker started."""
    farm = target.farm
    builder = farm.local.workers["builder"].process
    theirs = [
        one.pid
        for one in processes(farm.directory, ())
        if one.owner == "builder" and builder is not None and one.pid != builder.pid
    ]
    return _kill_one(theirs, chance)


def _kill_one(pids: Iterable[int], chance: random.Random) -> Struck | None:
    found = sorted(pids)
    if not found:
        return None
    pid = chance.choice(found)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return Struck(what=f"process {pid}")
    return None


def _drop_connection(target: Target, chance: random.Random) -> Struck | None:
    farm = target.farm
    found = [row["pid"] for row in farm.rows(_CONNECTIONS)]
    if not found:
        return None
    pid = chance.choice(found)
    ended = farm.value("SELECT pg_terminate_backend(:pid)", pid=pid)
    return Struck(what=f"connection {pid}") if ended else None


def _cut_power(target: Target, _chance: random.Random) -> Struck | None:
    farm = target.farm
    if not all(map(farm.has_worked, farm.children)):
        return None
    number = farm.kill_all()
    farm.disk.cut_power()
    farm.supervise()
    return Struck(what=f"{number} processes")


KILLS = (
    Fault(name="kill the master", weight=6, strike=_kill_child("master"), kills=True),
    Fault(name="kill the builder worker", weight=6, strike=_kill_child("builder"), kills=True),
    Fault(name="kill the lab worker", weight=6, strike=_kill_child("lab"), kills=True),
    Fault(name="kill a lab job", weight=30, strike=_kill_job, kills=True),
    Fault(name="kill a lab job's follower", weight=25, strike=_kill_follower, kills=True),
    Fault(name="kill a build", weight=5, strike=_kill_build, kills=True),
    Fault(name="kill a client", weight=6, strike=_kill_client, kills=True),
    Fault(
        name="drop a database connection",
        weight=20,
        strike=_drop_connection,
        kills=True,
        missing=no_server,
    ),
    Fault(name="power cut", weight=2, strike=_cut_power, kills=True),
)
