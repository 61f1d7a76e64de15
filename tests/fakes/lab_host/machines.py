"""Machines of a lab: a real sshd each, on a port of 127.0.0.1, and a directory of their own."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from buildbot_bench.demo.watching import answers
from tests.ports import free_port
from tests.running import ran

BIN = Path(__file__).parent / "bin"
CONNECT = Path(__file__).parent / "connect"
SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
PATIENCE_S = 120.0


class Network:
    """What the machines of one lab share: keys, ssh's configuration, and the wire between them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.wire = root / "wire"
        root.mkdir(exist_ok=True)
        (self.wire / "script").mkdir(parents=True)
        self.ssh_config = root / "ssh_config"
        for name in ("host_key", "user_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(root / name)]
            subprocess.run(command, check=True)
        if os.geteuid() == 0:  # what the system's own service would make for it
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)

    def script(self, name: str, times: int | str = 1) -> None:
        """Have pkt-gen fail in that way, so many times."""
        (self.wire / "script" / name).write_text(str(times))

    def knows(self, name: str, port: int) -> None:
        """Let ssh find a machine by its name."""
        host_key = (self.root / "host_key.pub").read_text().split()[:2]
        with (self.root / "known_hosts").open("a") as file:
            file.write(f"[127.0.0.1]:{port} {' '.join(host_key)}\n")
        with self.ssh_config.open("a") as file:
            file.write(
                f"Host {name}\n HostName 127.0.0.1\n Port {port}\n"
                f" IdentityFile {self.root}/user_key\n IdentitiesOnly yes\n"
                f" UserKnownHostsFile {self.root}/known_hosts\n"
                " KexAlgorithms curve25519-sha256\n"
                f" ProxyCommand {CONNECT} {port}\n ProxyUseFdpass yes\n"
            )


class Host:
    """A machine that is on."""

    def __init__(self, network: Network, name: str, ports: dict[str, str]) -> None:
        self.network = network
        self.name = name
        self.directory = network.root / name
        for directory in ("boot", "etc", "tmp", "run/sysctl", "ports", "script"):
            (self.directory / directory).mkdir(parents=True, exist_ok=True)
        (self.directory / "run/bootfile").write_text("/boot/kernel/kernel\n")
        (self.directory / "run/booted-at").write_text(f"{int(time.time())}\n")
        (self.directory / "boot/kernel").mkdir()
        (self.directory / "boot/kernel/kernel").write_text("FreeBSD 15.0-STABLE of this host\n")
        for port, mac in ports.items():
            self.link(port, mac)
        self.port = free_port()
        network.knows(name, self.port)
        self._sshd: subprocess.Popen[bytes] | None = None
        self._config = self.directory / "sshd_config"
        self._config.write_text(self._settings())

    def link(self, port: str, mac: str, status: str = "active") -> None:
        """What ifconfig says of a port."""
        text = f"{port}: flags=8843<UP,RUNNING>\n\tether {mac}\n\tstatus: {status}\n"
        (self.directory / "ports" / port).write_text(text)

    def start_sshd(self) -> None:
        """Answer from now on."""
        assert SSHD is not None
        log = str(self.directory / "sshd.log")
        self._sshd = subprocess.Popen([SSHD, "-D", "-f", str(self._config), "-E", log])
        deadline_s = time.monotonic() + PATIENCE_S
        while not answers(self.port):
            assert self._sshd.poll() is None, Path(log).read_text()
            assert time.monotonic() < deadline_s, "sshd does not start"
            time.sleep(0.01)

    def stop_sshd(self) -> None:
        """Answer no more; all sessions end, and what runs in them."""
        if self._sshd is None:
            return
        self._sshd.send_signal(signal.SIGSTOP)  # no session may begin between listing and killing
        while pids := list(descendants(self._sshd.pid)):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if all(_is_gone(pid) for pid in pids):
                break
        self._sshd.kill()
        self._sshd.wait()
        self._sshd = None

    def running(self, program: str) -> bool:
        """Whether a program runs in one of the machine's sessions."""
        assert self._sshd is not None
        return any(program in _command(pid) for pid in descendants(self._sshd.pid))

    def calls(self) -> list[str]:
        """Which of the stand-ins were run, and how."""
        path = self.directory / "run/calls"
        return path.read_text().splitlines() if path.exists() else []

    def _settings(self) -> str:
        environment = {
            "LAB_HOST": self.directory,
            "LAB_WIRE": self.network.wire,
            "LAB_BIN": BIN,
            "HOME": self.directory,  # whoever tests may have slow or noisy shell profiles
        }
        variables = " ".join(f"{name}={value}" for name, value in environment.items())
        return (
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.network.root}/host_key\n"
            f"AuthorizedKeysFile {self.network.root}/user_key.pub\nStrictModes no\nUsePAM no\n"
            "PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "PermitRootLogin prohibit-password\nPrintMotd no\nUseDNS no\nMaxStartups 100\n"
            f"ForceCommand {BIN}/login\nSetEnv {variables}\n"
        )


def _is_gone(pid: int) -> bool:
    """Dead, or only waiting for its stopped parent to take note of it."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descendants(pid: int) -> Iterator[int]:
    """The processes below a process, in any session."""
    waiting = [pid]
    while waiting:
        below = _children(waiting.pop())
        yield from below
        waiting += below


def _children(pid: int) -> list[int]:
    if Path("/proc/self/task").exists():
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return []  # it is gone
        return [int(word) for word in text.split()]
    listing = ["ps", "-A", "-o", "pid=", "-o", "ppid="]
    lines = ran(listing, check=True).stdout
    pairs = [line.split() for line in lines.splitlines()]
    return [int(child) for child, parent in pairs if int(parent) == pid]
