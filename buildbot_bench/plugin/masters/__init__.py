"""The division of work among masters: leases, dead masters, stalled work, the WAMP router."""

from buildbot_bench.plugin.masters.gone import StandingWork, put_back_own
from buildbot_bench.plugin.masters.membership import Membership, membership_of

__all__ = ["Membership", "StandingWork", "membership_of", "put_back_own"]
