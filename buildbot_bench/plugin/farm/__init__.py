"""What all rooms of the plugin share: the farm, its series, and how failures are tried again."""

from buildbot_bench.plugin.farm.farm import (
    SERVICE_NAME,
    Farm,
    bench_builder,
    farm_of,
    profile_builder,
)

__all__ = ["SERVICE_NAME", "Farm", "bench_builder", "farm_of", "profile_builder"]
