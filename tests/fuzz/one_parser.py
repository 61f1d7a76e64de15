"""The trial of one parser of `make fuzz`, in a process that an input may kill.

`python -m tests.fuzz.one_parser NAME SECONDS ENGINE`; __main__ starts it.
"""

import importlib
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.inputs import inputs
from tests.fuzz.target import MOST_BYTES, FuzzTarget, put

DRAWN, GUIDED = "hypothesis", "atheris"
_BATCH = 200  # inputs between two looks at the clock
_MEMORY = 2 << 30  # bytes


def last_input(target: FuzzTarget) -> Path:
    """Where the newest input is written before it is tried: a process that dies tells none."""
    return Path(tempfile.gettempdir()) / f"buildbot-bench-fuzz-{target.name}"


def _try_parser(name: str, seconds: float, engine: str) -> int:
    target = _target(name, engine)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    last = last_input(target).open("wb", buffering=0)

    def try_one(data: bytes) -> None:
        last.seek(0)
        last.truncate()
        last.write(data)
        put(target, data)

    return (_guided if engine == GUIDED else _drawn)(target, seconds, try_one)


def _target(name: str, engine: str) -> FuzzTarget:
    """The parser of that name; atheris has to see its code as it is read."""
    if engine == GUIDED:
        import atheris

        with atheris.instrument_imports(include=["buildbot_bench"]):
            found = importlib.import_module("tests.fuzz.targets")
    else:
        found = importlib.import_module("tests.fuzz.targets")
    by_name: dict[str, FuzzTarget] = {target.name: target for target in found.TARGETS}
    return by_name[name]


def _drawn(target: FuzzTarget, seconds: float, try_one: Callable[[bytes], None]) -> int:
    """By Hypothesis, which makes a failing input small."""
    smallest = b""
    tried = 0

    @settings(
        max_examples=_BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(inputs(target))
    def batch(data: bytes) -> None:
        nonlocal smallest, tried
        smallest = data  # the last one that is tried is the smallest that fails
        tried += 1
        try_one(data)

    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        try:
            batch()
        except Exception:  # noqa: BLE001 - whatever it is, it is what was looked for
            traceback.print_exc()
            print(f"failed after {tried} inputs; kept in {target.keep(smallest)}")
            return 1
    print(f"{tried} inputs")
    return 0


def _guided(target: FuzzTarget, seconds: float, try_one: Callable[[bytes], None]) -> int:
    """By atheris (libFuzzer), which ends the process."""
    import atheris

    def try_and_keep(data: bytes) -> None:
        try:
            try_one(data)
        except Exception:
            print(f"failed; kept in {target.keep(data)}")
            raise

    with tempfile.TemporaryDirectory(prefix="fuzz") as directory:
        for number, seed in enumerate(target.corpus()):
            (Path(directory) / str(number)).write_bytes(seed)
        budget = [f"-max_total_time={seconds:.0f}", f"-max_len={MOST_BYTES}", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *budget, "-print_final_stats=1", directory], try_and_keep)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(_try_parser(sys.argv[1], float(sys.argv[2]), sys.argv[3]))
