"""The limits in bench.yml for people who may compare but not approve."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from buildbot_bench.workflow.fields import Model


class UntrustedLimits(Model):
    """What one person without the role `approve` may have on the farm at a time."""

    patch_mib: Annotated[float, Field(gt=0, le=1024)] = 16.0
    """How much their patches may have that the farm keeps, in MiB."""
    comparisons: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many of their comparisons may run or await approval."""
    boots_a_day: Annotated[int, Field(ge=1, le=100_000)] = 200
    """How many boots their comparisons get within 24 hours."""
    keep_days: Annotated[int, Field(ge=1)] = 14
    """Patches that nobody has approved by then are rejected and deleted."""
