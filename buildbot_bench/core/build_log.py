"""The diagnosis of a failed build from its log: cause, stage, and whose fault it is.

A failure before the kernel is begun (make's bootstrap, the tool chain, the kernel's directory) is
the builder's, except one of config(8): an option or a device that the revision lacks makes the
variant untestable, and a malformed line in the person's own file is a usage error.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision, UsageError

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

    A target that make does not know is the operator's mistake where `asked`, their words, has it.
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
        target = _NO_TARGET.search(line)
        if not self._builder_fault and target and target[target.lastgroup or 0] in self._asked:
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


_HEADER = re.compile(
    r"fatal error: '?(?P<name>[\w./+-]+\.h)'?(?: file not found|: No such file or directory)"
)
_NOT_A_CONFIGURATION = "syntax error"
_CHECK = "see what `bench-build check` says"


def failure(stages: Stages, found: Diagnosis, *, own_configuration: str) -> BenchError:
    """The error of a build that ended in a stage; `own_configuration` is its kernconf's path."""
    if found.is_builder_fault:
        return InfraError(found.reason, hint=_remedy(found.reason))
    if stages.stage is Stage.CONFIGURATION and stages.rejected:
        if _NOT_A_CONFIGURATION in stages.rejected and own_configuration in stages.rejected:
            return UsageError(stages.rejected, hint="fix the file that --kernconf names")
        reason = stages.rejected.replace(own_configuration, "the configuration")
        return UntestableRevision(f"config(8): {reason}")
    if stages.stage.is_the_builders:
        return InfraError(f"{stages.stage}: {found.reason}", hint=_remedy(found.reason))
    if stages.failed_module:
        return UntestableRevision(f"module {stages.failed_module}: {found.reason}")
    return UntestableRevision(found.reason)


# What a compiler, a linker, make or config(8) says of a source that stays as it is.
_SAYS_IT_AGAIN = re.compile(
    r"error: |undefined (?:symbol|reference)|No rule to make|don't know how to make|config\(8\)"
)


def fails_each_time(reason: str) -> bool:
    """Whether a build that failed for this reason would do so again: a second one tells nothing."""
    return _SAYS_IT_AGAIN.search(reason) is not None


def _remedy(reason: str) -> str:
    if header := _HEADER.search(reason):
        return f"install the package that has {header['name']}; {_CHECK}"
    if "No space left" in reason:
        return "make room"
    if "unknown argument" in reason or "unknown warning" in reason or "unsupported opt" in reason:
        return "install a compiler of about the tree's age"
    return _CHECK


# The lines are those of Makefile.inc1 (`>>> stage 1: configuring the kernel`, `===> em (all)`),
# of make in its meta mode (`Building …/ip_input.o`), and of a compiler's command elsewhere. A
# parallel make builds kernel and modules side by side: their stage is that of the last line.
_STAGE = re.compile(r">>> (.*)")
_KERNEL_BUILD = re.compile(r"Kernel build for \S+ started")
_EVERYTHING = re.compile(r"stage 3\.\d+: (?:building everything|making dependencies)")
_MODULE = re.compile(r"===> \S+ \((?:all|depend|obj)")
_COMPILING = re.compile(
    r"Building \S+\.(?:o|pico)$|(?:\S*/)?(?:clang|gcc|cc)(?:-?\d+)? .*(?<=\s)-c\s"
)
_STOPPED = re.compile(r"make(?:\[\d+\])?: stopped in \S*/modules/(\S+?)/?$")
# What config(8) prints of a configuration that it does not take, as its own sources have it.
_REJECTED = re.compile(
    r"config: |ERROR: version of config\(8\)|\S+: unknown option \""
    r"|\S+:\d+: (?:syntax error|unknown)|.*\bdevice \"[^\"]+\" is unknown|\d+ errors$"
)


class Stage(StrEnum):
    """A part of the build, in the order in which they come."""

    BOOTSTRAP = "bootstrap"
    TOOLCHAIN = "toolchain"
    CONFIGURATION = "configuration"
    KERNEL = "kernel"
    MODULES = "modules"
    WORLD = "userland"
    INSTALLATION = "installation"

    @property
    def is_the_builders(self) -> bool:
        """Whether what fails here says nothing of the revision: the kernel was not begun."""
        return self in {Stage.BOOTSTRAP, Stage.TOOLCHAIN, Stage.CONFIGURATION}


class Stages:
    """Follows a build line by line.

    `compiled` counts files of kernel and modules; `failed_module` is the one that make stopped in,
    `rejected` the first line in which config(8) refuses the configuration.
    """

    def __init__(self, stage: Stage = Stage.BOOTSTRAP) -> None:
        self.stage = stage
        self.compiled = 0
        self.failed_module = ""
        self.rejected = ""

    def take(self, line: str) -> None:
        """Look at one line of the build's output."""
        if match := _STAGE.match(line):
            self.stage = _stage(match[1], self.stage)
        elif self.stage is Stage.CONFIGURATION:
            if not self.rejected and _REJECTED.match(line):
                self.rejected = line
        elif self.stage is Stage.WORLD:
            self.compiled += _COMPILING.match(line) is not None
        elif self.stage in {Stage.KERNEL, Stage.MODULES}:
            self._take_compilation(line)

    def _take_compilation(self, line: str) -> None:
        if _MODULE.match(line):
            self.stage = Stage.MODULES
        elif match := _STOPPED.search(line):
            self.failed_module = self.failed_module or match[1]
        elif _COMPILING.match(line):
            self.compiled += 1


def _stage(line: str, before: Stage) -> Stage:
    """The stage that a line of stars announces; stages have numbers for tool chain and kernel."""
    if _KERNEL_BUILD.match(line) or line.startswith("stage 1: configuring"):
        return Stage.CONFIGURATION
    if line.startswith("Installing kernel"):
        return Stage.INSTALLATION
    if before is Stage.CONFIGURATION and _EVERYTHING.match(line):
        return Stage.KERNEL
    if line.startswith("stage 4."):
        return Stage.WORLD
    return Stage.TOOLCHAIN if before is Stage.BOOTSTRAP else before
