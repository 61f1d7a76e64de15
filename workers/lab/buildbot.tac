"""The lab worker: boots images on testbeds and measures. Run it by `twistd -ny buildbot.tac` or a unit beside this."""

import os
from pathlib import Path

from buildbot_worker.bot import Worker
from twisted.application import service
from twisted.internet import reactor

from buildbot_bench.core.errors import UsageError
from buildbot_bench.worker_connection import worker_connection
from buildbot_bench.steady_timers import SteadyTimers

BASE = Path.cwd()
# To one of the masters that BENCH_MASTER names, by TLS unless it is on this machine.
try:
    MASTER = worker_connection(os.environ, BASE)
except UsageError as problem:
    raise SystemExit(str(problem)) from None
# What a worker keeps, patches and logs of others among it, is for its own user alone.
UMASK = 0o077
os.umask(UMASK)

application = service.Application("buildbot-worker")
Worker(
    None,
    None,
    os.environ.get("BENCH_WORKER", "lab"),
    Path(os.environ.get("BENCH_PASSWORD_FILE", BASE / "password")).read_text().strip(),
    str(BASE),
    keepalive=60,
    umask=UMASK,
    # A restarted master is found again within seconds; the default waits up to five minutes.
    maxdelay=10,
    maxRetries=MASTER.tries,
    allow_shutdown=None,
    connection_string=MASTER.string,
).setServiceParent(application)
SteadyTimers(reactor).setServiceParent(service.IServiceCollection(application))
