"""Makes a Buildbot configuration of a workflow."""

from buildbot_bench.plugin.configurator.configuration import BenchConfigurator

__all__ = ["BenchConfigurator"]
