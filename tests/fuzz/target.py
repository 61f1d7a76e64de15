"""A target of `make fuzz`: a parser, and the way to pass it an input."""

import contextlib
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import BenchError

KEPT = Path(__file__).parents[1] / "data" / "fuzz"
# Chosen: a hundred times what the slowest parser takes for an input of MOST_BYTES.
MOST_S = 3.0  # processor seconds
MOST_BYTES = 1 << 16
NAME_DIGITS = 12  # of an input's digest: a corpus has some hundred


@dataclass(frozen=True, kw_only=True, slots=True)
class FuzzTarget:
    """`parse` takes an input; `seeds` are well-formed ones, `words` what they consist of."""

    name: str
    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()

    @property
    def kept(self) -> Path:
        """Where the inputs are kept that once made this parser fail."""
        return KEPT / self.name

    def corpus(self) -> tuple[bytes, ...]:
        """The seeds, and every input that is kept."""
        return self.seeds + tuple(path.read_bytes() for path in sorted(self.kept.glob("*")))

    def keep(self, data: bytes) -> Path:
        """Write an input to where the tests find it again."""
        self.kept.mkdir(parents=True, exist_ok=True)
        path = self.kept / hashlib.sha256(data).hexdigest()[:NAME_DIGITS]
        path.write_bytes(data)
        return path


class TooSlow(Exception):  # noqa: N818 - it is no error of the parser's own
    """A parser took more processor time for an input than MOST_S."""


def put(target: FuzzTarget, data: bytes) -> None:
    """Put one input to a parser, which may refuse it by an error of `core.errors`.

    Raises:
        TooSlow: When it took too long.
    """
    began_s = time.process_time()
    with contextlib.suppress(BenchError):
        target.parse(data)
    took_s = time.process_time() - began_s
    if took_s > MOST_S:
        raise TooSlow(f"{took_s:.1f} s for {len(data)} bytes")
