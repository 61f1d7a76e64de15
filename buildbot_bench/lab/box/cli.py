"""`bench-lab box`: make a box, fit its rate, switch its machines, and type at their consoles."""

from __future__ import annotations

import argparse
import os
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.background import home_of
from buildbot_bench.lab.box.machines import LAYOUTS, Machine, cut_power, is_on, shut_down, switch_on
from buildbot_bench.lab.box.making import DISK_MIB, KERNEL, load_box, make_box
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.ssh import SshDriver
from buildbot_bench.lab.files import replace_text, sha256, try_lock
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.tables import load_testbeds
from buildbot_bench.lab.virtual.machine import last_lines

_WORKLOAD = "forwarding"
_RATES_PPS = (2_000, 6_000, 12_000, 24_000, 48_000)  # from what the slowest host forwards
_HIDDEN = 0.9  # of what is offered: where so much passes, the DUT may have time left
_OVERLOAD = 2  # times what passes: a DUT that becomes faster by half still shows it
_RATE = re.compile(r"(?<=offered_pps = )\d+")


def fit_rate(home: Path, say: Callable[[str], None]) -> int:
    """Write into a box's testbeds.toml the packets per second that its DUT has no time for.

    The known-good kernel is booted once for each rate that is tried. Where the sender cannot send
    so many, which on the same host is slower than the DUT, it is what it can send. InfraError where
    not even the first rate is measured; the file is then as it was.
    """
    testbeds = home / "testbeds.toml"
    settings: SshSettings = load_testbeds(testbeds)["box"].settings
    state = home_of(home / "state", "box")
    lock = try_lock(state / "lock")
    if lock is None:
        raise InfraError("a job has the box now", hint="try again when it has ended")
    try:
        rate = _fitting(home, settings, state, say)
    finally:
        os.close(lock)
    replace_text(testbeds, _RATE.sub(str(rate), testbeds.read_text(encoding="utf-8")))
    return rate


def _fitting(home: Path, settings: SshSettings, state: Path, say: Callable[[str], None]) -> int:
    passed, held = 0.0, 0
    for rate in _RATES_PPS:
        say(f"offers {rate} pps …")
        offered = replace(settings, traffic=replace(settings.traffic, offered_pps=rate))
        try:
            passed = _passing(home, offered, state)
        except BenchError as error:
            if not held or not isinstance(error, InfraError):
                raise InfraError(f"at {rate} pps: {error.message}", hint=error.hint) from error
            say(f"too many for the sender: {error.message.splitlines()[0]}")
            break
        say(f"{passed:.0f} pps pass")
        if passed < _HIDDEN * rate:
            return min(rate, 100 * round(_OVERLOAD * passed / 100))
        held = rate
    say(f"the DUT has time left at {held} pps: a kernel is slower if it forwards less than that")
    return held


def _passing(home: Path, settings: SshSettings, state: Path) -> float:
    """What the known-good kernel forwards of it, in packets per second."""
    driver = SshDriver(settings, state)
    kernel = home / KERNEL
    driver.prepare(_WORKLOAD)
    with Dut(driver, kernel, sha256(kernel)) as dut:
        driver.facts()
        dut.boot()
        dut.verify()
        return dut.blast(_WORKLOAD).values["pps"]


_BOOT_S = 600.0  # 28 s on a quiet machine
_POLL_S = 1.0
_SSH_S = 10  # for a connection
_LEAVE = b"\x1d"  # Ctrl-], as telnet(1) has it
_GULP = 1 << 16  # bytes


