"""A testbed's and workload's points and noise, read again only when there is news."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from twisted.internet.defer import Deferred, DeferredLock
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
    """The points of the unit that was measured last, by position, and what is known of the noise.

    `newest` is the iteration that was the farm's newest when this was read.
    """

    newest: int
    points: tuple[PointRow, ...]
    noise: Noise

    @property
    def unit(self) -> str:
        """The unit of all points."""
        return self.points[0].unit if self.points else PPS.unit


class SeriesCache:
    """Reads series, and keeps them until an iteration is recorded.

    Ten thousand revisions take the database a quarter of a second, and many look while the lab
    measures once in a minute.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Series] = {}
        # Threads that read thousands of rows at once take the interpreter from each other.
        self._one_at_a_time = DeferredLock()

    async def read(self, farm: Farm, testbed: str, workload: str) -> Series:
        """The series as it is now; one without points when there is none of that name."""
        return await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(self._read(farm, testbed, workload))
        )

    async def _read(self, farm: Farm, testbed: str, workload: str) -> Series:
        newest = await farm.store.newest_iteration()
        kept = self._kept.get((testbed, workload))
        if kept is not None and kept.newest == newest:
            return kept
        rows = await farm.store.points(testbed, workload, farm.branch)
        points = await deferToThread(_in_newest_unit, rows)
        noise = await _noise(farm, testbed, workload, points)
        series = Series(newest=newest, points=points, noise=noise)
        if points:  # nobody fills the memory by asking for what there is not
            self._kept[testbed, workload] = series
        return series


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
