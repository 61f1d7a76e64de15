"""A measurement whose followers are killed, by the real `bench-lab run` of a real replay lab.

Only Buildbot's way between worker and master is written down: it hands on what the command printed.
"""

import hashlib
import json
import signal
import subprocess
from collections.abc import Callable

import pytest
from buildbot.process.results import EXCEPTION, SUCCESS

from buildbot_bench.core.wire import Finished, Measured, Phase, parse_event
from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.steps.measure import SILENCE_S, MeasureProbe
from tests.fakes.lab import Lab, wait_for
from tests.fakes.stepcase import ExpectShell, StepCase

ITERATIONS = 5
SLOW_S = 1.0
FEWEST_KILLS = 3

Moment = Callable[[list[str]], bool]


def at_once(_lines: list[str]) -> bool:
    """Before anything is printed, or just then."""
    return True


def in_boot(number: int) -> Moment:
    """While the iteration of that number, from 0, goes on."""
    text = f"iteration {number + 1} of {ITERATIONS}"
    return lambda lines: any(is_phase(line, text) for line in lines)


def after(number: int) -> Moment:
    """As soon as so many iterations are printed."""
    return lambda lines: sum(is_measured(line) for line in lines) >= number


def is_phase(line: str, text: str) -> bool:
    event = parse_event(line)
    return isinstance(event, Phase) and event.text == text


def is_measured(line: str) -> bool:
    return isinstance(parse_event(line), Measured)


class TestKilledFollowers(StepCase):
    @pytest.fixture(autouse=True)
    def _lab(self, tmp_path, master) -> None:
        self.lab = Lab(tmp_path, delay_s=SLOW_S)
        self.digest = hashlib.sha256(self.lab.kernel.read_bytes()).hexdigest()
        self.broker_master = master
        self.printed: set[tuple[int, str]] = set()
        self.has_ended = False
        self.kills = 0

    async def ask(self) -> ProbeRow:
        """A probe of the lab's kernel that was issued."""
        self.image = await self.past.image(4, digest=self.digest)
        return await self.past.probe(
            self.image,
            iterations=ITERATIONS,
            testbed="first",
            token="job",
            state="issued",
        )

    def follow(self, until: Moment | None) -> ExpectShell | None:
        """Run the real command, kill it at a moment, and hand on what it printed.

        None when an earlier one printed all: then nobody follows the job any more.
        """
        if self.has_ended:
            return None
        command = self.lab.run_command("job", iterations=ITERATIONS)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines: list[str] = []
        while until is not None and not until(lines):
            lines.append(process.stdout.readline())
            assert lines[-1], "it ended before that moment"
        if until is not None:
            process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
        died = process.wait() < 0
        self.kills += died
        self.has_ended = bool(lines) and isinstance(parse_event(lines[-1]), Finished)
        self.printed.update(
            (event.ordinal, repr(event.values["pps"]))
            for event in map(parse_event, lines)
            if isinstance(event, Measured)
        )
        shell = ExpectShell(
            workdir="..",
            command=[
                *("bench-lab", "run", "--testbed=first", f"--artefact=artefacts/{self.digest}"),
                *(f"--digest={self.digest}", "--workload=forwarding"),
                *(f"--iterations={ITERATIONS}", "--job=job"),
            ],
            log_environ=False,
            timeout=SILENCE_S,
            max_time=600,
        ).stdout("".join(lines))
        if died:
            shell.log("stdio", header="process killed by signal 9\n")
        return shell.exit(-1 if died else process.returncode)

    async def run_build(self, outcome: int, probe: ProbeRow, *moments: Moment) -> ProbeRow:
        """A build whose followers are killed at these moments, if at all; the probe afterwards."""
        shells = [self.follow(moment) for moment in moments]
        if outcome == SUCCESS and not self.has_ended:  # a slow machine misses the last moments
            shells.append(self.follow(None))
        self.expect_commands(*filter(None, shells))
        self.expect_test_result_sets([("forwarding", "performance", "pps")])
        self.expect_test_results(
            [(1000, value, "forwarding", None, n, None) for n, value in sorted(self.printed)]
        )
        self.prepare(MeasureProbe(maxTime=600), image=self.image.id, probe=probe.id)
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.probe(probe.id)

    def boots(self) -> int:
        counts = json.loads((self.lab.state / "testbeds" / "first" / "boots.json").read_text())
        return sum(counts.values())

    async def assert_each_boot_is_recorded_once(self, probe: ProbeRow) -> None:
        wait_for(lambda: self.lab.is_quiet("job"))
        rows = await self.farm.store.iterations_of_probe(probe.id)
        measured = [(event.ordinal, event.values["pps"]) for event in self.lab.measured("job")]
        assert [(row.ordinal, row.value) for row in rows] == measured
        assert len(measured) == self.boots() == ITERATIONS
        assert [path.name for path in (self.lab.state / "jobs").iterdir()] == ["job"]

    async def test_killed_at_any_moment_they_cost_no_boot(self):
        probe = await self.ask()
        moments = (at_once, in_boot(0), after(1), in_boot(3), after(4))
        probe = await self.run_build(SUCCESS, probe, *moments)
        assert (probe.state, probe.failure, probe.attempt) == ("done", None, 0)
        assert self.kills >= FEWEST_KILLS
        await self.assert_each_boot_is_recorded_once(probe)

    async def test_a_build_that_gives_up_leaves_the_job_to_the_next_one(self):
        probe = await self.ask()
        given_up = await self.run_build(EXCEPTION, probe, after(1), at_once, at_once, at_once)
        assert given_up.failure == "bench-lab was killed by signal 9"
        await Collector(self.farm, self.broker_master).collect()
        (again,) = await self.farm.store.probes()
        assert (again.state, again.token, again.attempt) == ("new", "job", 1)
        self.follow(None)
        assert len(self.lab.measured("job")) == self.boots() == ITERATIONS
