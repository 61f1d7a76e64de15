"""The lab job of one probe, watched: what is run, what is kept, and what its end means."""

from buildbot.process.results import EXCEPTION, FAILURE, RETRY, SKIPPED, SUCCESS

from buildbot_bench.core.wire import (
    Failed,
    FailureKind,
    Finished,
    Measured,
    Started,
    format_event,
    pieces,
)
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.farm.farm import MAX_ATTEMPTS
from buildbot_bench.plugin.steps.measure import SILENCE_S, Abandon, MeasureProbe
from buildbot_bench.plugin.steps.record import MOST_FRUITLESS
from tests.fakes.late_pool import LatePool, SickPool
from tests.fakes.stepcase import SHUTDOWN, ExpectShell, StepCase

DIGEST = "ab" * 32
STARTED = Started(
    job="job", testbed="apu", workload="forwarding", digest=DIGEST, iterations=2, epoch="2026a"
)
PANIC = Failed(kind=FailureKind.UNTESTABLE, reason="panic: page fault")
NO_POWER = Failed(kind=FailureKind.INFRASTRUCTURE, reason="the power controller is away")


def measured(ordinal: int, **fields) -> Measured:
    given = {"values": {"pps": 1e6 + ordinal}} | fields
    return Measured(ordinal=ordinal, at_s=100.0 + ordinal, duration_s=30.0, **given)


def output(*events) -> str:
    return "".join(f"{piece}\n" for event in events for piece in pieces(format_event(event)))


def killed(command: ExpectShell) -> ExpectShell:
    """What a worker says of a command that SIGKILL ended."""
    return command.log("stdio", header="process killed by signal 9\n").exit(-1)


