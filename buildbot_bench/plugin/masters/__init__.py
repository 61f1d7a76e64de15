"""The division of work among several masters: leases, dead masters, the WAMP router."""

from buildbot_bench.plugin.masters.gone import put_back_own
from buildbot_bench.plugin.masters.membership import Membership, membership_of

__all__ = ["Membership", "membership_of", "put_back_own"]