def add_box(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `box` and its own commands to those of `bench-lab`."""
    box = commands.add_parser("box", help="a lab of FreeBSD machines on this one, in QEMU")
    verbs = box.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str, command: Callable[[argparse.Namespace], int]) -> None:
        verb = verbs.add_parser(name, help=text)
        verb.add_argument("directory", type=Path, metavar="DIR", help="where the box is")
        verb.set_defaults(command=command)
        match name:
            case "init":
                _add_init(verb)
            case "cycle" | "console":
                verb.add_argument("machine", metavar="NAME", help="which machine, such as dut")
            case "down":
                verb.add_argument("--now", action="store_true", help="cut the power")

    add("init", "make disks, keys and the ssh driver's files", _init)
    add("up", "switch the machines on, and wait until ssh answers", _up)
    add("down", "shut the machines down", _down)
    add("status", "say which machines run", _status)
    add("cycle", "cut a machine's power and give it back", _cycle)
    add("fit", "offer more packets than the DUT forwards; boots it a few times", _fit)
    add("console", "type at a machine's serial console; Ctrl-] ends it", _console)


def _add_init(verb: argparse.ArgumentParser) -> None:
    say = verb.add_argument
    say("--world", type=Path, required=True, metavar="DIR", help="what `bench-build world` made")
    say("--kernel", type=Path, required=True, metavar="FILE", help="an archive: the known-good one")
    say("--machines", type=int, choices=sorted(LAYOUTS), default=2, help="default: %(default)s")
    say("--accelerator", default="tcg", help="QEMU's: tcg or kvm; default: %(default)s")
    say("--disk-mib", type=int, default=DISK_MIB, help="of each machine; default: %(default)s")
    say("--qemu", default="qemu-system-x86_64", metavar="PROGRAM", help="default: %(default)s")


def _init(options: argparse.Namespace) -> int:
    home = options.directory.absolute()
    make_box(
        home,
        world=options.world.absolute(),
        kernel=options.kernel.absolute(),
        count=options.machines,
        program=options.qemu,
        accelerator=options.accelerator,
        disk_mib=options.disk_mib,
        say=_say,
    )
    print(f"made {home}; now: bench-lab box up {home}")
    return 0


def _up(options: argparse.Namespace) -> int:
    home = options.directory.absolute()
    box = load_box(home)
    with _alone(home), _interruptible():
        off = [machine for machine in box.machines if not is_on(machine)]
        began_s = time.monotonic()
        try:
            for machine in off:
                switch_on(home, box, machine)
            for machine in box.machines:
                _wait_for_ssh(home, machine)
                _say(f"{machine.name}: ssh answers, {time.monotonic() - began_s:.0f} s")
        except BaseException as error:
            for machine in off:
                cut_power(machine)
            if isinstance(error, KeyboardInterrupt):
                raise InfraError("interrupted: what was switched on is off again") from error
            raise
    testbeds = home / "testbeds.toml"
    print(f"now: bench-lab check box --testbeds {testbeds} --state {home / 'state'}")
    return 0


def _wait_for_ssh(home: Path, machine: Machine) -> None:
    words = ["ssh", "-F", str(home / "ssh_config"), "-o", "BatchMode=yes"]
    words += ["-o", f"ConnectTimeout={_SSH_S}", machine.name, "true"]
    end_s = time.monotonic() + _BOOT_S
    while subprocess.run(words, capture_output=True, check=False, timeout=_BOOT_S).returncode:  # noqa: S603 - a list
        printed = machine.console_log.read_text(errors="replace") if is_on(machine) else None
        if printed is None:
            raise InfraError(f"{machine.name} went off", hint=f"see {machine.console_log}")
        if time.monotonic() > end_s:
            raise InfraError(
                f"ssh does not answer on {machine.name} within {_BOOT_S:.0f} s; its console:"
                f" {quoted(last_lines(printed), columns=400)}",
                hint=f"see {machine.console_log}",
            )
        time.sleep(_POLL_S)


def _down(options: argparse.Namespace) -> int:
    home = options.directory.absolute()
    box = load_box(home)
    with _alone(home):
        if not options.now:
            shut_down(box.machines)
        for machine in box.machines:
            cut_power(machine)
    return 0


def _status(options: argparse.Namespace) -> int:
    for machine in load_box(options.directory.absolute()).machines:
        state = "on" if is_on(machine) else "off"
        print(f"{machine.name}\t{state}\tssh port {machine.ssh_port}")
    return 0


def _cycle(options: argparse.Namespace) -> int:
    home = options.directory.absolute()
    box = load_box(home)
    machine = box.named(options.machine)
    with _alone(home):
        cut_power(machine)
        switch_on(home, box, machine)
    return 0


def _fit(options: argparse.Namespace) -> int:
    home = options.directory.absolute()
    load_box(home)
    print(f"{home / 'testbeds.toml'} offers {fit_rate(home, _say)} pps now")
    return 0


def _console(options: argparse.Namespace) -> int:
    machine = load_box(options.directory.absolute()).named(options.machine)
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(machine.console))
        except OSError as error:
            hint = "see `bench-lab box status`; one console has one reader"
            raise InfraError(f"{machine.name}: no console: {error}", hint=hint) from error
        with _raw_terminal():
            _converse(line)
    return 0


def _converse(line: socket.socket) -> None:
    """Carry what is typed to the line, and back, until either end or Ctrl-]."""
    keyboard = sys.stdin.fileno()
    while True:
        readable, _, _ = select.select([line, keyboard], [], [])
        if line in readable:
            if not (printed := line.recv(_GULP)):
                return
            sys.stdout.buffer.write(printed)
            sys.stdout.buffer.flush()
        if keyboard in readable:
            typed = os.read(keyboard, _GULP)
            line.sendall(typed.partition(_LEAVE)[0])
            if not typed or _LEAVE in typed:
                return


@contextmanager
def _raw_terminal() -> Iterator[None]:
    keyboard = sys.stdin.fileno()
    if not os.isatty(keyboard):
        yield
        return
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    lock = try_lock(home / "lock")
    if lock is None:
        raise InfraError(f"another command is at work on {home}", hint="wait for it, or end it")
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have a kill(1) and a lost terminal end this as Ctrl-C does, which leaves no machine on."""
    signals = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(one, _interrupt) for one in signals]
    try:
        yield
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


def _interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


def _say(text: str) -> None:
    print(text, flush=True)
