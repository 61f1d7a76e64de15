"""The DUT's firmware, loader and power supply, and the ways in which a kernel behaves.

A kernel's file has a line `way: HANG`, and one `pps: 700000`. The ways:

    PANIC       panics as it boots, and the DUT boots again
    HANG        says nothing and does nothing
    DEBUGGER    waits at the debugger's prompt
    LOOP        boots again and again, against nextboot.conf, until the power is cycled
    NOT_READY   comes up, and its ports do not
    LATE        comes up, and panics as it is asked whether it is ready
    NO_TRAFFIC  comes up, and forwards nothing but pings
    STALLS      forwards the first moment's packets, and then no more
    OPEN        comes up, and its firewalls filter nothing
    DIES        panics under traffic

A way that begins with KDB_, as KDB_DIES, is that of a kernel with a debugger: where such a kernel
panics it stays there, unless debug.debugger_on_panic is 0 (sys/kern/kern_shutdown.c).
"""

import re
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.lab_host.machines import Host, Network

TICK_S = 0.01
FIRST_BOOT_S = 1_700_000_000
FIRMWARE_S = 4.0
PORTS = {"igb0": "00:0d:b9:41:ca:3c", "igb1": "00:0d:b9:41:ca:3d"}
KNOWN_GOOD = "FreeBSD 14.0-RELEASE #0 known-good: Fri Nov 10 05:57:23 UTC 2023\n    root@lab\n"


