"""The places where known benchmark tools print their value, with unit and direction."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from buildbot_bench.archives.suites import NANOSECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """One tool: `json` is a dotted path into what it prints, or `regex` a pattern with a group.

    `unit` is empty where the tool prints values of several units.

    `scale_at` is the path of a word that `scales` turns into what the value is multiplied by.
    `needs` are the options by which the tool prints it on stdout.
    """

    unit: str
    name: str = "time"
    higher_is_better: bool = False
    needs: str = ""
    json: str = ""
    regex: str = ""
    scale_at: str = ""
    scales: Mapping[str, float] = field(default_factory=dict)


PRESETS: Mapping[str, Preset] = {
    "hyperfine": Preset(
        unit="s",
        needs="--export-json /dev/stdout --style none",
        json="results[0].mean",
    ),
    # Or --benchmark_out
    "google-benchmark": Preset(
        unit="ns",
        needs="--benchmark_format=json",
        json="benchmarks[0].real_time",
        scale_at="benchmarks[0].time_unit",
        scales=NANOSECONDS,
    ),
    "pytest-benchmark": Preset(
        unit="s",
        needs="--benchmark-json=/dev/stdout",
        json="benchmarks[0].stats.median",
    ),
    "go-bench": Preset(
        unit="ns/op",
        needs="-bench '^BenchmarkName$' -run '^$'",
        regex=r"^Benchmark\S+\s+\d+\s+([\d.]+) ns/op",
    ),
    "jmh": Preset(
        name="score",
        unit="",
        higher_is_better=True,
        needs="-rf json -rff /dev/stdout",
        json="[0].primaryMetric.score",
    ),
    "criterion": Preset(
        unit="ns",
        needs="--message-format=json",
        json="typical.estimate",
    ),
    "iperf3": Preset(
        name="throughput",
        unit="bits/s",
        higher_is_better=True,
        needs="-J",
        json="end.sum_received.bits_per_second",
    ),
    "fio": Preset(
        name="rate of reading",
        unit="IOPS",
        higher_is_better=True,
        needs="--output-format=json",
        json="jobs[0].read.iops",
    ),
    "fio-write": Preset(
        name="rate of writing",
        unit="IOPS",
        higher_is_better=True,
        needs="--output-format=json",
        json="jobs[0].write.iops",
    ),
    "wrk": Preset(
        name="rate of requests",
        unit="requests/s",
        higher_is_better=True,
        regex=r"^Requests/sec:\s+([\d.]+)",
    ),
}
