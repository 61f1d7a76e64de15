"""The lab job of one capture, watched: what is run, what is kept, and what its end means."""

from dataclasses import replace

from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS

from buildbot_bench.core.wire import (
    Failed,
    FailureKind,
    Finished,
    Phase,
    Profiled,
    format_event,
    pieces,
)
from buildbot_bench.plugin.db.rows import ProfileRow
from buildbot_bench.plugin.queries.captures import taken
from buildbot_bench.plugin.steps.measure import SILENCE_S, TakeCapture
from buildbot_bench.plugin.steps.record import MOST_FRUITLESS
from tests.fakes.stepcase import SHUTDOWN, ExpectShell, StepCase

DIGEST = "ab" * 32
PHASE = Phase(text="capture, attempt 1 of 3", at_s=1.0)
LONG = "".join(f"main;function_{number} 1\n" for number in range(500))
TAKEN = Profiled(at_s=2.0, duration_s=1.0, counter="cycles", folded=LONG)
DONE = Finished(iterations=0)
IDLE = Failed(kind=FailureKind.INFRASTRUCTURE, reason="94% of 100 samples are idle")
PANIC = Failed(kind=FailureKind.UNTESTABLE, reason="panic: page fault")


class TestProfile(StepCase):
    async def run_job(
        self, outcome: int, *events, stopped=None, state="issued", exit_code=0, noise="", times=1
    ) -> ProfileRow:
        """Let the lab print these events for a capture of r4, so many times; the request then."""
        self.image = await self.past.image(4, digest=DIGEST)
        row = await self.farm.store.ensure_profile(
            key="search:1:old",
            token="job",
            image_id=self.image.id,
            testbed="apu",
            workload="forwarding",
            tunables="net.a=1 net.b=2",
            now=1.0,
        )
        row = await self.farm.store.change(row, state=state)
        self.prepare(TakeCapture(maxTime=600), image=self.image.id)
        self.build.setProperty("bench_profile", row.id, "Test")
        if state in {"new", "issued"}:
            command = [
                *("bench-lab", "profile", "--testbed=apu", f"--artefact=artefacts/{DIGEST}"),
                *(f"--digest={DIGEST}", "--workload=forwarding", "--job=job"),
                *("--sysctl=net.a=1", "--sysctl=net.b=2"),
            ]
            limits = {"timeout": SILENCE_S, "max_time": 600}
            said = "".join(f"{one}\n" for event in events for one in pieces(format_event(event)))
            for _ in range(times):
                shell = ExpectShell(workdir="..", command=command, log_environ=False, **limits)
                shell.stdout(said).stderr(noise).behavior(self.stop_build(stopped))
                self.expect_commands(shell.exit(exit_code))
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.profile(row.id)

    async def test_a_capture_is_kept_whole_by_its_content(self):
        row = await self.run_job(SUCCESS, PHASE, TAKEN, DONE)
        assert row.state == "done"
        assert row.ended_at == self.farm.now()
        kept = await self.farm.store.capture(row.digest)
        assert (kept.counter, kept.taken_at) == ("cycles", 2.0)

    async def test_what_a_lab_says_of_packets_and_places_is_kept_and_all_else_left_out(self):
        places = {"function_1": "sys/a.c:7", "function_2": "\x1b[2J", "absent": "sys/a.c:9"}
        row = await self.run_job(SUCCESS, replace(TAKEN, packets=64, places=places), DONE)
        profile = (await taken(self.farm, row)).profile
        assert (profile.packets, profile.places) == (64, {"function_1": "sys/a.c:7"})
        assert profile.event == "cycles"

    async def test_nonsense_about_packets_costs_no_capture(self):
        row = await self.run_job(SUCCESS, replace(TAKEN, packets="many", places=["x"]), DONE)
        profile = (await taken(self.farm, row)).profile
        assert (profile.packets, profile.places) == (0, {})
        assert profile.samples == 500

    async def test_it_says_nothing_of_the_kernel_whatever_goes_wrong(self):
        row = await self.run_job(FAILURE, PHASE, PANIC)
        assert (row.state, row.failure) == ("failed", "panic: page fault")
        assert (await self.farm.store.image(self.image.id)).state == "built"

    async def test_a_capture_that_was_refused_is_not_asked_for_again(self):
        row = await self.run_job(FAILURE, PHASE, IDLE)
        assert (row.state, row.failure) == ("failed", "94% of 100 samples are idle")

    async def test_what_is_no_capture_is_not_kept(self):
        nonsense = Profiled(at_s=2.0, duration_s=1.0, counter="c", folded="no stack at all\n")
        row = await self.run_job(FAILURE, nonsense, DONE)
        assert row.state == "failed"
        assert "is no folded stack" in row.failure

    async def test_a_job_without_a_last_word_leaves_its_request_open(self):
        row = await self.run_job(EXCEPTION, PHASE, times=1 + MOST_FRUITLESS)
        assert (row.state, row.failure) == ("issued", None)

    async def test_what_bench_lab_says_of_its_end_is_kept_with_the_request(self):
        why = "bench-lab: cannot take a lock: No locks available"
        row = await self.run_job(EXCEPTION, noise=f"{why}\n", exit_code=4, times=MOST_FRUITLESS)
        assert (row.state, row.failure) == ("issued", why)

    async def test_what_bench_lab_says_of_a_mistake_is_why_there_is_no_capture(self):
        why = "bench-lab: there is no testbed 'apu'; did you mean 'apu2'?"
        row = await self.run_job(FAILURE, noise=f"{why}\n", exit_code=2)
        assert (row.state, row.failure) == ("failed", why)

    async def test_a_testbed_that_takes_no_captures_is_asked_once(self):
        row = await self.run_job(FAILURE, exit_code=2)
        assert row.state == "failed"
        assert "is not set up for captures" in row.failure

    async def test_a_master_that_goes_down_leaves_its_request_open(self):
        row = await self.run_job(EXCEPTION, PHASE, stopped=SHUTDOWN)
        assert row.state == "issued"

    async def test_what_is_there_already_is_not_run(self):
        assert (await self.run_job(SKIPPED, state="done")).state == "done"
