"""The broker: the scheduler through which every build and boot is requested."""

from buildbot_bench.plugin.broker.scheduler import BenchBroker

__all__ = ["BenchBroker"]
