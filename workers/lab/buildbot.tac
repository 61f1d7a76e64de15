"""The lab worker: boots images on testbeds and measures. Run it by `twistd -ny buildbot.tac` or a unit beside this."""

import os
from pathlib import Path

from buildbot_worker.bot import Worker
from twisted.application import service
from twisted.internet.endpoints import quoteStringArgument

from buildbot_bench.masters import master_address

BASE = Path.cwd()
# Of several masters, HOST:PORT,HOST:PORT, it connects to one that answers.
MASTER = master_address(
    os.environ.get("BENCH_MASTER", "localhost"), int(os.environ.get("BENCH_MASTER_PORT", "9989"))
)
HOST, PORT = MASTER.host, MASTER.port
# The master shows a certificate of the authority in here: `bench-farm certificates` makes both.
TRUST = Path(os.environ.get("BENCH_TRUST", BASE / "trust"))
WAY = f"host={quoteStringArgument(HOST)}:port={PORT}"
if TRUST.is_dir():
    WAY = f"tls:{WAY}:trustRoots={quoteStringArgument(str(TRUST))}"
elif HOST in {"localhost", "127.0.0.1", "::1"} or os.environ.get("BENCH_UNENCRYPTED") == "yes":
    WAY = f"tcp:{WAY}"
else:
    raise SystemExit(
        f"{TRUST} is not there: make certificates by `bench-farm certificates` and copy its trust/"
        " here; in a network that nobody else is in, say BENCH_UNENCRYPTED=yes"
    )
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
    connection_string=WAY,
).setServiceParent(application)
