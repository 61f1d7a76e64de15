"""The power switches of machines, one module for each way to switch."""

from buildbot_bench.lab.power.command import CommandPower
from buildbot_bench.lab.power.ipmi import IpmiPower

Power = CommandPower | IpmiPower

__all__ = ["CommandPower", "IpmiPower", "Power"]
