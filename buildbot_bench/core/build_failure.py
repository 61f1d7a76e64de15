"""The cause of a failed FreeBSD build: the revision, the builder or the person who asked.

A failure before the kernel is begun (make's bootstrap, the tool chain, the kernel's directory) is
the builder's, except one of config(8): an option or a device that the revision lacks makes the
variant untestable, and a malformed line in the person's own file is a usage error.
"""

from __future__ import annotations

import re

from buildbot_bench.core.build_log import Diagnosis
from buildbot_bench.core.build_stages import Stage, Stages
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision, UsageError

_HEADER = re.compile(
    r"fatal error: '?(?P<name>[\w./+-]+\.h)'?(?: file not found|: No such file or directory)"
)
_NOT_A_CONFIGURATION = "syntax error"
_CHECK = "see what `bench-build check` says"


def failure(stages: Stages, found: Diagnosis, *, own_configuration: str) -> BenchError:
    """The error to raise for a build that ended in a stage with a diagnosis of its log.

    `own_configuration` is the path of the configuration that was written for this build.
    """
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
    """Whether a build that failed for this reason would fail so again: a second one tells nothing.

    A script of the farm's own may fail by accident, and says so in words that are not known here.
    """
    return _SAYS_IT_AGAIN.search(reason) is not None


def _remedy(reason: str) -> str:
    if header := _HEADER.search(reason):
        return f"install the package that has {header['name']}; {_CHECK}"
    if "No space left" in reason:
        return "make room"
    if "unknown argument" in reason or "unknown warning" in reason or "unsupported opt" in reason:
        return "install a compiler of about the tree's age"
    return _CHECK
