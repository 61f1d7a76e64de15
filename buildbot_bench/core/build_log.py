"""The diagnosis of a failed build from its log: the revision's fault, or the builder's."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# Of sysexits(3): what bench-build ends with when it was asked wrongly, and when the builder is ill.
EX_USAGE, EX_TEMPFAIL = 64, 75
# 126 and 127 are sh(1)'s "cannot be executed" and "not found"; the last four are those of a command
# that somebody ended: by SIGHUP, SIGINT, SIGKILL (so does a system without memory) or SIGTERM.
_NO_PROGRAM = frozenset({126, 127})
_NOT_THE_REVISIONS_FAULT = frozenset({EX_USAGE, EX_TEMPFAIL, 129, 130, 137, 143})
# A word of its own: neither a flag (-Wno-error=format) nor a part of a path (sys/error.c).
_WORD = r"(?<![-/.\w])error\b(?![-=/]|\.\w)"
# Lines that say why, the most telling first: what bench-build found out, which a script of the farm
# calls; what a compiler or linker says; what another program
# says, its name before; that make gives up; the word anywhere.
_ERRORS = (
    re.compile(r"^bench-build: "),
    re.compile(r"(?:^|: )(?:fatal )?error: ", re.IGNORECASE),
    re.compile(rf"^\S+: .*(?:{_WORD}|don't know how to make|No rule to make)", re.IGNORECASE),
    re.compile(r"\*\*\* .*\bError (?:code )?\d+\b"),
    re.compile(_WORD, re.IGNORECASE),
)
# A warning may be about a variable called error, and so may the line of source that it shows.
_NO_ERROR = re.compile(r"\s|.*\b(?:warning|note): ")
_BUILDER_FAULT = re.compile(
    r"No space left on device|Disk quota exceeded|Cannot allocate memory|Read-only file system"
    r"|Input/output error|\bKilled\b|out of memory|virtual memory exhausted"
    # Of make, BSD's and GNU's, and of a compiler's driver, when somebody ended what they run.
    r"|\bSignal (?:2|9|15)\b|\*\*\* .*\b(?:Error 1(?:30|37|43)|Interrupt|Terminated)$"
    r"|\b(?:Interrupt|Terminated) signal terminated program\b"
    # Of a compiler or linker that is older or newer than the tree.
    r"|error: unknown argument:? '|error: unsupported option '|error: unknown warning option '"
)
# A shell, make or env(1) that lacks a program: one of the system's, or a file of the tree.
_LACKS = re.compile(
    r"(?:^|[ :])['\u2018]?(?P<program>[^\s:'\u2018\u2019]+)['\u2019]?:"
    r" (?:[Cc]ommand not found|not found|No such file or directory|Permission denied)$"
)
_LACKS_SURELY = re.compile(r"[Cc]ommand not found|: not found$")
# How make(1), both of them, passes on that a recipe's tool is missing; the line before names it.
_TOOL_IS_MISSING = re.compile(r"\*\*\* .*\bError (?:code )?12[67]\b")
_COMPILERS = 1  # rank of a compiler's or linker's line among _ERRORS
# What GNU's and BSD's make say of a target; a file that another target needs is named otherwise by
# the former and alike by the latter.
_NO_TARGET = re.compile(
    r"No rule to make target [`'](?P<gnu>[^']+)'\.|don't know how to make (?P<bsd>\S+?)\. Stop"
)
_REASON_LENGTH = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """Whose fault a failed build is, and the line of its log that says so."""

    is_builder_fault: bool
    reason: str


class BuildLog:
    """Keeps of a build's log what tells why it failed: the first error line, else the last line.

    `asked` are the words of the command, or of the script, that the builder's operator wrote:
    a target among them that make does not know is their mistake.
    """

    def __init__(self, asked: Collection[str] = ()) -> None:
        self._asked = frozenset(asked)
        self._builder_fault = ""
        self._missing_tool, self._tree_lacks = "", False
        self._errors: dict[int, str] = {}
        self._last = "no output"

    def take(self, line: str) -> None:
        """Look at one line of the build's output."""
        if not line.strip():
            return
        if not self._builder_fault and _BUILDER_FAULT.search(line):
            self._builder_fault = line
        self._take_missing(line)
        if not self._builder_fault and self._is_unknown_target(line):
            self._builder_fault = line
        self._take_error(line)
        self._last = line

    def _take_missing(self, line: str) -> None:
        """Tell a tool that the builder lacks from a file that this revision's tree lacks."""
        if _LACKS_SURELY.search(line):
            missing = line
        elif _TOOL_IS_MISSING.search(line):
            missing = self._last
        else:
            return
        program = found["program"] if (found := _LACKS.search(missing)) else ""
        if "/" in program and not program.startswith("/"):
            self._tree_lacks = True
        else:
            self._missing_tool = self._missing_tool or missing

    def _take_error(self, line: str) -> None:
        if _NO_ERROR.match(line):
            return
        rank = next((rank for rank, pattern in enumerate(_ERRORS) if pattern.search(line)), None)
        if rank is not None:
            self._errors.setdefault(rank, line)
        if rank == _COMPILERS:
            self._missing_tool = ""  # the script went on without it

    def _is_unknown_target(self, line: str) -> bool:
        found = _NO_TARGET.search(line)
        return found is not None and found[found.lastgroup or 0] in self._asked

    def diagnosis(self, exit_code: int | None) -> Diagnosis:
        """What a build that ended with this status suffered from; None when none is known."""
        error = self._errors[min(self._errors)] if self._errors else self._last
        fault = self._builder_fault or self._missing_tool
        killed = exit_code is None or exit_code < 0
        return Diagnosis(
            is_builder_fault=bool(fault)
            or killed
            or exit_code in _NOT_THE_REVISIONS_FAULT
            or (exit_code in _NO_PROGRAM and not self._tree_lacks),
            reason=(fault or error).strip()[:_REASON_LENGTH],
        )
