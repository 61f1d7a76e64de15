"""A farm that `bench-farm init` made, started by the commands of its units."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from buildbot_bench.demo.watching import Child
from tests.asking import ASKED, pause
from tests.running import ran

DEADLINE_S = 240.0
MOST_RESTARTS = 10  # of a worker, which ends when no master answers yet
BIN = Path(sys.executable).parent
_URL = re.compile(r"^BENCH_URL='(.+)'$", re.MULTILINE)
_EXEC = re.compile(r"^ExecStart=(.+)$", re.MULTILINE)


@dataclass(kw_only=True)
class MadeFarm:
    """A farm's directory, what init said of it, and its processes; `environ` is added to theirs."""

    directory: Path
    said: str
    environ: dict[str, str]
    children: dict[str, Child] = field(default_factory=dict)
    restarts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def make(cls, directory: Path, *options: str, **environ: str) -> MadeFarm:
        """Type `bench-farm init`."""
        done = ran([BIN / "bench-farm", "init", str(directory), *options])
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return cls(directory=directory, said=done.stdout, environ=environ)

    @property
    def urls(self) -> list[str]:
        """Where its masters' pages are."""
        places = sorted(self.directory.glob("*/environment"))
        return [url for place in places for url in _URL.findall(place.read_text())]

    def type(self, word: str) -> str:
        """Run the one command among the next steps in which a word stands; what it printed."""
        (command,) = [
            line.strip()
            for line in self.said.splitlines()
            if line.startswith("       ") and word in line
        ]
        done = ran(["sh", "-c", command], env={**os.environ, **self.environ}, timeout=DEADLINE_S)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, part: str) -> None:
        """Start a part by the command of its unit."""
        (unit,) = (self.directory / "units").glob(f"*-{part}.service")
        (command,) = _EXEC.findall(unit.read_text())
        self.children[part] = Child(
            name=part,
            command=command.split(),
            cwd=Path("/"),
            env=self.environ,
            log=self.directory / f"{part}.log",
        )
        self.children[part].start()

    def end(self) -> None:
        for child in reversed(self.children.values()):
            child.kill()

    def get(self, url: str, path: str) -> Any:
        """What the REST interface of a master shows at bench/<path>."""
        answer = httpx.get(f"{url}api/v2/bench/{path}", **ASKED)
        return answer.raise_for_status().json()

    def wait(self, condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
        """The condition's first true value; fails with the ends of the logs if none comes."""
        deadline = time.monotonic() + deadline_s
        while True:
            began_s = time.monotonic()
            try:
                if value := condition():
                    return value
            except httpx.HTTPError:
                pass  # a master that starts has no pages yet
            self._restart()
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.tails()}"
            pause(began_s)

    def _restart(self) -> None:
        """What has ended is started again, as units say; one that ends time and again fails."""
        for name, child in self.children.items():
            if not child.running:
                self.restarts[name] += 1
                assert self.restarts[name] <= MOST_RESTARTS, f"{name} ends\n{self.tails()}"
                child.start()

    def tails(self) -> str:
        logs = (*self.directory.glob("*.log"), *self.directory.glob("*/twistd.log"))
        return "\n".join(
            f"--- {log}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            for log in sorted(logs)
        )
