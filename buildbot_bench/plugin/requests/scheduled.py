"""Comparisons of factors that bench.yml asks for at set times."""

from hashlib import sha256

from twisted.logger import Logger

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import branch_in, repository_of
from buildbot_bench.core.triggers import parse_cron
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.workflow.repositories import Schedule

_LOG = Logger()

REQUESTER = "bench.yml"


class ScheduledComparisons:
    """Starts the comparison of each `factors` of `on.schedule`, once for each time.

    Each master looks; the comparison's key keeps it from being started twice. As with fresh boots,
    a time that passed while no master ran is made up for once, and what is due while the last
    time's comparison goes on waits for its end.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._settled: set[str] = set()

    async def advance(self) -> None:
        """Start what is due by now."""
        for schedule in self._farm.workflow.on.schedule:
            if schedule.factors:
                await self._advance(schedule)

    async def _advance(self, schedule: Schedule) -> None:
        branch = schedule.branch or self._farm.workflow.branches[0]
        due_s = parse_cron(schedule.cron).last_due(self._farm.now())
        written = "\0".join([branch, schedule.cron, *schedule.variants()])
        which = f"schedule:{sha256(written.encode()).hexdigest()[:32]}:"
        key = f"{which}{due_s:.0f}"
        if key in self._settled or not await self._is_due(branch, due_s):
            return
        known = await self._farm.store.scheduled_ab_tests(REQUESTER, which)
        if any(one.key == key for one in known):
            self._settled.add(key)
        elif all(one.ended for one in known):
            await self._start(schedule, branch, key)

    async def _is_due(self, branch: str, due_s: float) -> bool:
        """Whether the farm knew the branch at that time."""
        first_seen_s = await self._farm.store.first_arrival(branch)
        return first_seen_s is not None and due_s >= first_seen_s

    async def _start(self, schedule: Schedule, branch: str, key: str) -> None:
        """Compare the combinations of one commit, also if another is pushed meanwhile."""
        tip = (await self._farm.store.newest_commits((branch,)))[branch]
        cells = schedule.variants(branch_in(repository_of(branch), tip.sha))
        try:
            begun = await ComparisonRequests(self._farm).start(
                ComparisonQuestion(variants=tuple(cells), labels=cells), REQUESTER, key=key
            )
        except UsageError as error:
            self._settled.add(key)
            _LOG.warn("bench: on.schedule: no comparison of factors: {reason}", reason=str(error))
        else:
            number = begun["comparisonid"]
            _LOG.info("bench: on.schedule: comparison {number} of factors begins", number=number)
