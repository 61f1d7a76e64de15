"""The scheduler through which every measurement is asked for, for any asker.

Each module is one thing that the broker does in every cycle; none of them keeps state of its own.
"""

from buildbot_bench.plugin.broker.scheduler import BenchBroker

__all__ = ["BenchBroker"]