class TestMeasure(StepCase):
    async def run_job(
        self, outcome: int, *events, exit_code=0, stopped=None, noise="", times=1, **columns
    ) -> ProbeRow:
        """Let the lab print these events for a probe of r4, so many times; the probe afterwards."""
        image = await self.past.image(4, digest=DIGEST)
        columns = {"state": "issued"} | columns
        probe = await self.past.probe(image, iterations=2, token="job", **columns)
        self.prepare(MeasureProbe(maxTime=600), image=image.id, probe=probe.id)
        if probe.state in {"new", "issued"}:
            for _ in range(times):
                command = self.bench_lab("run").stdout(output(*events)).stderr(noise)
                self.expect_commands(command.behavior(self.stop_build(stopped)).exit(exit_code))
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.probe(probe.id)

    async def run_commands(self, outcome: int, *commands: ExpectShell, **columns) -> ProbeRow:
        """Let one command after the other follow the job; the probe afterwards."""
        self.expect_commands(*commands)
        return await self.run_job(outcome, times=0, **columns)

    def bench_lab(self, verb: str) -> ExpectShell:
        limits = {"timeout": SILENCE_S, "max_time": 600}
        command = [
            *("bench-lab", verb, "--testbed=apu", f"--artefact=artefacts/{DIGEST}"),
            *(f"--digest={DIGEST}", "--workload=forwarding", "--iterations=2", "--job=job"),
        ]
        return ExpectShell(workdir="..", command=command, log_environ=False, **limits)

    async def values(self, probe: ProbeRow) -> list[float | None]:
        return [row.value for row in await self.farm.store.iterations_of_probe(probe.id)]

    async def test_a_job_that_gave_all_that_was_asked_for_is_done(self):
        self.expect_test_result_sets([("forwarding", "performance", "pps")])
        self.expect_test_results(
            [
                (1000, "1000000.0", "forwarding", None, 0, None),
                (1000, "1000001.0", "forwarding", None, 1, None),
            ]
        )
        probe = await self.run_job(
            SUCCESS, STARTED, measured(0), measured(1), Finished(iterations=2)
        )
        assert (probe.state, probe.failure, probe.epoch) == ("done", None, "2026a")
        assert probe.ended_at == self.farm.now()
        assert await self.values(probe) == [1e6, 1e6 + 1]

    async def test_a_job_has_not_ended_before_all_it_said_is_written_down(self):
        self.farm.store = BenchStore(LatePool(self.farm.store._pool.engine))
        probe = await self.run_job(SUCCESS, STARTED, Finished(iterations=0))
        assert (probe.state, probe.epoch) == ("done", "2026a")

    async def test_a_kernel_that_does_not_boot_makes_its_image_untestable(self):
        probe = await self.run_job(FAILURE, STARTED, PANIC, exit_code=3)
        assert (probe.state, probe.failure_kind) == ("done", "untestable")
        image = await self.farm.store.image(probe.image_id)
        assert (image.state, image.reason) == ("untestable", "panic: page fault")

    async def test_a_control_image_that_does_not_boot_says_nothing_of_the_image(self):
        probe = await self.run_job(FAILURE, STARTED, PANIC, exit_code=3, reason="control")
        assert (probe.state, probe.failure) == ("done", "panic: page fault")
        assert (await self.farm.store.image(probe.image_id)).state == "built"

    async def test_a_lab_that_fails_says_nothing_of_the_image_and_leaves_the_rest_to_the_broker(
        self,
    ):
        self.expect_test_result_sets([("forwarding", "performance", "pps")])
        self.expect_test_results([(1000, "1000000.0", "forwarding", None, 0, None)])
        probe = await self.run_job(EXCEPTION, STARTED, measured(0), NO_POWER, exit_code=4)
        assert (probe.state, probe.failure_kind) == ("issued", "infrastructure")
        assert probe.failure == "the power controller is away"
        assert await self.values(probe) == [1e6]
        assert (await self.farm.store.image(probe.image_id)).state == "built"

    async def test_a_job_that_ends_without_a_word_is_the_labs_trouble(self):
        probe = await self.run_job(EXCEPTION, STARTED, exit_code=1, times=1 + MOST_FRUITLESS)
        assert probe.failure == "the job ended without a word"

    async def test_the_death_of_the_command_is_not_the_end_of_its_job(self):
        self.expect_test_result_sets([("forwarding", "performance", "pps")])
        self.expect_test_results(
            [
                (1000, "1000000.0", "forwarding", None, 0, None),
                (1000, "1000001.0", "forwarding", None, 1, None),
            ]
        )
        cut = output(STARTED, measured(0), measured(1))[:-40]
        whole = output(STARTED, measured(0), measured(1), Finished(iterations=2))
        probe = await self.run_commands(
            SUCCESS, killed(self.bench_lab("run").stdout(cut)), self.bench_lab("run").stdout(whole)
        )
        assert (probe.state, probe.failure, probe.failure_kind) == ("done", None, None)
        assert await self.values(probe) == [1e6, 1e6 + 1]

    async def test_a_job_whose_command_dies_again_and_again_has_not_failed(self):
        commands = [killed(self.bench_lab("run").stdout(output(STARTED))) for _ in range(4)]
        probe = await self.run_commands(EXCEPTION, *commands)
        assert (probe.state, probe.failure_kind, probe.token) == ("issued", None, "job")
        assert probe.failure == "bench-lab was killed by signal 9"

    async def test_what_ended_an_earlier_command_is_forgotten_when_the_job_is_done(self):
        probe = await self.run_job(
            SUCCESS, STARTED, Finished(iterations=0), failure="bench-lab was killed by signal 9"
        )
        assert (probe.state, probe.failure) == ("done", None)

    async def test_what_bench_lab_says_of_a_mistake_is_the_reason_and_is_not_asked_for_twice(self):
        why = "bench-lab: cannot read the list of testbeds: no such file; name it by --testbeds"
        probe = await self.run_job(EXCEPTION, noise=f"warning: clock\n{why}\n", exit_code=2)
        assert (probe.state, probe.failure_kind, probe.failure) == ("issued", None, why)

    async def test_a_job_that_takes_too_long_is_not_asked_for_again_in_the_same_build(self):
        slow = self.bench_lab("run").stdout(output(STARTED)).update("failure_reason", "timeout")
        probe = await self.run_commands(EXCEPTION, slow.exit(-1))
        assert (probe.state, probe.failure_kind) == ("issued", None)
        assert "timeout-minutes" in probe.failure

    async def test_an_iteration_that_the_database_did_not_take_is_read_again(self):
        self.expect_test_result_sets([("forwarding", "performance", "pps")])
        self.expect_test_results([(1000, "1000000.0", "forwarding", None, 0, None)])
        pool = SickPool(self.farm.store._pool.engine)
        self.farm.store = BenchStore(pool)
        whole = output(measured(0), Finished(iterations=1))
        probe = await self.run_commands(
            SUCCESS,
            self.bench_lab("run").behavior(pool.fall_ill).stdout(whole),
            self.bench_lab("run").stdout(whole),
        )
        assert (probe.state, await self.values(probe)) == ("done", [1e6])
        self.flushLoggedErrors(ConnectionError)

    async def test_what_is_printed_beside_the_events_is_of_no_account(self):
        probe = await self.run_job(
            SUCCESS, STARTED, Finished(iterations=0), noise="warning: clock skew\n"
        )
        assert probe.state == "done"

    async def test_a_master_that_shuts_down_keeps_what_came_and_attaches_again_later(self):
        self.expect_test_result_sets([("forwarding", "performance", "pps")])
        self.expect_test_results([(1000, "1000000.0", "forwarding", None, 0, None)])
        probe = await self.run_job(EXCEPTION, STARTED, measured(0), exit_code=-1, stopped=SHUTDOWN)
        assert (probe.state, probe.failure, probe.token) == ("issued", None, "job")
        assert await self.values(probe) == [1e6]

    async def test_a_person_who_stops_the_build_writes_no_failure_down(self):
        probe = await self.run_job(EXCEPTION, STARTED, exit_code=-1, stopped="by ann")
        assert (probe.state, probe.failure) == ("issued", None)

    async def test_a_job_that_ended_before_the_stop_arrived_is_done(self):
        probe = await self.run_job(SUCCESS, STARTED, Finished(iterations=0), stopped="by ann")
        assert probe.state == "done"

    async def test_a_probe_that_was_cancelled_before_it_began_is_not_run(self):
        probe = await self.run_job(SKIPPED, state="cancelled")
        assert probe.state == "cancelled"


