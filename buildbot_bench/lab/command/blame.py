"""The blame for how a command ended: the revision's or the lab's."""

import signal

from buildbot_bench.core.errors import InfraError, SkippedRevision, UntestableRevision
from buildbot_bench.core.limits import spoken
from buildbot_bench.lab.command.process import Ran, Stop

_SKIP = 125  # git-bisect(1), "Bisect run"
_NOT_RUN = {126: "cannot be run", 127: "is not there"}  # POSIX, "Exit Status for Commands"
_DISK = "see `disk-mib` of the testbed, or --disk"
MISSING = "see that the artefact has it, or that it is installed here"


def refuse(ran: Ran, name: str) -> None:
    """See that a command was run and came to an end of its own; fails as `_refuse_stopped` does."""
    where = f"`{name}`, {ran.program},"
    if ran.not_runnable:
        raise UntestableRevision(f"{where} is no program of this machine")
    if ran.error:
        raise InfraError(f"{where} {ran.ending()}", hint=MISSING)
    if ran.status == _SKIP:
        raise SkippedRevision(
            f"{where} ended with status {_SKIP}: not to be tested\n{ran.last_lines()}"
        )
    if ran.status in _NOT_RUN:
        raise InfraError(
            f"{where} ended with status {ran.status}: a program {_NOT_RUN[ran.status]}\n"
            f"{ran.last_lines()}",
            hint=MISSING,
        )
    _refuse_stopped(ran, name, where)


def _refuse_stopped(ran: Ran, name: str, where: str) -> None:
    # A shell gives the signal of its child by 128 and more.
    if ran.status in {-signal.SIGXFSZ, 128 + signal.SIGXFSZ}:
        raise UntestableRevision(blamed(f"{where} writes too large a file", ran, hint=_DISK))
    match ran.stop:
        case Stop.TIMEOUT:
            raise UntestableRevision(blamed(f"{where} had not ended after {ran.wall_s:.0f} s", ran))
        case Stop.DISK:
            raise UntestableRevision(blamed(f"{where} fills the disk", ran, hint=_DISK))
        case Stop.FULL:
            raise InfraError(
                f"the disk is nearly full, and {name} is not to blame\n{ran.last_lines()}",
                hint="make room and try again",
            )
        case Stop.ASKED:
            raise InfraError(f"{where} was ended from outside", hint="measure again")
        case Stop.NONE:
            return


def blamed(what: str, ran: Ran, *, hint: str = "") -> str:
    """What the revision is blamed for, and below it the last lines of what it printed."""
    too_much = "" if ran.stdout.whole else f" (it printed {spoken(ran.stdout.size)})"
    next_step = f"; {hint}" if hint else ""
    return f"{what}{too_much}{next_step}\n{ran.last_lines()}"
