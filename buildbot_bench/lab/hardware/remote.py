"""One host behind ssh: commands with a deadline, uploads, and the kernel's variables."""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.lab.hardware.settings import Limits

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
