"""The stage of a FreeBSD build, read from the lines that make prints.

The lines are those of Makefile.inc1 (`>>> stage 1: configuring the kernel`, `===> em (all)`), of
make in its meta mode (`Building …/ip_input.o`), and of a compiler's command elsewhere. A parallel
make builds kernel and modules side by side: their stage is that of the last line.
"""

from __future__ import annotations

import re
from enum import StrEnum

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
    return Stage.TOOLCHAIN if before is Stage.BOOTSTRAP else before
