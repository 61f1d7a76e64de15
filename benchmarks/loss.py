"""`python -m benchmarks loss`: what a search of the rate without loss takes, and how far it is off.

A simulated DUT passes what its capacity is for, which changes a little from trial to trial; some
trials lose a packet for no reason of the DUT's. An ssh testbed's senders and receiver take a while
to start in each trial.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

from benchmarks.scale import seeds_of
from buildbot_bench.core.metric import NDR
from buildbot_bench.lab.loss_search import FoundRates, LossSettings, LossTrial, search_rates

SEARCHES, QUICK = 200, 40
MOST_OFF = 0.01  # what half of the searches, and in a calm world all, may be off
_LINE_PPS = 1_488_095.0  # 1 Gb/s of the smallest frames
_START_S = 7.0  # of the ends of a trial: two waits of 2 s for links, ssh, and the receiver's end


@dataclass(frozen=True, kw_only=True)
class World:
    """Deviation of the capacity between trials, and the share of trials that lose one packet."""

    noise: float = 0.0
    stray: float = 0.0


WORLDS = {
    "calm": World(),
    "capacity ± .2 %": World(noise=0.002),
    "one trial in ten loses one": World(stray=0.1),
    "both": World(noise=0.002, stray=0.1),
}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """Trials, seconds on a testbed, and by what fraction of the capacity the rate is off."""

    trials: int
    seconds: float
    off: float


def searched(world: World, seed: int) -> Searched:
    """One search, on a DUT of a capacity that the seed draws."""
    rng = Random(seed)
    capacity = 10 ** rng.uniform(4.5, 6.1)

    def offer(rate_pps: float, duration_s: float) -> LossTrial:
        sent = round(rate_pps * duration_s)
        passed = min(sent, int(capacity * duration_s * (1 + rng.gauss(0, world.noise))))
        passed -= rng.random() < world.stray
        return LossTrial(
            rate_pps=rate_pps, duration_s=duration_s, wanted=sent, sent=sent, received=passed
        )

    found: FoundRates = search_rates(offer, LossSettings(), most_pps=_LINE_PPS)
    rate = found.rates[NDR.unit].value_pps or 0.0
    return Searched(
        trials=len(found.trials),
        seconds=sum(_START_S + one.duration_s for one in found.trials),
        off=abs(rate / capacity - 1),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print each world's trials, seconds and errors; 1 where a rate is too far off."""
    seeds = seeds_of(argv, "loss", __doc__, usual=SEARCHES, quick=QUICK)
    print(f"{'world':28s} trials  most  minutes  off by  most")
    missed = False
    for name, world in WORLDS.items():
        found = [searched(world, seed) for seed in seeds]
        off, worst = median(one.off for one in found), max(one.off for one in found)
        missed |= off > MOST_OFF or (name == "calm" and worst > MOST_OFF)
        print(
            f"{name:28s} {median(one.trials for one in found):6.0f}"
            f"  {max(one.trials for one in found):4d}"
            f"  {median(one.seconds for one in found) / 60:7.1f}  {off:6.2%}  {worst:5.2%}",
            flush=True,
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
