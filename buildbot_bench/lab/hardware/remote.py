"""Hosts behind ssh: commands that end or go on, uploads, and the connections of a testbed."""

import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.lab.hardware.settings import Limits, SshSettings

_SSH_FAILED = 255  # exit status, ssh(1)
_STRANGER = "Host key verification failed"
_KEEP_ALIVES = 3  # without an answer, ssh_config(5)'s default
_KEPT_S = "60"


class Unreachable(InfraError):  # noqa: N818 - it says what the host is
    """ssh did not reach the host, lost it, or the command did not end in time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteAnswer:
    """How a remote command ended and what it printed."""

    status: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The end of what it said when it failed."""
        return (self.stderr.strip() or self.stdout.strip())[-400:] or f"status {self.status}"


class Remote:
    """A host; `address` is a name or a Host of the ssh configuration.

    `sockets` is a directory for the sockets of shared connections; without it none is shared.
    """

    def __init__(
        self,
        address: str,
        *,
        ssh_config: Path | None,
        limits: Limits,
        sockets: Path | None = None,
    ) -> None:
        self.address = address
        self._ssh_config = ssh_config
        self._limits = limits
        self._sockets = sockets
        self._may_be_shared = False

    def argv(self, command: Sequence[str], *, shared: bool = False) -> list[str]:
        """The local command that runs a remote one.

        Raises UsageError for a word of several lines, which a csh(1) does not take.
        """
        if any("\n" in word for word in command):
            raise UsageError(
                f"{self.address}: a word of {command[0]} has several lines",
                hint="put them into a script: csh, root's shell on many hosts, takes no such word",
            )
        limits = self._limits
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": str(max(1, round(limits.connect_s))),
            "ServerAliveInterval": str(max(1, round(limits.keep_alive_s))),
            "ServerAliveCountMax": str(_KEEP_ALIVES),
            "LogLevel": "ERROR",
        }
        if shared and self._sockets is not None:
            options |= {"ControlMaster": "auto", "ControlPersist": _KEPT_S}
            options |= {"ControlPath": str(self._sockets / "%C")}
        else:
            options |= {"ControlPath": "none"}
        return [*self._ssh(options), "--", self.address, shlex.join(command)]

    def _ssh(self, options: Mapping[str, str]) -> list[str]:
        words = ["ssh", "-x", "-a", "-T"]
        if self._ssh_config is not None:
            words += ["-F", str(self._ssh_config)]
        return words + [
            word for name, value in options.items() for word in ("-o", f"{name}={value}")
        ]

    def hang_up(self) -> None:
        """Give up the shared connection, which may lead to nowhere."""
        if self._may_be_shared and self._sockets is not None:
            command = self._ssh({"ControlPath": str(self._sockets / "%C")})
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(  # noqa: S603 - a list
                    [*command, "-O", "exit", "--", self.address],
                    capture_output=True,
                    timeout=self._limits.connect_s,
                    check=False,
                )
        self._may_be_shared = False

    def run(
        self,
        *command: str,
        deadline_s: float | None = None,
        stdin: BinaryIO | None = None,
        shared: bool = True,
    ) -> RemoteAnswer:
        """Run a command to its end, no matter what it is; Unreachable when that is not known."""
        limit_s = deadline_s or self._limits.command_s
        self._may_be_shared |= shared
        try:
            result = subprocess.run(  # noqa: S603 - a list; the remote words are quoted
                self.argv(command, shared=shared),
                stdin=stdin or subprocess.DEVNULL,
                capture_output=True,
                timeout=limit_s,
                check=False,
            )
        except OSError as error:
            raise InfraError(f"cannot run ssh: {error}", hint="install OpenSSH") from error
        except subprocess.TimeoutExpired as error:
            raise Unreachable(
                f"{self.address}: {command[0]} came to no end within {limit_s:g} s"
            ) from error
        answer = RemoteAnswer(
            status=result.returncode, stdout=_text(result.stdout), stderr=_text(result.stderr)
        )
        if answer.status == _SSH_FAILED and _STRANGER in answer.stderr:
            # Not the silence of a machine that hangs: its power is not to be taken away.
            raise InfraError(
                f"{self.address} is not the host that it was: {_STRANGER}",
                hint=f"compare its key, and correct known_hosts for {self.address}",
            )
        if answer.status == _SSH_FAILED:
            raise Unreachable(
                f"{self.address} cannot be reached: {answer.complaint}",
                hint=f"try `ssh {self.address} true`",
            )
        return answer

    def need(
        self, *command: str, deadline_s: float | None = None, stdin: BinaryIO | None = None
    ) -> str:
        """What a command printed that must succeed."""
        answer = self.run(*command, deadline_s=deadline_s, stdin=stdin)
        if answer.status != 0:
            raise InfraError(f"{self.address}: {command[0]} failed: {answer.complaint}")
        return answer.stdout

    def script(self, text: str, *arguments: str, deadline_s: float | None = None) -> str:
        """What sh(1) prints for a script that must succeed.

        By standard input: a csh(1), root's shell for long, takes no word of several lines.
        """
        with tempfile.TemporaryFile() as file:
            file.write(text.encode())
            file.seek(0)
            return self.need("sh", "-s", "--", *arguments, deadline_s=deadline_s, stdin=file)

    def upload(self, source: Path, target: str) -> None:
        """Put a local file where a path of the host's says."""
        with source.open("rb") as file:
            self.need(
                *("sh", "-c", 'cat > "$0"', target),
                deadline_s=self._limits.transfer_s,
                stdin=file,
            )


