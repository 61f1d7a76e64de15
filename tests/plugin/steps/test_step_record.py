"""How the lines of a lab job become rows: in their order, each once, nonsense told from results."""

from dataclasses import replace

import pytest

from buildbot_bench.core.metric import Metric, RunTimes, overall, wired
from buildbot_bench.core.wire import (
    LINE_LENGTH,
    Failed,
    FailureKind,
    Finished,
    Measured,
    Phase,
    Started,
    format_event,
    pieces,
)
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.steps.record import Recorder, failure_text
from tests.fakes.late_pool import LatePool, SickPool

STARTED = Started(
    job="job-1",
    testbed="apu",
    workload="forwarding",
    digest="d",
    iterations=2,
    epoch="2026a",
    facts={"nic": "82574L"},
)


class Watched:
    """The little of a step that a recorder speaks to."""

    def __init__(self) -> None:
        self.descriptionSuffix: list[str] | None = None
        self.mirrored: list[int] = []
        self.updates = 0

    def updateSummary(self) -> None:  # noqa: N802 - Buildbot's name
        self.updates += 1

    async def mirror(self, event: Measured) -> None:
        self.mirrored.append(event.ordinal)


def measured(ordinal: int, **fields) -> Measured:
    given = {"values": {"pps": 1e6 + ordinal}} | fields
    return Measured(ordinal=ordinal, at_s=100.0 + ordinal, duration_s=30.0, **given)


@pytest.fixture
def step() -> Watched:
    return Watched()


async def recorded(farm, past, step, *events, probe=None) -> Recorder:
    """Read a job's whole output, as the lab prints it."""
    recorder = Recorder(step=step, farm=farm, probe=probe or await past.probe(4))
    for event in events:
        line = event if isinstance(event, str) else format_event(event)
        for piece in pieces(line):
            recorder.outLineReceived(piece)
    await recorder.drained()
    return recorder


async def rows(farm) -> list[tuple]:
    (probe,) = await farm.store.probes()
    found = await farm.store.iterations_of_probe(probe.id)
    return [(row.ordinal, row.unit, row.value, row.failure) for row in found]


async def test_what_a_unit_means_is_kept_for_the_series(farm, past, step):
    seconds = Metric(name="time", unit="s", higher_is_better=False)
    started = replace(STARTED, metrics=(seconds,))
    await recorded(farm, past, step, started, measured(0, values={"s": 2.5}))
    (probe,) = await farm.store.probes()
    assert await farm.store.metric_of(probe.series, "s") == seconds
    (sample,) = await farm.store.samples(probe.series, (4, 4))
    assert sample.metric == seconds


async def test_each_iteration_is_a_row_with_all_that_the_lab_said(farm, past, step):
    times = RunTimes(wall_s=0.07, user_s=0.05, system_s=0.01).as_json()
    event = measured(0, log="1.0 Mpps", times=times)
    recorder = await recorded(farm, past, step, STARTED, event, Finished(iterations=1))
    (probe,) = await farm.store.probes()
    (row,) = await farm.store.iterations_of_probe(probe.id)
    assert (row.value, row.unit, row.at_s, row.duration_s) == (1e6, "pps", 100.0, 30.0)
    assert (row.epoch, row.facts, row.log) == ("2026a", {"nic": "82574L"}, "1.0 Mpps")
    assert row.times == times
    assert recorder.ending == Finished(iterations=1)
    assert recorder.fault == ""


async def test_what_a_boot_tells_goes_before_what_the_job_told(farm, past, step):
    told = {"nic": "82574L, iflib", "firmware": "2.1"}
    await recorded(farm, past, step, STARTED, measured(0, facts=told), measured(1))
    (probe,) = await farm.store.probes()
    first, second = await farm.store.iterations_of_probe(probe.id)
    assert (first.facts, second.facts) == (told, {"nic": "82574L"})


async def test_the_probe_learns_the_labs_epoch(farm, past, step):
    await recorded(farm, past, step, STARTED)
    (probe,) = await farm.store.probes()
    assert probe.epoch == "2026a"


