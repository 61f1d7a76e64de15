"""How long pages and the broker of a farm pause while it searches, forecasts and takes in commits.

`python -m benchmarks.pauses [SECONDS]` runs `bench-farm run` in the environment that it has. It
pushes 2,000 commits in batches, starts three searches, and asks for the cost of a search of the
whole history twenty times, one after the other. Meanwhile it opens a page, and one that needs no
database, four times a second. It ends when all is done, or after SECONDS (1,800).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import httpx

from benchmarks.progress import keep
from tests.ports import free_port

COMMITS, BATCH, BATCH_S = 2000, 100, 5.0
DRY_RUNS = 20
RANGES = (("r311848", "r313448"), ("r311848", "r312600"), ("r312600", "r313448"))
LOOK_S = 0.25
GOAL_S = 2.0
EDGES_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, float("inf"))
PAGES = {"page": "api/v2/bench/searches", "reactor": "favicon.ico"}
_CYCLE = re.compile(r"^bench_broker_cycle_seconds (.*)$", re.MULTILINE)
_BIN = Path(sys.executable).parent


class Pauses:
    """Histograms of what was waited for, by kind."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.waits: dict[str, Counter[float]] = {}
        self.longest: defaultdict[str, float] = defaultdict(float)
        self.ended = threading.Event()

    def note(self, kind: str, seconds: float) -> None:
        """Count a wait."""
        edge = next(edge for edge in EDGES_S if seconds <= edge)
        self.waits.setdefault(kind, Counter())[edge] += 1
        self.longest[kind] = max(self.longest[kind], seconds)

    def watch(self, kind: str, path: str) -> None:
        """Open a page again and again."""
        with httpx.Client(timeout=600, trust_env=False) as client:
            while not self.ended.wait(LOOK_S):
                began = time.monotonic()
                client.get(self._url + path)
                self.note(kind, time.monotonic() - began)

    def watch_broker(self) -> None:
        """Read how long the broker's last cycle took, and count it once; short ones are missed."""
        last = ""
        while not self.ended.wait(2.0):
            told = httpx.get(f"{self._url}plugins/bench/metrics", timeout=600, trust_env=False)
            for seconds in _CYCLE.findall(told.text):
                if seconds != last:
                    self.note("cycle", float(seconds))
                last = seconds

    def table(self) -> str:
        """The histograms, a column each."""
        lines = [f"{'s':>10}" + "".join(f"{kind:>10}" for kind in self.waits)]
        for edge in EDGES_S:
            numbers = "".join(f"{counts[edge]:>10}" for counts in self.waits.values())
            lines.append(f"{f'<= {edge:g}':>10}{numbers}")
        longest = "".join(f"{self.longest[kind]:>10.2f}" for kind in self.waits)
        return "\n".join([*lines, f"{'longest':>10}{longest}"])


def main(argv: Sequence[str] | None = None) -> int:
    """Print the histograms; 1 if a pause was longer than the goal."""
    parser = argparse.ArgumentParser(prog="benchmarks pauses", description=__doc__)
    parser.add_argument(
        "limit", nargs="?", type=float, default=600.0, help="seconds after which no work is begun"
    )
    limit_s: float = parser.parse_args(argv).limit
    with tempfile.TemporaryDirectory(prefix="bench-pauses-") as home:
        return _run(Path(home), limit_s)


def _run(home: Path, limit_s: float) -> int:
    port = free_port()
    url = f"http://localhost:{port}/"
    os.environ["XDG_CONFIG_HOME"] = str(home / "config")  # of the farm's login
    command = [f"{_BIN}/bench-farm", "run", f"--dir={home}/farm", f"--port={port}"]
    with (home / "said").open("w+b") as said:
        farm = subprocess.Popen(  # noqa: S603 - commands of ours
            [*command, f"--pb-port={free_port()}"], cwd=home, stdout=said
        )
        try:
            while b"The farm runs" not in (home / "said").read_bytes():
                if farm.poll() is not None:
                    raise SystemExit("bench-farm run ended")
                time.sleep(1)
            return _observe(home, url, limit_s)
        finally:
            farm.terminate()
            farm.wait()


class Work:
    """What the farm is asked for, each until a time is over; `done` counts it."""

    def __init__(self, home: Path, url: str, limit_s: float) -> None:
        self._home = home
        self._url = url
        self._deadline_s = time.monotonic() + limit_s
        self.done: Counter[str] = Counter()

    def push(self) -> None:
        """Push the commits."""
        for first in range(0, COMMITS, BATCH):
            if not self._goes_on("batches of commits"):
                return
            _commit(self._home / "farm" / "src", first)
            time.sleep(BATCH_S)

    def ask(self) -> None:
        """Start the searches, then ask what one costs."""
        dry_runs = [(*RANGES[0], "--dry-run")] * DRY_RUNS
        for arguments in (*((*ends, "--no-wait") for ends in RANGES), *dry_runs):
            if not self._goes_on("dry runs" if "--dry-run" in arguments else "searches"):
                return
            _bisect(self._home, self._url, *arguments)

    def _goes_on(self, what: str) -> bool:
        in_time = time.monotonic() < self._deadline_s
        self.done[what] += in_time
        return in_time


def _observe(home: Path, url: str, limit_s: float) -> int:
    pauses, work = Pauses(url), Work(home, url, limit_s)
    watches = [threading.Thread(target=pauses.watch, args=one) for one in PAGES.items()]
    watches.append(threading.Thread(target=pauses.watch_broker))
    works = [threading.Thread(target=work.push), threading.Thread(target=work.ask)]
    for thread in (*watches, *works):
        thread.start()
    for thread in works:
        thread.join()
    pauses.ended.set()
    for thread in watches:
        thread.join()
    hung = len(list((home / "farm" / "master" / "hangs").glob("*.txt")))
    print(", ".join([*(f"{number} {what}" for what, number in work.done.items()), f"{hung} hangs"]))
    print(pauses.table(), flush=True)
    opened = sum(pauses.waits.get("page", Counter()).values())
    keep("pauses", {"opened": opened, "longest_s": dict(pauses.longest), "hangs": hung})
    return int(max(pauses.longest["page"], pauses.longest["reactor"]) > GOAL_S or hung > 0)


def _bisect(home: Path, url: str, *arguments: str) -> None:
    done = subprocess.run(  # noqa: S603 - commands of ours
        [_BIN / "bench-bisect", *arguments, "--farm", url],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"bench-bisect {' '.join(arguments)}: {done.stderr}", file=sys.stderr)


def _commit(repository: Path, first: int) -> None:
    """Add a batch of commits to the trunk."""
    stream = []
    for number in range(first, first + BATCH):
        text = f"Change {number}\n"
        since = "from refs/heads/main^0\n" if number == first else ""
        stream.append(
            "commit refs/heads/main\n"
            f"committer Somebody <somebody@example.org> {1_600_000_000 + number} +0000\n"
            f"data {len(text)}\n{text}{since}M 644 inline change\ndata {len(text)}\n{text}"
        )
    subprocess.run(  # noqa: S603 - a list of our own making
        ["git", "-C", str(repository), "fast-import", "--quiet"],  # noqa: S607 - git from PATH
        input="".join(stream).encode(),
        check=True,
    )


if __name__ == "__main__":
    sys.exit(main())
