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
_RATES_PPS = (2_000, 6_000, 18_000, 54_000)  # threefold, from what the slowest host forwards
_HIDDEN = 0.9  # of what is offered: where so much passes, the DUT may have time left
_OVERLOAD = 2  # times what passes: a DUT that becomes faster by half still shows it
_RATE = re.compile(r"(?<=offered_pps = )\d+")


def fit_rate(home: Path, say: Callable[[str], None]) -> int:
    """Write into a box's testbeds.toml the packets per second that its DUT has no time for.

    The known-good kernel is booted once for each rate that is tried. InfraError where a boot fails,
    or the sender cannot send what it takes; the file is then as it was.
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
    passed = 0.0
    for rate in _RATES_PPS:
        say(f"offers {rate} pps …")
        try:
            offered = replace(settings.traffic, offered_pps=rate)
            passed = _passing(home, replace(settings, traffic=offered), state)
        except BenchError as error:
            least = f"{passed:.0f} pps pass, and " if passed else ""
            raise InfraError(f"{least}at {rate} pps: {error.message}", hint=error.hint) from error
        say(f"{passed:.0f} pps pass")
        if passed < _HIDDEN * rate:
            return min(rate, 100 * round(_OVERLOAD * passed / 100))
    raise InfraError(f"the DUT forwards {passed:.0f} pps and has time left")


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
