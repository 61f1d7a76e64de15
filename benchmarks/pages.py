"""How long the History of a long life takes to open, against Buildbot's own builders page.

`python -m benchmarks.pages` fills a real farm with 10 000 revisions x 3 workloads x 5 iterations
and the builds that they took, and opens both pages in turn in a real headless Chromium: warm, as
somebody does who looks again, and cold, by a new browser's cache at a master that has just started.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import sqlalchemy as sa

from benchmarks.long_life import live
from buildbot_bench.demo.farm import CHECKOUT, FarmPlan, LocalFarm
from buildbot_bench.demo.processes import free_port
from buildbot_bench.demo.replay_history import make_replay_history
from tests.chromium import CHROMIUM, Page, chromium

REVISIONS = 10_000
WORKLOADS = ("forwarding", "ipfw-statefull", "pf-statefull")
ITERATIONS = 5
ROUNDS = 7
COLD_ROUNDS = 3
PAGES = {
    "builders": ("builders", "document.querySelector('td a[href*=\"/builds/\"]')"),
    "history": (
        "bench/history",
        f"document.querySelectorAll('.series .points .means').length === {len(WORKLOADS)}",
    ),
}
_OUT = Path(__file__).parent / "out"


def main() -> int:
    """Run it and print the ratio."""
    if CHROMIUM is None:
        print("skipped: there is no chromium on the PATH")
        return 0
    directory = Path(tempfile.mkdtemp(prefix="bench-pages-"))
    farm = _farm(directory)
    try:
        farm.start()
        _fill(directory)
        with chromium(directory / "profile") as new_tab:
            warm = _open_in_turn(new_tab(), farm.plan.url)
            cold = _open_cold(new_tab, farm)
    finally:
        farm.stop()
        shutil.rmtree(directory, ignore_errors=True)
    result = _summary(warm) | {f"cold_{name}": of for name, of in _summary(cold).items()}
    _OUT.mkdir(exist_ok=True)
    (_OUT / "pages.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, value in result.items():
        print(f"{name:24} {value}")
    return 0


def _summary(times: dict[str, list[float]]) -> dict[str, float]:
    medians = {name: median(of) for name, of in times.items()}
    ratio = medians["history"] / medians["builders"]
    return {f"{name}_s": round(of, 3) for name, of in medians.items()} | {
        "history_over_builders": round(ratio, 2)
    }


def _farm(directory: Path) -> LocalFarm:
    make_replay_history(directory / "src")
    replay = (CHECKOUT / "buildbot_bench" / "demo" / "replay.yml").read_text()
    workflow = directory / "bench.yml"
    workflow.write_text(replay.replace("[forwarding]", str(list(WORKLOADS))))
    farm = LocalFarm(
        FarmPlan(
            directory=directory,
            workflow=workflow,
            www_port=free_port(),
            pb_port=free_port(),
            poll_s=3600.0,
            reconcile_s=3600.0,
        )
    )
    farm.prepare()
    return farm


def _fill(directory: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{directory}/master/state.sqlite", poolclass=sa.NullPool)
    with engine.begin() as connection:
        live(connection, "replay", WORKLOADS, REVISIONS, ITERATIONS)


def _open_in_turn(page: Page, url: str) -> dict[str, list[float]]:
    """Seconds until all is drawn, each round both; the first round fills the browser's cache."""
    times: dict[str, list[float]] = {name: [] for name in PAGES}
    for _ in range(ROUNDS + 1):
        for name, (path, drawn) in PAGES.items():
            times[name].append(_opened(page, f"{url}#/{path}", drawn))
    return {name: of[1:] for name, of in times.items()}


def _open_cold(new_tab: Callable[[], Page], farm: LocalFarm) -> dict[str, list[float]]:
    """The same, each time at a master that knows nothing yet and without the browser's cache."""
    times: dict[str, list[float]] = {name: [] for name in PAGES}
    for _ in range(COLD_ROUNDS):
        for name, (path, drawn) in PAGES.items():
            farm.master.stop()
            farm.start_master()
            page = new_tab()
            page.call("Network.enable")
            page.call("Network.setCacheDisabled", cacheDisabled=True)
            times[name].append(_opened(page, f"{farm.plan.url}#/{path}", drawn))
    return times


def _opened(page: Page, url: str, drawn: str) -> float:
    """Seconds until all is drawn."""
    page.open("about:blank")
    page.wait("location.href === 'about:blank'")
    started = time.monotonic()
    page.open(url)
    page.wait(drawn)
    return time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
