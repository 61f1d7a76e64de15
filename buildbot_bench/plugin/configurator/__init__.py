"""The Buildbot configuration that follows from a workflow."""

from buildbot_bench.plugin.configurator.configuration import BenchConfigurator

__all__ = ["BenchConfigurator"]
