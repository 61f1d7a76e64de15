"""The options that benchmarks of random worlds share: how many replicates, and which seeds."""

import argparse
from collections.abc import Sequence


def seeds_of(
    argv: Sequence[str] | None,
    name: str,
    description: str | None,
    *,
    usual: int,
    quick: int,
    first: int = 0,
) -> range:
    """Return the seeds that a command line asks for, from `first`: one a replicate of each row."""
    parser = argparse.ArgumentParser(prog=f"benchmarks {name}", description=description)
    parser.add_argument("--quick", action="store_true", help=f"{quick} replicates of each row")
    parser.add_argument("--replicates", type=int, metavar="N", help=f"of each row ({usual})")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds: to develop with")
    options = parser.parse_args(argv)
    count = options.replicates or (quick if options.quick else usual)
    return range(first + options.seed, first + options.seed + count)