def _text(output: bytes) -> str:
    return output.decode("utf-8", errors="replace")


# A kernel that panics is to reboot: in its debugger it would wait for a person. What a person wants
# otherwise is a tunable, which comes later and goes before. Source: sys/kern/kern_shutdown.c.
NO_DEBUGGER = "debug.debugger_on_panic=0"
_SYSCTL_SCRIPT = 'for name in "$@"; do sysctl -n "$name" 2>/dev/null; printf "\\036"; done'
_SEPARATOR = "\x1e"


def read_sysctls(
    remote: Remote, *names: str, deadline_s: float | None = None, shared: bool = True
) -> dict[str, str]:
    """Each variable's text; empty for one that the host does not have."""
    command = ("sh", "-c", _SYSCTL_SCRIPT, "sysctls", *names)
    answer = remote.run(*command, deadline_s=deadline_s, shared=shared)
    texts = answer.stdout.split(_SEPARATOR)
    return {name: text.strip() for name, text in zip(names, texts, strict=False)}


_SCRIPT = 'echo "pid $$"; exec timeout -k 5 "$0" "$@" 2>&1'
_PID = re.compile(r"pid (\d+)\n")
_POLL_S = 0.05  # between two looks at a process
_STOP_S = 10.0  # that a process has for each of TERM and KILL


class RemoteProcess:
    """A running program; its stdout and stderr go to one local file, which is its log."""

    def __init__(
        self, remote: Remote, command: Sequence[str], log: Path, *, lifetime_s: float
    ) -> None:
        self.command = list(command)
        self.remote = remote
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        words = ["sh", "-c", _SCRIPT, str(max(1, round(lifetime_s))), *command]
        with log.open("wb") as file:
            try:
                self._ssh = subprocess.Popen(  # noqa: S603 - a list; the remote words are quoted
                    remote.argv(words),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            except OSError as error:
                raise InfraError(f"cannot run ssh: {error}", hint="install OpenSSH") from error

    def log(self) -> str:
        """What it printed so far, under the line by which the archive's logs begin."""
        printed = _PID.sub("", self._printed(), count=1)
        return f"CMD on {self.remote.address}: {' '.join(self.command)}\n{printed}"

    def ended(self) -> bool:
        """Whether it is over, or ssh lost it."""
        return self._ssh.poll() is not None

    def status(self) -> int | None:
        """How it ended; 255 when ssh lost it, 124 when its time was over, None as it runs."""
        return self._ssh.poll()

    def wait_until(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        """Wait for a condition; returns whether it came about before the end of either."""
        end_s = time.monotonic() + deadline_s
        while time.monotonic() < end_s:
            over = self.ended()
            if condition():
                return True
            if over:
                return False
            time.sleep(_POLL_S)
        return False

    def stop(self) -> None:
        """End it. A second call does nothing."""
        if self.ended():
            return
        try:
            if match := _PID.search(self._printed()):
                for name in ("TERM", "KILL"):
                    self.remote.run("kill", f"-{name}", match[1])
                    if self.wait_until(self.ended, _STOP_S):
                        return
        finally:
            self._ssh.kill()
            self._ssh.wait()
        raise InfraError(f"{self.remote.address}: {self.command[0]} does not end when it is killed")

    def _printed(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")


Reach = Callable[[str], Remote]


class Switchboard:
    """Hands out one Remote per address; `close` ends all connections, and may be called often."""

    def __init__(self, settings: SshSettings) -> None:
        self._settings = settings
        self._remotes: dict[str, Remote] = {}
        self._sockets: Path | None = None

    def reach(self, address: str) -> Remote:
        """The host of that address."""
        if address not in self._remotes:
            self._remotes[address] = Remote(
                address,
                ssh_config=self._settings.ssh_config,
                limits=self._settings.limits,
                sockets=self._directory() if self._settings.share_connections else None,
            )
        return self._remotes[address]

    def close(self) -> None:
        """End the shared connections."""
        for remote in self._remotes.values():
            remote.hang_up()
        self._remotes.clear()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None

    def _directory(self) -> Path:
        """The name of a socket must be short, which our state directory's need not be."""
        if self._sockets is None:
            self._sockets = Path(tempfile.mkdtemp(prefix="bench-"))
        return self._sockets
