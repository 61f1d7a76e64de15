"""A transport for GIT_SSH_COMMAND that serves a local repository and delays its bytes.

`python slow_ssh.py DIRECTORY HOST "git-upload-pack 'PATH'"`; files in DIRECTORY control it.

* `hold`: the number of bytes after which it waits until the file is gone;
* `trickle`: the number of bytes that it lets through in a tenth of a second;
* `refusal`: what it writes to standard error before it fails.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO


def git_environment(directory: Path) -> dict[str, str]:
    """What makes git take this for its ssh."""
    command = [sys.executable, "-I", str(Path(__file__).resolve()), str(directory)]
    return {"GIT_SSH_COMMAND": shlex.join(command), "GIT_SSH_VARIANT": "simple"}


def main() -> int:
    directory, command = Path(sys.argv[1]), shlex.split(sys.argv[-1])
    if (directory / "refusal").exists():
        sys.stderr.buffer.write((directory / "refusal").read_bytes())
        return 128
    with subprocess.Popen(["git", command[0][4:], *command[1:]], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        _pass_on(server.stdout, directory)
    return server.returncode


def _pass_on(source: BinaryIO, directory: Path) -> None:
    hold = _number(directory / "hold")
    step = _number(directory / "trickle")
    passed = 0
    while chunk := source.read1(step or 4096):
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        passed += len(chunk)
        while hold and passed >= hold and (directory / "hold").exists():
            time.sleep(0.02)
        if step:
            time.sleep(0.1)


def _number(path: Path) -> int:
    return int(path.read_text()) if path.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
