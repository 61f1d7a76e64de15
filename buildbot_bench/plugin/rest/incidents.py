"""The REST resources of incidents, under /api/v2/bench/incidents."""

from __future__ import annotations

from typing import Any

from buildbot.data import base, types

from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries import incident_groups
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, newest
from buildbot_bench.plugin.rest.searches import mark_asked


class IncidentsEndpoint(BenchEndpoint):
    """The newest incidents, each with all its searches and series."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/incidents"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest first."""
        most = newest(resultSpec, incident_groups.LISTED)
        return await incident_groups.incidents(farm_of(self.master).as_of_now(), most)


class IncidentEndpoint(BenchEndpoint):
    """One incident, by the number of any of its searches."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/incidents/n:incidentid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The incident; None when that search found nothing."""
        return await incident_groups.incident(
            farm_of(self.master).as_of_now(), kwargs["incidentid"]
        )

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`mark` says what it was, of all its searches at once."""
        if action != "mark":
            return await super().act(action, args, kwargs)
        requests = MarkRequests(farm_of(self.master))
        return await requests.mark_incident(kwargs["incidentid"], **mark_asked(args))


class BenchIncident(base.ResourceType):
    """A culprit, on however many workloads and testbeds."""

    name = "bench_incident"
    plural = "incidents"
    endpoints = [IncidentsEndpoint, IncidentEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        incidentid = types.Integer()
        kind = types.String()
        branch = types.String()

    entityType = EntityType(name)
