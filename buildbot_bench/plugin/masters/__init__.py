"""What several masters of one farm share: who runs the broker, who is gone, who is heard."""

from buildbot_bench.plugin.masters.gone import put_back_own
from buildbot_bench.plugin.masters.membership import Membership, membership_of

__all__ = ["Membership", "membership_of", "put_back_own"]
