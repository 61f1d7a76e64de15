"""The weights in bench.yml by which claimants share a testbed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from buildbot_bench.core.sharing import Weights
from buildbot_bench.workflow.fields import Model

Share = Annotated[float, Field(gt=0, le=1000)]


class Sharing(Model):
    """What share of a testbed each has against the others that want it at the same time."""

    alarms: Share = Weights().alarms
    """All searches that alarms began, and boots that confirm them, together."""
    searches: Share = Weights().searches
    """The searches of each person."""
    commits: Share = Weights().commits
    """Measuring each commit."""
    comparisons: Share = Weights().comparisons
    """The comparisons of each person."""

    @property
    def weights(self) -> Weights:
        """The same in the core's words."""
        return Weights(
            alarms=self.alarms,
            searches=self.searches,
            commits=self.commits,
            comparisons=self.comparisons,
        )
