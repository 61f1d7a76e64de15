"""The run of a program to its end, and what it printed: of a short one, and of git.

Git is the program, and no library: it alone resolves all that a person writes, such as
`main@{yesterday}`, and a machine on which somebody bisects has it.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Self

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import long_line, one_line


def answer_of(
    words: Sequence[str],
    *,
    deadline_s: float | None = 60.0,
    given: str | None = None,
    stdin: int = subprocess.DEVNULL,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """How a program ended, and what it printed; `given` is what it reads, else it reads nothing.

    Raises InfraError where it cannot be run, or comes to no end within `deadline_s`.
    """
    try:
        return subprocess.run(  # noqa: S603 - a list of words, no shell
            list(words),
            **({"stdin": stdin} if given is None else {"input": given}),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=deadline_s,
            cwd=cwd,
            env=env,
        )
    except OSError as error:
        raise InfraError(f"cannot run {words[0]}: {error}", hint="install it") from error
    except subprocess.TimeoutExpired as error:
        raise InfraError(f"{words[0]} came to no end within {deadline_s:g} s") from error


def output_of(words: Sequence[str], *, deadline_s: float = 60.0) -> str:
    """What a program printed; InfraError, with the end of its complaint, where it fails as well."""
    done = answer_of(words, deadline_s=deadline_s)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-300:]
        raise InfraError(f"{words[0]} failed: {said}", hint=f"try {' '.join(words)}")
    return done.stdout


_TIMEOUT_S = 3600.0  # a checkout of a large tree on a slow disk


def identity(program: str, at_s: int) -> dict[str, str]:
    """Variables by which git makes the same commit each time, for all people."""
    who = {"NAME": program, "EMAIL": f"{program}@localhost", "DATE": f"@{at_s} +0000"}
    return {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}


class GitRefusedError(Exception):
    """Git ended with a complaint, which is the text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Git:
    """The git program in a directory of a repository; `home` is the directory that git keeps."""

    place: Path
    home: Path

    @classmethod
    def around(cls, place: Path) -> Self:
        """The repository that a directory lies in.

        Raises InfraError: there is no git program.
        """
        try:
            found = _run(place, ("rev-parse", "--path-format=absolute", "--git-common-dir"))
        except GitRefusedError as error:
            raise UsageError(
                f"{place} is in no git repository: {long_line(str(error))}",
                hint="go into one, or name it by --repository",
            ) from error
        return cls(place=place, home=Path(os.fsdecode(found.rstrip(b"\n"))))

    def bytes(
        self,
        *arguments: str,
        stdin: bytes = b"",
        place: Path | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> bytes:
        """What git prints.

        Raises GitRefusedError: it complains. Raises InfraError: it cannot be started.
        """
        return _run(place or self.place, arguments, stdin=stdin, more=more)

    def text(self, *arguments: str, place: Path | None = None) -> str:
        """What git prints, as text without the newline at its end; fails as `bytes` does."""
        return self.bytes(*arguments, place=place).decode("utf-8", "replace").rstrip("\n")


def _run(
    place: Path,
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    more: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    # No hook of the repository is run, and nobody is asked for a password.
    command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
    environment = os.environ | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"} | dict(more)
    try:
        done = subprocess.run(  # noqa: S603 - a list of words
            command,
            cwd=place,
            input=stdin,
            capture_output=True,
            env=environment,
            timeout=_TIMEOUT_S,
            check=False,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if not place.is_dir():
            raise UsageError(f"{place} is no directory", hint="name one that is there") from error
        raise InfraError("there is no program git", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        raise InfraError(f"git {arguments[0]} took more than an hour") from error
    except OSError as error:
        raise InfraError(f"git cannot be run in {place}: {error}") from error
    if done.returncode:
        complaint = done.stderr[-2000:].decode("utf-8", "replace").strip()
        raise GitRefusedError(one_line(complaint, columns=400) or f"status {done.returncode}")
    return done.stdout