async def test_the_unit_that_the_lab_names_first_is_the_primary_one(farm, past, step):
    both = measured(0, values={"pps": 1e6, "packets/CPU-s": 17.0}, log="a long log")
    await recorded(farm, past, step, STARTED, both)
    (probe,) = await farm.store.probes()
    found = await farm.store.iterations_of_probe(probe.id)
    assert [(row.unit, row.is_primary, row.log) for row in found] == [
        ("pps", True, "a long log"),
        ("packets/CPU-s", False, ""),
    ]


async def test_an_iteration_that_failed_is_a_row_with_its_reason(farm, past, step):
    await recorded(farm, past, step, STARTED, measured(0, values={}, failure="no packet came"))
    assert await rows(farm) == [(0, "", None, "no packet came")]


async def test_a_job_that_is_attached_to_again_adds_only_what_is_new(farm, past, step):
    probe = await past.probe(4)
    await recorded(farm, past, step, STARTED, measured(0), probe=probe)
    await recorded(farm, past, step, STARTED, measured(0), measured(1), probe=probe)
    assert [row[0] for row in await rows(farm)] == [0, 1]


async def test_an_iteration_of_which_a_dying_master_kept_one_unit_is_completed(farm, past, step):
    probe = await past.probe(4)
    await recorded(farm, past, step, STARTED, measured(0), probe=probe)
    both = measured(0, values={"pps": 1e6, "packets/CPU-s": 17.0})
    await recorded(farm, past, step, STARTED, both, probe=probe)
    found = await farm.store.iterations_of_probe(probe.id)
    assert [(row.unit, row.is_primary) for row in found] == [
        ("pps", True),
        ("packets/CPU-s", False),
    ]


async def test_two_who_record_one_job_at_once_record_each_iteration_once(farm, past, pool, step):
    farm.store = BenchStore(LatePool(pool.engine))
    probe = await past.probe(4)
    both = [Recorder(step=step, farm=farm, probe=probe) for _ in range(2)]
    for event in (STARTED, *(measured(n) for n in range(10))):
        for recorder in both:
            recorder.outLineReceived(format_event(event))
    for recorder in both:
        await recorder.drained()
    assert [recorder.fault or recorder.missed for recorder in both] == ["", ""]
    assert [row[0] for row in await rows(farm)] == list(range(10))


async def test_a_job_whose_last_boot_was_not_written_is_not_over(farm, past, pool, step):
    failing = SickPool(pool.engine)
    farm.store = BenchStore(failing)
    recorder = await recorded(farm, past, step, STARTED)
    failing.fall_ill()
    for event in (measured(0), Finished(iterations=1)):
        recorder.outLineReceived(format_event(event))
    await recorder.drained()
    assert recorder.ending is None
    assert recorder.missed == "the database went away"


async def test_a_last_boot_that_is_no_measurement_is_a_fault_of_the_job(farm, past, pool, step):
    farm.store = BenchStore(LatePool(pool.engine))
    events = STARTED, measured(0, values={"pps": float("inf")}), Finished(iterations=1)
    recorder = await recorded(farm, past, step, *events)
    kind, reason = failure_text(recorder.ending, recorder.fault)
    assert kind is FailureKind.INFRASTRUCTURE
    assert "is no measurement" in reason


async def test_a_value_that_was_recorded_once_stays_whatever_is_said_later(farm, past, step):
    probe = await past.probe(4)
    await recorded(farm, past, step, STARTED, measured(0), probe=probe)
    await recorded(farm, past, step, STARTED, measured(0, values={"pps": 5.0}), probe=probe)
    assert await rows(farm) == [(0, "pps", 1e6, None)]


async def test_an_event_that_is_longer_than_a_line_of_buildbots_log_comes_whole(farm, past, step):
    console = "panic: " + "x" * 3 * LINE_LENGTH
    await recorded(farm, past, step, STARTED, measured(0, log=console))
    (probe,) = await farm.store.probes()
    (row,) = await farm.store.iterations_of_probe(probe.id)
    assert row.log == console


