"""A testbed's and workload's points and noise, as the tables have them; it keeps nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from twisted.internet.threads import deferToThread

from buildbot_bench.core.noise import Noise, learn
from buildbot_bench.core.sample import PPS
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.evidence import comparable_samples
from buildbot_bench.plugin.farm import Farm

# So many revisions teach the noise well enough; all of a long history would cost seconds.
_NOISE_FROM = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """The points of the unit that was measured last, by position, and the noise as it is known."""

    points: tuple[PointRow, ...]
    noise: Noise

    @property
    def unit(self) -> str:
        """The unit of all points."""
        return self.points[0].unit if self.points else PPS.unit


async def read_series(farm: Farm, testbed: str, workload: str) -> Series:
    """The series as it is now; one without points when there is none of that name."""
    rows = await farm.store.points(testbed, workload, farm.branch)
    points = await deferToThread(_in_newest_unit, rows)
    return Series(points=points, noise=await _noise(farm, testbed, workload, points))


def _in_newest_unit(rows: Sequence[PointRow]) -> tuple[PointRow, ...]:
    last = max(rows, key=attrgetter("last_at_s"), default=None)
    return tuple([row for row in rows if last and row.unit == last.unit])


async def _noise(farm: Farm, testbed: str, workload: str, points: Sequence[PointRow]) -> Noise:
    recent = points[-_NOISE_FROM:]
    samples = await farm.store.samples(
        testbed=testbed,
        workload=workload,
        first_position=recent[0].position if recent else 0,
        last_position=recent[-1].position if recent else 0,
    )
    return await deferToThread(lambda: learn(comparable_samples(samples)))
