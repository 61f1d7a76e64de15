"""Rows of incidents: their ends, which the search's row keeps, and the series that joined."""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.core.incident import AlarmedSeries, Standing
from buildbot_bench.plugin.db.columns import Count, JudgementId, SearchId, Sha


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """How an incident ended: in (old, new], seen at `at_s`.

    `difference` is by what fraction the level differs from the one before the incident, None where
    there is no level.
    """

    old_sha: str
    old_label: str
    old_position: int
    new_sha: str
    new_label: str
    new_position: int
    at_s: float
    difference: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesRange:
    """The range (old, new] of a series."""

    testbed: str
    workload: str
    unit: str
    old_sha: Sha
    old_position: int
    new_sha: Sha
    new_position: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RaisedAlarm(SeriesRange):
    """What the judge saw of a series over (old, new]: `claimed` is the effect.

    `old` is the anchor, which lies before the change. `judgement_id` is the verdict's.
    `higher_is_better` is None where the unit alone says it.
    """

    claimed: float
    judgement_id: JudgementId | None = None
    higher_is_better: bool | None = None

    def on(self, branch: str) -> AlarmedSeries:
        """The alarm in the core's words."""
        return AlarmedSeries(
            testbed=self.testbed,
            workload=self.workload,
            unit=self.unit,
            configuration=branch,
            old=self.old_position,
            new=self.new_position,
            effect=self.claimed,
            higher_is_better=self.higher_is_better,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NewIncidentSeries(RaisedAlarm):
    """A series whose alarm joins the incident of a search."""

    search_id: SearchId


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentSeriesRow(NewIncidentSeries):
    """A series of an incident, as stored: whether the search's step is on it, too.

    `effect`, `low`, `high` are fractions of its old level; `own_search_id` is the search that it
    got for itself, where the step does not explain its alarm.
    """

    id: int
    standing: Standing
    effect: float | None
    low: float | None
    high: float | None
    reason: str
    own_search_id: SearchId | None
    created_at: float
    ended_at: float | None
    version: Count
