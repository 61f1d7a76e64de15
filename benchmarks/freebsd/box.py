"""The rows of `make test-freebsd` that run a lab in a box: its world, its check, its workloads."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.freebsd.showing import run_shown, say
from benchmarks.freebsd.table import Figure, at_most
from benchmarks.freebsd.workshop import START, Built, Workshop
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.wire import Event, Failed, Finished, Measured, parse_events
from buildbot_bench.lab.tables import load_testbeds
from tests.readme import CHECKOUT

FIRST_S, BOOT_S = 40 * 60.0, 60.0  # a world and a kernel; a reboot until it is ready
KNOWN_GOOD = "/boot/kernel/kernel"
# Under emulation a kernel comes up within a minute where the host is quiet; on a busy one the first
# boot says how long it takes, and a later one may come when the load is higher.
_REBOOT_S, _READY_S, _TIMES = 180.0, 90.0, 4.0
_WORLD = re.compile(r"^world: (.*)$", re.MULTILINE)
_READY = "waiting until it is ready"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a job of `bench-lab run` said: its iterations, how it ended, and its exit status."""

    measured: Sequence[Measured]
    end: Failed | Finished | None
    status: int
    events: Sequence[Event]

    @property
    def in_words(self) -> str:
        """The values, or why there are none."""
        if isinstance(self.end, Failed):
            return f"{self.end.kind}: {self.end.reason}"
        values = (f"{v:.0f} {unit}" for one in self.measured for unit, v in one.values.items())
        return ", ".join(values) or f"status {self.status}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A box that is switched on, in the directory `home`, and the kernel that it falls back to."""

    home: Path
    kernel: Built

    def command(self, *words: str) -> list[str]:
        """A command of `bench-lab box` on it; the box comes second."""
        verb, *more = words
        return [sys.executable, "-m", "buildbot_bench.lab.cli", "box", verb, str(self.home), *more]

    def need(self, *words: str) -> None:
        """Run such a command; InfraError when it fails."""
        status, said = run_shown(self.command(*words))
        if status:
            raise InfraError(f"bench-lab box {' '.join(words)}: {said.strip()[-300:]}")

    def ssh(self, machine: str, *words: str, said: str = "") -> str:
        """What a command prints on a machine, given what is `said` to it; empty where it is off."""
        config = str(self.home / "ssh_config")
        done = subprocess.run(  # noqa: S603 - a list of words, no shell of ours
            ["ssh", "-F", config, "-o", "ConnectTimeout=10", machine, *words],  # noqa: S607 - ssh
            input=said,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=120,
        )
        return done.stdout.strip()

    def lab(self, *words: str) -> list[str]:
        """A command of `bench-lab` with the files of the box."""
        places = (f"--testbeds={self.home / 'testbeds.toml'}", f"--state={self.home / 'state'}")
        return [sys.executable, "-m", "buildbot_bench.lab.cli", *words, *places]

    def run(
        self, archive: Path, workload: str = "forwarding", *more: str, iterations: int = 1
    ) -> Answer:
        """Have `bench-lab run` measure an archive."""
        words = self.lab("run", "--json", "--testbed=box", f"--artefact={archive}", *more)
        words += [f"--workload={workload}", f"--iterations={iterations}"]
        say(f"… boots {archive.name} on the box, {workload}")
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
            status, _ = run_shown(words, out=out)
            out.seek(0)
            events = tuple(parse_events(out.read().splitlines()))
        ends = [event for event in events if isinstance(event, Failed | Finished)]
        return Answer(
            measured=tuple(event for event in events if isinstance(event, Measured)),
            end=ends[-1] if ends else None,
            status=status,
            events=events,
        )


def kernels(workshop: Workshop) -> Workshop:
    """A workshop on the same tree that builds kernels for a box."""
    words = (f"--kernconf={CHECKOUT / 'workers' / 'lab' / 'BOX'}", "--modules=ipfw,pf")
    return replace(workshop, words=words)


def build(workshop: Workshop, name: str) -> Built:
    """Build a kernel for the box from what is checked out."""
    return kernels(workshop).build(name, obj=workshop.place / "obj-box")


