"""The noise model of a testbed and workload, learnt from history."""

from buildbot_bench.core.model.image_luck import FarShare
from buildbot_bench.core.model.images import spread_of_images, with_marked_noise
from buildbot_bench.core.model.learn import auto_iterations, is_build_noise_learnt, learn
from buildbot_bench.core.model.noise import ARCHIVE, COUNTED, Bimodal, Noise, Prior
from buildbot_bench.core.model.spread import robust_level, spread_of_boots

__all__ = [
    "ARCHIVE",
    "COUNTED",
    "Bimodal",
    "FarShare",
    "Noise",
    "Prior",
    "auto_iterations",
    "is_build_noise_learnt",
    "learn",
    "robust_level",
    "spread_of_boots",
    "spread_of_images",
    "with_marked_noise",
]
