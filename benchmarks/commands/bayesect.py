"""The installation of git_bayesect from PyPI into a virtual environment of its own."""

import subprocess
import sys
from pathlib import Path

REQUIREMENT = "git_bayesect==1.2"
_PATIENCE_S = 600.0


def installed(place: Path) -> tuple[Path | None, str]:
    """The program, installed once; or None, and the reason."""
    program = place / "bin" / "git-bayesect"
    if program.exists():
        return program, ""
    steps = (
        [sys.executable, "-m", "venv", str(place)],
        [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", REQUIREMENT],
    )
    for step in steps:
        try:
            done = subprocess.run(  # noqa: S603 - fixed commands
                step, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, str(error)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    return (program, "") if program.exists() else (None, f"{REQUIREMENT} has no {program.name}")
