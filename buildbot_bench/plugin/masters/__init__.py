"""Who of several masters runs the broker, who is gone, who is heard; what no master works on."""

from buildbot_bench.plugin.masters.gone import put_back_own
from buildbot_bench.plugin.masters.membership import Membership, membership_of
from buildbot_bench.plugin.masters.standing import StandingWork

__all__ = ["Membership", "StandingWork", "membership_of", "put_back_own"]