class TestAbandon(StepCase):
    async def run_after(self, state: str, outcome: int, *, recorded=0, results=4, **columns):
        probe = await self.past.probe(4, token="job", state=state, **columns)
        for ordinal in range(recorded):
            await self.past.add(probe, ordinal, 1e6)
        self.prepare(Abandon(), image=probe.image_id, probe=probe.id)
        self.build.results = results
        if outcome != SKIPPED:
            command = ["bench-lab", "cancel", "--job=job"]
            self.expect_commands(
                ExpectShell(workdir="..", command=command, log_environ=False).exit(0)
            )
        self.expect_outcome(outcome)
        await self.run_step()

    async def test_the_job_of_a_probe_that_was_cancelled_is_ended(self):
        await self.run_after("cancelled", SUCCESS)

    async def test_the_job_of_a_probe_that_is_still_wanted_is_left_to_run(self):
        await self.run_after("issued", SKIPPED)

    async def test_the_job_that_no_build_will_follow_any_more_is_ended(self):
        await self.run_after("issued", SUCCESS, attempt=MAX_ATTEMPTS - 1)

    async def test_each_iteration_that_came_makes_up_for_a_build_that_was_lost(self):
        await self.run_after("issued", SKIPPED, attempt=MAX_ATTEMPTS - 1, recorded=1)

    async def test_the_job_of_a_build_that_is_run_again_is_left_to_run(self):
        await self.run_after("issued", SKIPPED, attempt=MAX_ATTEMPTS - 1, results=RETRY)

    async def test_a_job_that_the_lab_gave_up_needs_no_end(self):
        ended = {"failure": "no power", "failure_kind": "infrastructure"}
        await self.run_after("issued", SKIPPED, attempt=MAX_ATTEMPTS - 1, **ended)

    async def test_a_job_that_is_done_is_left_alone(self):
        await self.run_after("done", SKIPPED)

    def test_it_runs_whatever_became_of_the_measurement_and_spoils_no_result(self):
        assert Abandon().alwaysRun
        assert not Abandon().flunkOnFailure
