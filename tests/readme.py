"""The commands and examples of README.md and docs/, for the tests that run them.

A block's info string begins with its language. Words behind it are for tests: `file=bench.yml`
calls a block a whole file, `part=on` a part of one, and `reason="…"` says why no test runs it.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.running import ran

CHECKOUT = Path(__file__).parents[1]
README = CHECKOUT / "README.md"
# In this order. Pages of docs/ that include another of these files hold no blocks.
DOCUMENTS = (
    README,
    *(CHECKOUT / name for name in ("CONTRIBUTING.md", "SECURITY.md")),
    *sorted((CHECKOUT / "docs").rglob("*.md")),
)
# A test types it whole: tests/e2e/test_tutorial.py.
FOLLOWED = "docs/tutorial/five-minutes.md"
# Another one types this, where there is a QEMU: tests/vm/test_vm_tutorial.py.
FOLLOWED_WITH_A_MACHINE = "docs/tutorial/freebsd-vm.md"
# On upgrading, moving and PostgreSQL: tests/e2e/test_kept_farm.py types these.
KEPT = tuple(f"docs/how-to/{name}.md" for name in ("upgrade", "move", "postgresql"))
_FENCED = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)(?P=fence) *$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A fenced block, the page where it stands and the line where it begins."""

    page: Path
    line: int
    language: str
    marks: dict[str, str]
    text: str

    @property
    def commands(self) -> list[str]:
        """What a reader is to type."""
        lines = self.text.splitlines()
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]

    def __str__(self) -> str:
        return f"{self.page.relative_to(CHECKOUT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order; directives of MyST are none."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCED.finditer(text):
        language, *words = shlex.split(match["info"]) or [""]
        if language.startswith("{"):
            continue
        indent = match["indent"]
        lines = (line.removeprefix(indent) for line in match["text"].splitlines(keepends=True))
        block = Block(
            page=page,
            line=text.count("\n", 0, match.start()) + 1,
            language=language,
            marks=dict(word.partition("=")[::2] for word in words),
            text="".join(lines),
        )
        found.append(block)
    return found


BLOCKS = [block for page in DOCUMENTS for block in blocks_of(page)]
RUN_BLOCKS = [one for one in BLOCKS if one.language == "console" and "reason" not in one.marks]


def on(page: str) -> list[Block]:
    """The blocks of one page by its path, in order."""
    return [block for block in BLOCKS if block.page == CHECKOUT / page]


def blocks(language: str, page: str | None = None, **marks: str) -> list[str]:
    """The texts of the blocks of a language, in order, of one page or of all."""
    return [
        block.text
        for block in (BLOCKS if page is None else on(page))
        if block.language == language and marks.items() <= block.marks.items()
    ]


def commands() -> list[str]:
    """What a reader is told to type and a test runs, each once, in order."""
    return [*dict.fromkeys(command for block in RUN_BLOCKS for command in block.commands)]


def block_with(word: str) -> list[str]:
    """The commands of the one console block in which a word stands, in order."""
    (block,) = [block for block in RUN_BLOCKS if word in block.text]
    return block.commands


def of(program: str) -> list[str]:
    """The commands of one program, in order."""
    return [command for command in commands() if command.split()[0] == program]


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type a command into a shell at the checkout, with the project's commands on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return ran(["sh", "-c", command], cwd=CHECKOUT, env={**os.environ, "PATH": path, **environment})
