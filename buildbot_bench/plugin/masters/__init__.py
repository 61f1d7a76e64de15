"""The division of work among masters: leases, dead masters, stalled work, the WAMP router."""

from buildbot_bench.plugin.masters.gone import put_back_own
from buildbot_bench.plugin.masters.membership import Membership, membership_of
from buildbot_bench.plugin.masters.standing import StandingWork

__all__ = ["Membership", "StandingWork", "membership_of", "put_back_own"]
