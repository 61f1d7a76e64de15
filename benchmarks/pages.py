"""The time to open the History of a long life, against Buildbot's own builders page.

`python -m benchmarks pages` fills a real farm with 10 000 revisions x 3 workloads x 5 iterations
and their builds, and opens both pages in turn in a real headless Chromium:

* `warm`: a second look. The browser has the files, the master the series.
* `cold`: a first look. The browser has nothing; the master runs and has read the series by itself,
  as its log says. Nobody opened the page before.
* `started`: the master was started for this look and has answered a first connection. It has read
  nothing yet, or is about to; the browser has nothing either.
"""

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
from buildbot_bench.demo.cli import make_replay_history
from buildbot_bench.demo.farm import FarmPlan, LocalFarm
from buildbot_bench.demo.processes import wait_until
from tests.chromium import CHROMIUM, Page, chromium
from tests.ports import free_port
from tests.readme import CHECKOUT

REVISIONS = 10_000
WORKLOADS = ("forwarding", "ipfw-statefull", "pf-statefull")
ITERATIONS = 5
ROUNDS = 11
STARTED_ROUNDS = 5
PAGES = {
    "builders": ("builders", "document.querySelector('td a[href*=\"/builds/\"]')"),
    "history": (
        "bench/history",
        f"document.querySelectorAll('.series .canvas[data-drawn]').length === {len(WORKLOADS)}",
    ),
}
_READ_AHEAD = f"bench: History is read ahead: {len(WORKLOADS)} series"
_OUT = Path(__file__).parent / "out"

Times = dict[str, list[float]]


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
            farm.master.stop()
            _start_and_read_ahead(farm)
            times = {
                "cold": _open_cold(new_tab, farm.plan.url),
                "warm": _open_warm(new_tab(), farm.plan.url),
                "started": _open_started(new_tab, farm),
            }
    finally:
        farm.stop()
        shutil.rmtree(directory, ignore_errors=True)
    result = {f"{how}_{name}": of for how in times for name, of in _summary(times[how]).items()}
    _OUT.mkdir(exist_ok=True)
    (_OUT / "pages.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, value in result.items():
        print(f"{name:29} {value}")
    return 0


def _summary(times: Times) -> dict[str, float]:
    """Medians; of the ratio that of the rounds, whose two pages met the same machine."""
    ratios = [
        ours / theirs for ours, theirs in zip(times["history"], times["builders"], strict=True)
    ]
    return {f"{name}_s": round(median(of), 3) for name, of in times.items()} | {
        "history_over_builders": round(median(ratios), 2)
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


def _start_and_read_ahead(farm: LocalFarm) -> None:
    log = farm.plan.directory / "master.log"
    before = log.read_text().count(_READ_AHEAD)
    farm.start_master()
    wait_until(
        lambda: log.read_text().count(_READ_AHEAD) > before,
        what="History is read ahead",
        timeout_s=120.0,
        child=farm.master,
    )


def _in_turn(rounds: int, opened: Callable[[str, str], float]) -> Times:
    """Seconds until all is drawn, each round both; every other round the other one first."""
    times: Times = {name: [] for name in PAGES}
    for number in range(rounds):
        for name in list(PAGES)[:: 1 if number % 2 else -1]:
            times[name].append(opened(*PAGES[name]))
    return times


def _open_warm(page: Page, url: str) -> Times:
    """The first round fills the browser's cache and does not count."""
    times = _in_turn(ROUNDS + 1, lambda path, drawn: _opened(page, f"{url}#/{path}", drawn))
    return {name: of[1:] for name, of in times.items()}


def _open_cold(new_tab: Callable[[], Page], url: str) -> Times:
    return _in_turn(ROUNDS, lambda path, drawn: _opened_bare(new_tab, f"{url}#/{path}", drawn))


def _open_started(new_tab: Callable[[], Page], farm: LocalFarm) -> Times:
    def opened(path: str, drawn: str) -> float:
        farm.master.stop()
        farm.start_master()
        return _opened_bare(new_tab, f"{farm.plan.url}#/{path}", drawn)

    return _in_turn(STARTED_ROUNDS, opened)


def _opened_bare(new_tab: Callable[[], Page], url: str, drawn: str) -> float:
    """As `_opened`, in a tab that takes nothing from the browser's cache and is closed then."""
    page = new_tab()
    page.call("Network.enable")
    page.call("Network.setCacheDisabled", cacheDisabled=True)
    seconds = _opened(page, url, drawn)
    page.call("Page.close")
    return seconds


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
