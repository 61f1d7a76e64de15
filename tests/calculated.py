"""Functions that tests have calculated in another process."""

import os
import signal
import stat
import sys
import time
from pathlib import Path

from buildbot_bench.core.errors import UsageError


def algebra(size: int, seed: int) -> int:
    """A while of what statistics ask of BLAS and LAPACK, and the process that did it."""
    import numpy as np

    end = time.monotonic() + 0.25
    matrix = np.random.default_rng(seed).standard_normal((size, size))
    while time.monotonic() < end:
        spread = matrix @ matrix.T + size * np.eye(size)
        np.linalg.eigvalsh(spread)
        np.linalg.cholesky(spread)
    return os.getpid()


def pools() -> list[int]:
    """How many threads each numeric library of a process has."""
    import scipy.linalg  # noqa: F401  it has a library of its own
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info()]


def surroundings(_asked: int = 1) -> dict[str, object]:
    """What a process that calculates has from its master, and what it did not load."""
    fds = [int(file.name) for file in Path("/dev/fd").iterdir()]
    return {
        "pid": os.getpid(),
        "threads": pools(),
        "sockets": [fd for fd in fds if _is_socket(fd)],
        "loaded": sorted({"buildbot", "twisted", "matplotlib"} & sys.modules.keys()),
    }


def _is_socket(fd: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:  # what listed them
        return False


def note(path: str, word: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{word}\n")


def noted(path: str) -> list[str]:
    return Path(path).read_text().split()


def hang(begun: str) -> None:
    Path(begun).write_text(str(os.getpid()))
    time.sleep(600)


def die_once(mark: str) -> str:
    """Dies as one does that the system has no memory for; the second time it lives."""
    if not (path := Path(mark)).exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "answered"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(name: str) -> None:
    sys.stdout.write("on standard output\n")
    raise UsageError(f"there is no {name}", hint="take another")


class OddError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail_oddly() -> None:
    raise OddError(1, 2)
