"""The mail sink as a child process of a farm on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

from buildbot_bench.demo.processes import Child


def sink(mails: Path, *, port: int, log: Path) -> Child:
    """A real SMTP server that keeps each mail as a file in `mails`."""
    return Child(
        name="mail server",
        command=[
            sys.executable,
            "-m",
            "buildbot_bench.demo.smtp_sink",
            f"--port={port}",
            f"--dir={mails}",
        ],
        cwd=log.parent,
        env={},
        log=log,
    )
