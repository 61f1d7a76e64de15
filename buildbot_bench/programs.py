"""The run of a short program to its end, and what it printed."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from buildbot_bench.core.errors import InfraError


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