def world(workshop: Workshop) -> Iterator[Figure]:
    """A world and a kernel, from nothing or kept; they are made again by no later row."""
    begun_s = time.monotonic()
    made = _world(workshop)
    kernel = build(workshop, "known-good")
    seconds = time.monotonic() - begun_s
    size = sum(path.lstat().st_size for path in (made / "root").rglob("*") if path.is_file())
    yield at_most("world", "userland and kernel", FIRST_S, seconds)
    yield Figure(
        row="world",
        what="their size",
        wanted="told",
        seen=f"{size >> 20} and {kernel.archive.stat().st_size >> 20} MiB",
    )


def box(workshop: Workshop) -> Iterator[Figure]:
    """A box is made and switched on, lacks nothing, and reboots into a kernel within a minute."""
    begun_s = time.monotonic()
    lab = the_box(workshop)
    yield Figure(
        row="box",
        what="made, and ssh answers on all machines",
        wanted="told",
        seen=f"{time.monotonic() - begun_s:.0f} s",
    )
    status, said = run_shown(lab.lab("check", "box"))
    lacks = [line for line in said.splitlines() if line.startswith("MISSING")]
    yield Figure(
        row="box",
        what="bench-lab check",
        wanted="lacks nothing",
        seen=f"lacks {len(lacks)}" if status else "lacks nothing",
        is_met=status == 0,
    )
    taken = lab.run(lab.kernel.archive, iterations=2)
    yield _passed("box", "forwarding, two boots", taken)
    boots = [one.duration_s for one in taken.measured]
    traffic_s = load_testbeds(lab.home / "testbeds.toml")["box"].settings.traffic.duration_s
    if boots:
        yield at_most("box", "a boot until it is ready", BOOT_S, min(boots) - traffic_s)


def sets(workshop: Workshop) -> Iterator[Figure]:
    """Each workload's configuration set is put on, passes traffic, and is taken off again."""
    lab = the_box(workshop)
    for name in sorted(path.name for path in (lab.home / "workloads").iterdir() if path.is_dir()):
        yield _passed("sets", name, lab.run(lab.kernel.archive, name))


def the_box(workshop: Workshop) -> Box:
    """The box of this scratch directory, made if there is none, and switched on."""
    workshop.go(START)
    lab = Box(home=workshop.place / "box", kernel=build(workshop, "known-good"))
    fitted = lab.home / "fitted"
    if not fitted.exists():
        shutil.rmtree(lab.home, ignore_errors=True)
        lab.need("init", f"--world={_world(workshop)}", f"--kernel={lab.kernel.archive}")
        begun_s = time.monotonic()
        lab.need("up")
        with (lab.home / "testbeds.toml").open("a", encoding="utf-8") as file:
            file.write(limits(time.monotonic() - begun_s))
        lab.need("fit")
        fitted.touch()
    lab.need("up")
    return lab


def limits(up_s: float) -> str:
    """What testbeds.toml says of a box whose machines took so long to come up."""
    reboot_s, ready_s = max(_REBOOT_S, _TIMES * up_s), max(_READY_S, _TIMES / 2 * up_s)
    return f"\n[testbeds.box.limits]\nreboot_s = {reboot_s:.0f}\nready_s = {ready_s:.0f}\n"


def end(place: Path) -> None:
    """Switch the box of a scratch directory off, if there is one."""
    home = place / "box"
    if (home / "box.json").exists():
        subprocess.run(  # noqa: S603 - a list of words, no shell
            [sys.executable, "-m", "buildbot_bench.lab.cli", "box", "down", "--now", str(home)],
            check=False,
        )


def _world(workshop: Workshop) -> Path:
    words = [sys.executable, "-m", "buildbot_bench.build.cli", "world", str(workshop.source)]
    say(f"… builds a userland of {workshop.source}, unless it is kept")
    status, said = run_shown([*words, f"--jobs={workshop.jobs}"])
    made = _WORLD.findall(said)
    if status or not made:
        raise InfraError(f"bench-build world: {said.strip()[-300:]}")
    return Path(made[-1])


def _passed(row: str, what: str, taken: Answer) -> Figure:
    return Figure(
        row=row, what=what, wanted="packets pass", seen=taken.in_words, is_met=taken.status == 0
    )
