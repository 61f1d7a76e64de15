"""One small module per way to take the power from a machine and give it back."""

from buildbot_bench.lab.power.command import CommandPower
from buildbot_bench.lab.power.ipmi import IpmiPower

Power = CommandPower | IpmiPower

__all__ = ["CommandPower", "IpmiPower", "Power"]
