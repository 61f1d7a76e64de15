"""The lab worker: boots images on testbeds and measures. Run it by `twistd -ny buildbot.tac` or a unit beside this."""

import os
from pathlib import Path

from buildbot_worker.bot import Worker
from twisted.application import service
from twisted.internet import reactor

from buildbot_bench.plugin.steady_timers import SteadyTimers

BASE = Path.cwd()
# What a worker keeps, patches and logs of others among it, is for its own user alone.
UMASK = 0o077
os.umask(UMASK)

application = service.Application("buildbot-worker")
Worker(
    os.environ.get("BENCH_MASTER", "localhost"),
    int(os.environ.get("BENCH_MASTER_PORT", "9989")),
    os.environ.get("BENCH_WORKER", "lab"),
    Path(os.environ.get("BENCH_PASSWORD_FILE", BASE / "password")).read_text().strip(),
    str(BASE),
    keepalive=60,
    umask=UMASK,
    # A restarted master is found again within seconds; the default waits up to five minutes.
    maxdelay=10,
    allow_shutdown=None,
).setServiceParent(application)
SteadyTimers(reactor).setServiceParent(service.IServiceCollection(application))
