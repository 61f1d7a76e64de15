"""The farm's state in Prometheus' text format."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import all_series, watched_branches
from buildbot_bench.plugin.operations.hangs import hangs
from buildbot_bench.plugin.pages.histories import histories_of
from buildbot_bench.plugin.queries.judgements import track_record
from buildbot_bench.plugin.queries.overview import testbeds


@dataclass(frozen=True, kw_only=True, slots=True)
class Gauge:
    """One metric: its values by labels."""

    name: str
    help: str
    values: Mapping[tuple[tuple[str, str], ...], float]


async def metrics(farm: Farm) -> str:
    """All of them."""
    farm = farm.as_of_now()
    gauges = [*await _states(farm), *await _testbeds(farm), *await _series(farm)]
    return exposition([*gauges, await _judged(farm), _cycle(farm), *_hangs(farm)])


def exposition(gauges: Iterable[Gauge]) -> str:
    """Prometheus' text format, version 0.0.4."""
    registry = CollectorRegistry()
    registry.register(_Gauges(gauges))
    return generate_latest(registry).decode()


class _Gauges(Collector):
    """Gauges as the library collects them: those of one request, in no global registry."""

    def __init__(self, gauges: Iterable[Gauge]) -> None:
        self._gauges = tuple(gauges)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        for gauge in self._gauges:
            family = GaugeMetricFamily(gauge.name, gauge.help)
            for labels, value in gauge.values.items():
                family.add_sample(gauge.name, dict(labels), value)
            yield family


async def _states(farm: Farm) -> list[Gauge]:
    return [
        Gauge(
            name=f"bench_{table}",
            help=f"Number of {table} in each state.",
            values={(("state", state),): number for state, number in sorted(numbers.items())},
        )
        for table, numbers in (await farm.store.counts()).items()
    ]


def _cycle(farm: Farm) -> Gauge:
    return Gauge(
        name="bench_broker_cycle_seconds",
        help="Duration of the broker's last cycle; absent on a master that does not run it.",
        values={} if farm.cycle_time.seconds is None else {(): farm.cycle_time.seconds},
    )


def _hangs(farm: Farm) -> list[Gauge]:
    found = hangs(Path(farm.master.basedir))
    return [
        Gauge(
            name="bench_master_hangs",
            help="Times that this master hung or crashed, of those whose stacks are kept.",
            values={(): len(found)},
        ),
        Gauge(
            name="bench_master_last_hang_timestamp_seconds",
            help="When this master hung or crashed last; absent if it never did.",
            values={(): found[-1].at_s} if found else {},
        ),
    ]


async def _judged(farm: Farm) -> Gauge:
    record = await track_record(farm)
    return Gauge(
        name="bench_culprits_judged",
        help="Culprits that the farm named, by mark.",
        values={(("was", "real"),): record.right, (("was", "noise"),): record.wrong},
    )


async def _testbeds(farm: Farm) -> list[Gauge]:
    views = await testbeds(farm)
    gauges = {
        "bench_testbed_connected": (
            "Whether the testbed's worker is connected.",
            {view["testbed"]: float(view["worker"]["connected"]) for view in views},
        ),
        "bench_testbed_quarantined": (
            "Whether the testbed is in quarantine.",
            {view["testbed"]: float(view["quarantine"] is not None) for view in views},
        ),
        "bench_testbed_queue_iterations": (
            "Iterations that the testbed is asked for and has not done.",
            {
                view["testbed"]: sum(e["iterations"] - e["done"] for e in view["queue"])
                for view in views
            },
        ),
        "bench_testbed_recent_failed_ratio": (
            "Share of the newest iterations that failed.",
            {view["testbed"]: view["failed"] / view["recent"] for view in views if view["recent"]},
        ),
        "bench_testbed_last_iteration_timestamp_seconds": (
            "When the newest iteration ended.",
            {view["testbed"]: view["last_at"] for view in views if view["last_at"] is not None},
        ),
    }
    gauges |= _controls({view["testbed"]: view["control"] for view in views if view["control"]})
    return [
        Gauge(
            name=name,
            help=text,
            values={(("testbed", of_testbed),): v for of_testbed, v in of.items()},
        )
        for name, (text, of) in gauges.items()
    ]


def _controls(controls: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, float]]]:
    """What the control image of each testbed shows, if it has one."""

    def known(field: str) -> dict[str, float]:
        return {name: view[field] for name, view in controls.items() if view[field] is not None}

    return {
        "bench_control_deviation_ratio": (
            "Deviation of the newest round of the control image from its level.",
            known("deviation"),
        ),
        "bench_control_last_good_timestamp_seconds": (
            "When the newest good round of the control image ended.",
            known("last_good_at"),
        ),
    }


async def _series(farm: Farm) -> list[Gauge]:
    """The mean of each series' newest measured commit."""
    histories = histories_of(farm.master)
    newest: dict[tuple[tuple[str, str], ...], float] = {}
    branches = await watched_branches(farm)
    for branch, series in product(branches, all_series(farm.workflow.bench_jobs)):
        if not series.measures(branch):
            continue
        point = await histories.newest(farm, series.testbed, series.workload, branch)
        if point is not None:
            labels = (
                ("testbed", series.testbed),
                ("workload", series.workload),
                ("unit", point.unit),
                # A farm of one branch has the labels that it always had.
                *([("branch", branch)] if len(branches) > 1 else []),
            )
            newest[labels] = point.mean
    return [
        Gauge(
            name="bench_throughput",
            help="Mean of the newest measured commit's iterations, in its unit.",
            values=newest,
        )
    ]
