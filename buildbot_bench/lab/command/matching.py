"""The search for a regular expression in a text, in a process that a deadline can end.

A line of JSON on stdin has pattern and text, one on stdout the matches.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import islice

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import quoted

_DEADLINE_S = 20.0  # also for a busy machine; a sound pattern takes milliseconds
_MOST = 3  # matches that are told


def matches_of(pattern: str, text: str, *, deadline_s: float = _DEADLINE_S) -> list[str]:
    """What the pattern's group matches, at most three times; `^` and `$` are of each line."""
    # -P: what lies in the current directory is not imported.
    words = [sys.executable, "-P", "-m", "buildbot_bench.lab.command.matching"]
    asked = json.dumps({"pattern": pattern, "text": text}).encode()
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            words, input=asked, capture_output=True, check=True, timeout=deadline_s
        )
    except subprocess.TimeoutExpired as error:
        raise InfraError(
            f"the pattern {quoted(pattern)} takes more than {deadline_s:g} s with this output",
            hint="write it without one repetition within another",
        ) from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise InfraError(f"cannot look for the pattern {quoted(pattern)}: {error}") from error
    found: list[str] = json.loads(done.stdout)
    return found


def _main() -> None:
    asked = json.load(sys.stdin)
    found = re.finditer(asked["pattern"], asked["text"], re.MULTILINE)
    groups = (match[1] for match in found if match[1] is not None)
    print(json.dumps(list(islice(groups, _MOST))))  # noqa: T201 - read by who started us


if __name__ == "__main__":
    _main()
