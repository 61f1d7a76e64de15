"""The row of `make test-freebsd` that injects faults into a lab in a box, and sees what it says."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.freebsd.box import KNOWN_GOOD, Answer, Box, build, the_box
from benchmarks.freebsd.commits import FAST_PATH, ROUTE_LOOKUP
from benchmarks.freebsd.showing import say
from benchmarks.freebsd.table import Figure
from benchmarks.freebsd.workshop import START, Workshop
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.wire import Failed
from buildbot_bench.lab.box.machines import cut_power
from buildbot_bench.lab.box.making import load_box

UNTESTABLE, INFRASTRUCTURE, MEASURED = "untestable", "infrastructure", "measured"
_LOOK_S, _PATIENCE_S = 0.5, 300.0
_CHANGES = "for file in /boot/bench.*/kernel; do printf x >>$file; done\n"
_TRAFFIC_S = 5.0  # of the traffic, until a fault comes


@dataclass(frozen=True, kw_only=True, slots=True)
class Plant:
    """A change of a file that gives a kernel with a fault: `text` after `anchor`, or before it."""

    path: str
    anchor: str
    text: str
    before: bool = False


# What a planted kernel does, by its name.
PLANTS = {
    "panics-at-boot": Plant(
        path="sys/kern/init_main.c",
        anchor="start_init(void *dummy)\n{\n",
        text='\tpanic("bench: at boot");\n',
    ),
    "hangs-in-init": Plant(
        path="sys/kern/init_main.c",
        anchor="start_init(void *dummy)\n{\n",
        text="\tfor (;;)\n\t\tDELAY(1000);\n",
    ),
    "boots-without-network": Plant(
        path="sys/dev/virtio/network/if_vtnet.c",
        anchor="vtnet_attach(device_t dev)\n{\n",
        text="\treturn (ENXIO);\n",
    ),
    "panics-under-traffic": Plant(
        path=FAST_PATH,
        anchor=ROUTE_LOOKUP,
        text="\t{\n\t\tstatic volatile u_int bench_seen;\n\n\t\tif (++bench_seen > 100)\n"
        '\t\t\tpanic("bench: under traffic");\n\t}\n',
        before=True,
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A fault: the kernel that is measured, what happens before or meanwhile, and the outcome.

    `kernel` names a plant, or is empty for the known-good one. `says` are words of the answer, the
    console's last lines included. With `rescues` the known-good kernel runs when the job has ended;
    a fault that is not the kernel's, once it runs, leaves it until the next job reboots the DUT.
    """

    name: str
    outcome: str
    says: str = ""
    kernel: str = ""
    before: Callable[[Box], None] | None = None
    meanwhile: Callable[[Box], None] | None = None
    after: Callable[[Box], None] | None = None
    words: Sequence[str] = ()
    rescues: bool = True


def plant(workshop: Workshop, name: str) -> Path:
    """Build a kernel with a fault; UsageError where the tree's file is another."""
    workshop.go(START)
    change = PLANTS[name]
    file = workshop.source / change.path
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    head, anchor, rest = text.partition(change.anchor)
    if not anchor:
        raise UsageError(f"{change.path} has no line “{change.anchor.strip()}”")
    parts = (
        (head, change.text, anchor, rest) if change.before else (head, anchor, change.text, rest)
    )
    file.write_text("".join(parts), encoding="utf-8", errors="surrogateescape")
    try:
        return build(workshop, name).archive
    finally:
        workshop.go(START)


def faults(workshop: Workshop) -> Iterator[Figure]:
    """Each fault ends as what it is, with the known-good kernel running again."""
    archives = {name: plant(workshop, name) for name in PLANTS}
    lab = the_box(workshop)
    for fault in FAULTS:
        say(f"… fault: {fault.name}")
        begun_s = time.monotonic()
        taken = inject(lab, fault, archives.get(fault.kernel, lab.kernel.archive))
        kind, said = outcome(taken)
        seconds = time.monotonic() - begun_s
        runs = lab.ssh("dut", "sysctl", "-n", "kern.bootfile")
        fine = kind == fault.outcome and fault.says in said
        fine = fine and (runs == KNOWN_GOOD or kind == MEASURED or not fault.rescues)
        yield Figure(
            row="faults",
            what=fault.name,
            wanted=fault.outcome,
            seen=f"{seconds:.0f} s: {taken.in_words[:300]}; then {runs or 'silence'}",
            is_met=fine,
        )


def inject(lab: Box, fault: Fault, archive: Path) -> Answer:
    """Measure a kernel while the fault happens, and undo the fault.

    Raises:
        InfraError: The fault did not happen.
    """
    if fault.before is not None:
        fault.before(lab)
    try:
        with ThreadPoolExecutor(1) as beside:
            happens = beside.submit(fault.meanwhile or _nothing, lab)
            taken = lab.run(archive, "forwarding", *fault.words)
            happens.result()
        return taken
    finally:
        if fault.after is not None:
            fault.after(lab)


def _nothing(_lab: Box) -> None:
    pass


