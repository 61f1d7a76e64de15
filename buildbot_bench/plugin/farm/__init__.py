"""The farm that all rooms of the plugin share, with its series and retry rules."""

from buildbot_bench.plugin.farm.farm import (
    SERVICE_NAME,
    Farm,
    bench_builder,
    farm_of,
    profile_builder,
)

__all__ = ["SERVICE_NAME", "Farm", "bench_builder", "farm_of", "profile_builder"]
