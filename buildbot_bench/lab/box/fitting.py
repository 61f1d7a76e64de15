"""The offered rate of a box, found by measuring how much its DUT forwards."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.lab.background import home_of
from buildbot_bench.lab.box.making import KERNEL
from buildbot_bench.lab.drivers.ssh import SshDriver
from buildbot_bench.lab.dut import Dut
from buildbot_bench.lab.files import replace_text, sha256
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.locks import try_lock
from buildbot_bench.lab.testbeds import load_testbeds

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