def outcome(taken: Answer) -> tuple[str, str]:
    """How a job ended, and all that it said of failures, the end of consoles included."""
    failures = [one for one in taken.measured if one.failure]
    said = "\n".join(f"{one.failure}\n{one.log}" for one in failures)
    if isinstance(taken.end, Failed):
        return str(taken.end.kind), f"{taken.end.reason}\n{taken.end.log}\n{said}"
    return MEASURED if taken.status == 0 else f"status {taken.status}", said


def _wait(what: str, condition: Callable[[], bool]) -> None:
    """Wait for something, some minutes at most."""
    end_s = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > end_s:
            raise InfraError(f"the fault did not happen: {what}")
        time.sleep(_LOOK_S)


def _off(lab: Box, machine: str) -> None:
    cut_power(load_box(lab.home).named(machine))


def _in_traffic(lab: Box) -> None:
    _wait("no traffic", lambda: bool(lab.ssh("generator", "pgrep", "-x", "pkt-gen")))
    time.sleep(_TRAFFIC_S)


def _remove_kernels(lab: Box) -> None:
    lab.ssh("dut", "sh", "-s", said="rm -rf /boot/bench.*\n")


def _cut_in_installation(lab: Box) -> None:
    arrives = "ls -d /boot/bench.*.tgz /boot/bench.*.new 2>/dev/null\n"
    _wait("no installation", lambda: bool(lab.ssh("dut", "sh", "-s", said=arrives)))
    lab.need("cycle", "dut")


def _cut_in_boot(lab: Box) -> None:
    """Once the loader has the kernel under test, and that begins to boot."""
    console = load_box(lab.home).named("dut").console_log
    before = console.stat().st_size
    _wait("no boot", lambda: b"/boot/bench." in console.read_bytes()[before:])
    time.sleep(_TRAFFIC_S)
    lab.need("cycle", "dut")


def _exchange_kernel(lab: Box) -> None:
    """Have the next boots change the kernel's file, as a failing disk would."""
    lab.ssh("dut", "sh", "-s", said=f"cat >/etc/rc.local <<'END'\n{_CHANGES}END\n")


def _leave_kernel(lab: Box) -> None:
    lab.ssh("dut", "rm", "-f", "/etc/rc.local")


def _end_sshd(lab: Box) -> None:
    _in_traffic(lab)

    def is_dead() -> bool:
        lab.ssh("dut", "sh -c 'pkill -9 -a sshd'")
        return not lab.ssh("dut", "echo", "it lives")

    _wait("sshd lives", is_dead)


def _end_generator(lab: Box) -> None:
    _in_traffic(lab)
    _off(lab, "generator")


def _fill_disk(lab: Box) -> None:
    lab.ssh("dut", "sh -c 'rm -rf /boot/bench.*; dd if=/dev/zero of=/root/full bs=1m; sync'")


def _empty_disk(lab: Box) -> None:
    lab.ssh("dut", "rm", "-f", "/root/full")


def _all_on(lab: Box) -> None:
    lab.need("up")


def _hang(lab: Box) -> None:
    _off(lab, "dut")


def _remove_pkt_gen(lab: Box) -> None:
    lab.ssh("generator", "mv", "/usr/bin/pkt-gen", "/usr/bin/pkt-gen.away")


def _return_pkt_gen(lab: Box) -> None:
    lab.ssh("generator", "mv", "/usr/bin/pkt-gen.away", "/usr/bin/pkt-gen")


FAULTS: Sequence[Fault] = (
    Fault(
        name="panics at boot", kernel="panics-at-boot", outcome=UNTESTABLE, says="bench: at boot"
    ),
    Fault(name="hangs in init", kernel="hangs-in-init", outcome=UNTESTABLE),
    Fault(name="boots without network", kernel="boots-without-network", outcome=UNTESTABLE),
    Fault(
        name="panics under traffic",
        kernel="panics-under-traffic",
        outcome=UNTESTABLE,
        says="bench: under traffic",
    ),
    Fault(
        name="the disk is full",
        before=_fill_disk,
        after=_empty_disk,
        outcome=INFRASTRUCTURE,
        says="No space left",
    ),
    Fault(
        name="the kernel's file changes",
        before=_exchange_kernel,
        after=_leave_kernel,
        outcome=INFRASTRUCTURE,
        says="as /boot/bench.",
        rescues=False,
    ),
    Fault(name="sshd dies under traffic", meanwhile=_end_sshd, outcome=MEASURED),
    Fault(
        name="the receiver vanishes",
        meanwhile=_end_generator,
        after=_all_on,
        outcome=INFRASTRUCTURE,
    ),
    Fault(
        name="power is lost in the installation",
        before=_remove_kernels,
        meanwhile=_cut_in_installation,
        outcome=MEASURED,
    ),
    Fault(name="power is lost in the boot", meanwhile=_cut_in_boot, outcome=MEASURED),
    Fault(name="the DUT is off at the beginning", before=_hang, outcome=MEASURED),
    Fault(
        name="the sender has no pkt-gen",
        before=_remove_pkt_gen,
        after=_return_pkt_gen,
        outcome=INFRASTRUCTURE,
        says="pkt-gen",
        rescues=False,
    ),
    Fault(
        name="a tunable that no kernel takes",
        words=("--sysctl", "net.bench.none=1"),
        outcome=UNTESTABLE,
        says="net.bench.none",
        rescues=False,
    ),
)
