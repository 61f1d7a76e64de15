"""The kinds of failure: usage, untestable revision, infrastructure, and not ready yet."""


class BenchError(Exception):
    """Any failure that this package reports on purpose; `hint` is what a person should try next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(BenchError):
    """What a person asked for cannot be understood: an argument, a file, a revision."""


class UntestableRevision(BenchError):  # noqa: N818 - the glossary's word; it is an outcome, not a fault
    """The revision does not build, boot or pass traffic: it is stepped around."""


class SkippedRevision(UntestableRevision):
    """The revision's own command says by its exit status that it cannot be tested: no doubt."""


class InfraError(BenchError):
    """The lab, the network or a worker failed: it is retried and says nothing of the revision."""


class StoppedError(InfraError):
    """What asked for it shuts down and ended it on the way: nothing is amiss."""


class NotYetError(InfraError):
    """What must be there first is being made; the message says how far it is. Ask again."""