async def test_rows_are_written_in_the_order_of_the_lines(farm, past, pool, step):
    farm.store = BenchStore(LatePool(pool.engine))
    await recorded(farm, past, step, STARTED, *(measured(n) for n in range(20)))
    (probe,) = await farm.store.probes()
    found = await farm.store.iterations_of_probe(probe.id)
    assert sorted(found, key=lambda row: row.id) == found
    assert {row.epoch for row in found} == {"2026a"}
    assert step.mirrored == list(range(20))


async def test_a_person_who_watches_sees_what_the_lab_does(farm, past, step):
    await recorded(farm, past, step, STARTED, Phase(text="boot 2/5", at_s=1.0))
    assert (step.descriptionSuffix, step.updates) == (["boot 2/5"], 1)


@pytest.mark.parametrize(
    "nonsense", ["Traceback (most recent call last):", "{}", '{"v": 99, "event": "finished"}', "[]"]
)
async def test_a_line_that_is_no_event_is_the_labs_fault_and_the_rest_is_recorded(
    farm, past, step, nonsense
):
    recorder = await recorded(
        farm, past, step, STARTED, measured(0), nonsense, measured(1), Finished(iterations=2)
    )
    assert len(await rows(farm)) == 2
    kind, reason = failure_text(recorder.ending, recorder.fault)
    assert kind is FailureKind.INFRASTRUCTURE
    assert reason


async def test_a_value_that_is_no_number_is_the_labs_fault_and_no_row(farm, past, step):
    line = format_event(measured(0)).replace("1000000.0", "NaN")
    recorder = await recorded(farm, past, step, STARTED, line, measured(1))
    assert [row[0] for row in await rows(farm)] == [1]
    assert "no measurement" in recorder.fault


async def test_the_named_values_of_a_run_are_kept_and_their_mean_is_understood(farm, past, step):
    named = {Metric(name=f"BM/{n}", unit="ns", higher_is_better=False): n + 1.0 for n in range(900)}
    metric, mean = overall(named)
    event = measured(0, values={metric.unit: mean}, named=wired(named))
    recorder = await recorded(farm, past, step, STARTED, event, Finished(iterations=1))
    assert (recorder.fault, recorder.missed) == ("", "")
    (judged,) = await farm.store.samples(("apu", "forwarding"), (4, 4))
    (one,) = await farm.store.samples(("apu", "forwarding"), (4, 4), unit="BM/7")
    assert (judged.metric, judged.values) == (metric, (mean,))
    assert (one.values, one.metric.higher_is_better) == ((8.0,), False)


@pytest.mark.parametrize("named", [[["\x1b[2J", "ns", False, 1.0]], [["a", "", True, 1.0]] * 1001])
async def test_named_values_that_make_no_sense_leave_what_was_measured(farm, past, step, named):
    events = STARTED, measured(0, named=named), measured(1), Finished(iterations=2)
    recorder = await recorded(farm, past, step, *events)
    assert [row[0] for row in await rows(farm)] == [0, 1]
    kind, reason = failure_text(recorder.ending, recorder.fault)
    assert kind is FailureKind.INFRASTRUCTURE
    assert "named value" in reason
    assert reason.isprintable()


PANIC = Failed(kind=FailureKind.UNTESTABLE, reason="panic: page fault")
NO_POWER = Failed(kind=FailureKind.INFRASTRUCTURE, reason="no power")


@pytest.mark.parametrize(
    ("ending", "fault", "outcome"),
    [
        (Finished(iterations=5), "", None),
        (Finished(iterations=5), "not an event", ("infrastructure", "not an event")),
        (PANIC, "", ("untestable", "panic: page fault")),
        (NO_POWER, "", ("infrastructure", "no power")),
        (None, "", ("infrastructure", "the job ended without a word")),
        (None, "sh: bench-lab: not found", ("infrastructure", "sh: bench-lab: not found")),
    ],
)
def test_what_went_wrong_with_a_job(ending, fault, outcome):
    assert failure_text(ending, fault) == outcome
