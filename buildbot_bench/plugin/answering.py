"""How our errors are answered over REST: as JSON-RPC's own, with our words; it serves no path."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from buildbot.www.rest import JSONRPC_CODES, BadJsonRpc2

from buildbot_bench.core.errors import BenchError, InfraError, NotYetError, UsageError
from buildbot_bench.core.legible import one_line

T = TypeVar("T")

# What is told of a hostile parameter is quoted in it, and is no longer than a person reads.
_COLUMNS = 1000
# The same request succeeds later; until then the message says how far it is. Of the codes that
# JSON-RPC 2.0 leaves to servers.
NOT_YET = -32001


async def answering(work: Awaitable[T]) -> T:
    """A person's mistake and a site that is away are answers, not faults of the master."""
    try:
        return await work
    except UsageError as error:
        raise BadJsonRpc2(_line(error), JSONRPC_CODES["invalid_params"]) from error
    except NotYetError as error:
        raise BadJsonRpc2(_line(error), NOT_YET) from error
    except InfraError as error:
        raise BadJsonRpc2(_line(error), JSONRPC_CODES["internal_error"]) from error


def _line(error: BenchError) -> str:
    """The words of an error in one line that can be sent, whatever it quotes."""
    return one_line(str(error), columns=_COLUMNS)
