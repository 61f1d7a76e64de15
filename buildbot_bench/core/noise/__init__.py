"""How much a testbed and workload vary by themselves, learnt from history."""

from buildbot_bench.core.noise.images import spread_of_images
from buildbot_bench.core.noise.learn import auto_iterations, learn
from buildbot_bench.core.noise.model import ARCHIVE, COUNTED, Bimodal, Noise, Prior
from buildbot_bench.core.noise.spread import robust_level, spread_of_boots

__all__ = [
    "ARCHIVE",
    "COUNTED",
    "Bimodal",
    "Noise",
    "Prior",
    "auto_iterations",
    "learn",
    "robust_level",
    "spread_of_boots",
    "spread_of_images",
]