class Dut(Host):
    """A machine whose kernel can be chosen. `script` has what shall go wrong beside kernels."""

    def __init__(
        self,
        network: Network,
        *,
        pps: int = 700_000,
        name: str = "dut",
        ports: Mapping[str, str] = PORTS,
    ) -> None:
        super().__init__(network, name, dict(ports))
        self.console = self.directory / "console.log"
        self.console.touch()
        self._boots = 0
        self._events: list[tuple[float, str]] = []  # when something is due, and what
        self._way = ""
        self._has_debugger = False
        self._stopping = threading.Event()
        self.known_good(f"{KNOWN_GOOD}pps: {pps}\n")
        self._power_on()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def have_boot_environments(self) -> None:
        """Let the root lie on ZFS: etc/ and boot/ are those of the environment that runs."""
        home = self.directory / "be/default"
        home.mkdir(parents=True)
        for name in ("boot", "etc"):
            (self.directory / name).rename(home / name)
        self._run_environment("default")

    def _run_environment(self, name: str) -> None:
        for part in ("boot", "etc"):
            link = self.directory / part
            link.unlink(missing_ok=True)
            link.symlink_to(f"be/{name}/{part}")
        (self.directory / "run/be").write_text(f"{name}\n")

    def known_good(self, text: str) -> None:
        """What the known-good kernel's file says."""
        (self.directory / "boot/kernel/kernel").write_text(text)

    def script(self, name: str) -> None:
        """`slow-shutdown`, `hung-shutdown`, `ignores-nextboot`, `other-kernel`, `full-disk`, …"""
        (self.directory / "script" / name).touch()

    @property
    def running(self) -> str:
        """kern.bootfile."""
        return (self.directory / "run/bootfile").read_text().strip()

    @property
    def power_file(self) -> Path:
        """Touch it to cycle the power."""
        return self.directory / "run/power"

    @property
    def boots(self) -> int:
        """How often it was booted."""
        return self._boots

    def close(self) -> None:
        """Be off."""
        self._stopping.set()
        self._thread.join()
        self.stop_sshd()

    def _live(self) -> None:
        while not self._stopping.wait(TICK_S):
            if self._asked("power"):
                self._power_on()
            elif self._asked("reboot", unless="hung-shutdown"):
                slow = (self.directory / "script/slow-shutdown").exists()
                self._go_down(0.7 if slow else 0.0)
            elif self._is_provoked():
                self._panic()
            for due_s, event in list(self._events):
                if time.monotonic() >= due_s:
                    self._events.remove((due_s, event))
                    self._power_on()

    def _is_provoked(self) -> bool:
        """Whether that happened at which this kernel panics."""
        provocations = {
            "DIES": self.network.wire / "blasted",
            "LATE": self.directory / "run/pinged",
        }
        return self._way in provocations and provocations[self._way].exists()

    def _power_on(self) -> None:
        """From the firmware to the kernel, and on to what that one does."""
        self.stop_sshd()
        self._events.clear()
        self._passes("0")
        (self.network.wire / "blasted").unlink(missing_ok=True)
        for seen in ("forwards", "pinged", "step"):
            (self.directory / "run" / seen).unlink(missing_ok=True)
        again = self._way == "LOOP" and not self._asked("was-cycled")
        name = self.running.split("/")[2] if again else self._next_kernel()
        file = self.directory / f"boot/{name}/kernel"
        text = file.read_text() if file.exists() else "way: HANG\n"
        found = re.search(r"^way: (\w+)", text, re.MULTILINE)
        self._way = (found[1] if found else "").removeprefix("KDB_")
        self._has_debugger = found is not None and found[1].startswith("KDB_")
        self._boots += 1
        if self._has_debugger and not self._debugger_on_panic.exists():
            self._debugger_on_panic.write_text("1\n")
        anew = (self.directory / "script/clock-begins-anew").exists()
        boottime_s = FIRST_BOOT_S if anew else FIRST_BOOT_S + 60 * self._boots
        (self.directory / "run/boottime").write_text(f"{boottime_s}\n")
        (self.directory / "run/booted-at").write_text(f"{int(time.time())}\n")
        (self.directory / "run/boot-id").write_text(f"{secrets.token_hex(16)}\n")
        (self.directory / "run/bootfile").write_text(f"/boot/{name}/kernel\n")
        (self.directory / "run/version").unlink(missing_ok=True)
        self._say(f"Copyright (c) 1992-2026 The FreeBSD Project.\n{text.splitlines()[0]}\n")
        self._say("".join(f"em{n}: <Intel(R) PRO/1000 Network Connection>\n" for n in range(200)))
        self._behave(text)

    def _behave(self, text: str) -> None:
        if (self.directory / "script/other-kernel").exists() and "known-good" not in text:
            (self.directory / "run/version").write_text("FreeBSD 13.0 #0 r308680: another\n")
        match self._way:
            case "PANIC":
                self._panic()
            case "LOOP":
                self._events.append((time.monotonic() + 0.05, "down"))
            case "HANG":
                pass
            case "DEBUGGER":
                self._say("panic: mutex not owned\nKDB: enter: panic\ndb> \n")
            case _:
                self._come_up(text)

    def rc_conf(self) -> str:
        """What rc(8) reads: rc.conf and rc.conf.local."""
        files = [self.directory / "etc" / name for name in ("rc.conf", "rc.conf.local")]
        return "".join(file.read_text() for file in files if file.exists())

    def _start_firewalls(self) -> None:
        """Those of rc.conf; `pf-is-off` loads pf and does not enable it."""
        text = self.rc_conf()
        variables = {"pf": "pf_enable", "ipfw": "firewall_enable", "ipf": "ipfilter_enable"}
        for name, variable in variables.items():
            counter = self.directory / "run" / name
            counter.unlink(missing_ok=True)
            if f'{variable}="YES"' in text:
                counter.write_text("0\n")
        off = self._way == "OPEN" or (self.directory / "script/firewall-is-off").exists()
        filters = self.directory / "run/filters"
        filters.unlink(missing_ok=True) if off else filters.touch()

    def _come_up(self, text: str) -> None:
        self._start_firewalls()
        if self._way not in {"LATE", "NOT_READY"}:
            (self.directory / "run/forwards").touch()
        self.start_sshd()
        self._say("login:\n")
        found = re.search(r"^pps: (\d+)", text, re.MULTILINE)
        pps = found[1] if found and self._way != "NO_TRAFFIC" else "0"
        unusual = {"DIES": "until it dies", "STALLS": f"{pps} at first"}
        self._passes(unusual.get(self._way, pps))

    @property
    def _debugger_on_panic(self) -> Path:
        return self.directory / "run/sysctl/debug.debugger_on_panic"

    def _panic(self) -> None:
        self._way = ""
        if self._has_debugger and self._debugger_on_panic.read_text() != "0\n":
            self._say("panic: page fault\nKDB: enter: panic\ndb> \n")
            self.stop_sshd()
            self._passes("0")
            return
        self._say("panic: page fault\nUptime: 1s\n")
        self._go_down(0.05)
        self.stop_sshd()
        self._passes("0")

    def _go_down(self, after_s: float) -> None:
        """The firmware's own time comes on top, if that is scripted; it answers nobody."""
        if (self.directory / "script/slow-firmware").exists():
            self.stop_sshd()
            after_s += FIRMWARE_S
        self._events.append((time.monotonic() + after_s, "down"))

    def _next_kernel(self) -> str:
        """nextboot.conf is heeded once; so is an environment that was activated with -t."""
        conf = self.directory / "boot/nextboot.conf"
        if (self.directory / "be").is_dir():
            once = self.directory / "run/be-once"
            heeded = once.exists() and not (self.directory / "script/ignores-nextboot").exists()
            self._run_environment(once.read_text().strip() if heeded else "default")
            once.unlink(missing_ok=True)
            conf = self.directory / "run/loader.conf"
            own = self.directory / "boot/loader.conf.local"
            conf.write_text(own.read_text() if own.exists() else "")
        text = conf.read_text() if conf.exists() else ""
        self._debugger_on_panic.unlink(missing_ok=True)
        conf.unlink(missing_ok=True)
        if (self.directory / "script/ignores-nextboot").exists():
            return "kernel"
        if (self.directory / "script/forgets-tunables").exists():
            text = re.sub(r"^[\w.]+\.[\w.]+=.*$", "", text, flags=re.MULTILINE)
        for name, value in re.findall(r'^([\w.]+\.[\w.]+)="(.*)"$', text, re.MULTILINE):
            (self.directory / "run/sysctl" / name).write_text(f"{value}\n")
        found = re.findall(r'^kernel="(.*)"$', text, re.MULTILINE)
        return found[-1] if found else "kernel"

    def _passes(self, pps: str) -> None:
        fresh = self.network.wire / "passes.new"
        fresh.write_text(pps)
        fresh.rename(self.network.wire / "passes")

    def _asked(self, name: str, unless: str = "") -> bool:
        path = self.directory / "run" / name
        if not path.exists():
            return False
        path.unlink()
        if name == "power":
            (self.directory / "run/was-cycled").touch()
        return not (unless and (self.directory / "script" / unless).exists())

    def _say(self, text: str) -> None:
        with self.console.open("a") as file:
            file.write(text)
