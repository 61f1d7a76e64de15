"""The farm's overhead on a measurement: a search's probes against plain builds, in one run.

`python -m benchmarks.pipeline` starts a real master and workers on the replay testbed, whose
measurements take no time of their own, and compares the wall time of a probe (two builds: one
makes the image, one measures it; planning included) with that of two builds that run `true`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from buildbot_bench.demo.cli import make_replay_history
from buildbot_bench.demo.farm import USER, FarmPlan, LocalFarm
from tests.ports import free_port
from tests.readme import CHECKOUT

PLAIN_BUILDS = 10
# A plain builder beside the farm's own, on the same worker.
_PLAIN = """
from buildbot.plugins import schedulers, steps
c["builders"] = [util.BuilderConfig(
    name="plain", workernames=["builder"],
    factory=util.BuildFactory([steps.ShellCommand(command=["true"], logEnviron=False)]))]
c["schedulers"] = [schedulers.ForceScheduler(name="plain", builderNames=["plain"])]
c["www"].pop("authz")
"""
_OUT = Path(__file__).parent / "out"


def main() -> int:
    """Run it and print the ratio."""
    directory = Path(tempfile.mkdtemp(prefix="bench-pipeline-"))
    farm = _farm(directory)
    try:
        farm.start()
        client = httpx.Client(base_url=f"{farm.plan.url}api/v2/", timeout=60)
        plain_s = _plain_builds(client)
        probe_s = _probes(farm, client)
    finally:
        farm.stop()
        shutil.rmtree(directory, ignore_errors=True)
    result = {
        "plain_build_s": round(median(plain_s), 3),
        "probe_s": round(probe_s, 3),
        "probe_over_two_plain_builds": round(probe_s / (2 * median(plain_s)), 2),
    }
    _OUT.mkdir(exist_ok=True)
    (_OUT / "pipeline.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, value in result.items():
        print(f"{name:32} {value}")
    return 0


def _farm(directory: Path) -> LocalFarm:
    make_replay_history(directory / "src")
    workflow = directory / "bench.yml"
    shutil.copyfile(CHECKOUT / "buildbot_bench" / "demo" / "replay.yml", workflow)
    farm = LocalFarm(
        FarmPlan(
            directory=directory,
            workflow=workflow,
            www_port=free_port(),
            pb_port=free_port(),
            poll_s=600.0,
            reconcile_s=30.0,
        )
    )
    farm.prepare()
    config = directory / "master.cfg"
    config.write_text((CHECKOUT / "master.cfg").read_text() + _PLAIN)
    tac = directory / "master" / "buildbot.tac"
    tac.write_text(tac.read_text().replace(str(CHECKOUT / "master.cfg"), str(config)))
    return farm


def _plain_builds(client: httpx.Client) -> list[float]:
    """The wall time of each of a few builds that do nothing, in seconds."""
    times: list[float] = []
    for _ in range(PLAIN_BUILDS):
        started = time.monotonic()
        _call(client, "forceschedulers/plain", "force", builderid=_builder(client))
        wanted = len(times) + 1
        while _complete(client) < wanted:
            time.sleep(0.01)
        times.append(time.monotonic() - started)
    return times


def _builder(client: httpx.Client) -> int:
    (found,) = client.get("builders", params={"name": "plain"}).json()["builders"]
    return int(found["builderid"])


def _complete(client: httpx.Client) -> int:
    answer = client.get("builders/plain/builds", params={"complete": "true"})
    return len(answer.json()["builds"])


def _call(client: httpx.Client, path: str, method: str, **params: Any) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    client.post(path, json=body).raise_for_status()


def _probes(farm: LocalFarm, client: httpx.Client) -> float:
    """The mean wall time of a probe of the model case's search, in seconds."""
    started = time.monotonic()
    subprocess.run(  # noqa: S603 - our own command
        [
            sys.executable,
            "-m",
            "buildbot_bench.cli.bisect",
            "r311848",
            "r312500",
            f"--farm={farm.plan.url}",
            f"--user={USER}",
            f"--password-file={farm.plan.password_file}",
        ],
        check=True,
        capture_output=True,
    )
    took_s = time.monotonic() - started
    return took_s / len(client.get("bench/searches/1/probes").json()["probes"])


if __name__ == "__main__":
    sys.exit(main())
