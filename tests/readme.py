"""The commands and examples of the README, for the tests that run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
TEXT = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def commands() -> list[str]:
    """What a reader is told to type, in order."""
    return [
        line.removeprefix("$ ")
        for block in blocks("console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def block_with(word: str) -> list[str]:
    """The commands of the one console block in which a word stands, in order."""
    (block,) = [block for block in blocks("console") if word in block]
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def of(program: str) -> list[str]:
    """The commands of one program, in order."""
    return [command for command in commands() if command.split()[0] == program]


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type a command into a shell at the checkout, with the project's commands on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=CHECKOUT,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
