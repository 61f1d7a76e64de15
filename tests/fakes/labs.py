"""Invented facts of a farm's lab: a testbed out of control, and a week."""

from dataclasses import replace

from buildbot_bench.core.report.compose import harmless
from buildbot_bench.core.report.farm_mails import (
    BrokenWorkloadReport,
    ControlRun,
    HangReport,
    QuarantineReport,
    SilenceReport,
    TestbedWeek,
    WeeklyReport,
)
from tests.fakes.reports import HOSTILE

DAY_S = 86400.0
NOW_S = 1_795_220_184.0


def run(days_ago: float, deviation: float | None, average: float, remark: str = "") -> ControlRun:
    level = 622_500.0 * (1 + (deviation or 0.0))
    values = (level * 0.999, level, level * 1.002) if deviation is not None else ()
    return ControlRun(
        at_s=NOW_S - days_ago * DAY_S,
        values=values,
        deviation=deviation,
        average=average,
        remark=remark,
    )


LEAPT = QuarantineReport(
    farm="netlab",
    testbed="apu2",
    workload="forwarding",
    label="r311848",
    unit="pps",
    shift=-0.0498,
    reason="the control image r311848 is off by -5.0 %",
    since_s=NOW_S - DAY_S,
    begun_at=NOW_S + 2,
    reference=622_512.4,
    limit=0.0139,
    average_limit=0.01,
    rounds=24,
    runs=(
        run(3, 0.0011, 0.0004),
        run(2, -0.0019, -0.0001),
        run(1, 0.0006, 0.0001),
        run(0, -0.0498, -0.0099, "out of control"),
    ),
    iterations=35,
    images=7,
    searches=("search 12: [bench] r311849 (a1b2c3d4e5): forwarding -25.6 % on apu2 [99 % sure]",),
    url="https://bench.example.org/#/bench/lab",
    operator="Lab Keeper <keeper@example.org>",
)


def leapt() -> QuarantineReport:
    """Five percent slower overnight, after a search had found something."""
    return harmless(LEAPT)


def silent() -> QuarantineReport:
    """The control image does not boot any more; nothing else was measured since."""
    failure = "the DUT does not answer after 3 boots and 2 power cycles"
    return harmless(
        replace(
            LEAPT,
            shift=None,
            reason=f"the control image r311848 gave no value: {failure}",
            runs=(*LEAPT.runs[:3], run(0, None, 0.0001, failure)),
            iterations=0,
            images=0,
            searches=(),
            operator="",
        )
    )


def hostile() -> QuarantineReport:
    """Every text is an attack."""
    return harmless(
        replace(
            LEAPT,
            farm=HOSTILE,
            label=HOSTILE,
            reason=HOSTILE,
            runs=(run(0, None, 0.0, HOSTILE),),
            searches=(HOSTILE,),
            url=HOSTILE,
            operator=HOSTILE,
        )
    )


def week() -> WeeklyReport:
    """One testbed works, one is held, one has no control image."""
    return harmless(
        WeeklyReport(
            farm="netlab",
            since_s=NOW_S - 7 * DAY_S,
            until_s=NOW_S,
            mails=3,
            testbeds=(
                TestbedWeek(
                    testbed="apu2",
                    iterations=310,
                    failed=2,
                    control="r311848",
                    rounds=7,
                    spread=0.0041,
                    last_good_s=NOW_S - 3600,
                ),
                TestbedWeek(
                    testbed="c2558",
                    iterations=121,
                    failed=9,
                    control="r311848",
                    last_good_s=NOW_S - 8 * DAY_S,
                    quarantines=1,
                    held=True,
                ),
                TestbedWeek(testbed="xeon", iterations=1, failed=0),
            ),
            url="https://bench.example.org/#/bench/lab",
        )
    )


def silence(**columns) -> SilenceReport:
    """A testbed that has not measured for 26 hours, while the lab's worker is away."""
    report = SilenceReport(
        farm="netlab",
        testbed="apu2",
        worker="lab-apu2",
        connected=False,
        now_s=NOW_S,
        last_boot_s=NOW_S - 26 * 3600,
        waiting=12,
        oldest_s=NOW_S - 25 * 3600,
        trouble="the lab host does not answer: connection to 192.0.2.7 port 22 timed out",
        url="https://bench.example.org/#/bench/lab",
    )
    return harmless(replace(report, **columns))


def hang(**columns) -> HangReport:
    """A master that hung, and runs again within a minute."""
    report = HangReport(
        farm="netlab",
        what="did not answer for 60 s",
        at_s=NOW_S - 40,
        again_s=NOW_S,
        file="hangs/20260725T100000Z.txt",
        url="https://bench.example.org/#/bench/lab",
    )
    return harmless(replace(report, **columns))


def broken_workload(**columns) -> BrokenWorkloadReport:
    """Two kernels that were measured before fail alike; a search waits."""
    report = BrokenWorkloadReport(
        farm="netlab",
        testbed="apu2",
        workload="forwarding",
        first="r311848",
        second="r311852",
        stood_well=True,
        reason="the receiver counted 0 packets",
        worked_s=NOW_S - 2 * 3600,
        fails_since_s=NOW_S - 1800,
        output="igb1: link state changed to DOWN / ping: sendto: no route to host",
        searches=(7,),
        url="https://bench.example.org/#/bench/lab",
    )
    return harmless(replace(report, **columns))
