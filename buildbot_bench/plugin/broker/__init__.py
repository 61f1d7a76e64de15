"""The broker: the scheduler through which every build and boot is requested.

Each module is one step of the broker's cycle and keeps no state of its own.
"""

from buildbot_bench.plugin.broker.scheduler import BenchBroker

__all__ = ["BenchBroker"]
