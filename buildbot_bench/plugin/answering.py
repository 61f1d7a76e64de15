"""How our errors are answered over REST: as JSON-RPC's own, with our words; it serves no path."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from buildbot.www.rest import JSONRPC_CODES, BadJsonRpc2

from buildbot_bench.core.errors import InfraError, UsageError

T = TypeVar("T")


async def answering(work: Awaitable[T]) -> T:
    """A person's mistake and a site that is away are answers, not faults of the master."""
    try:
        return await work
    except UsageError as error:
        raise BadJsonRpc2(str(error), JSONRPC_CODES["invalid_params"]) from error
    except InfraError as error:
        raise BadJsonRpc2(str(error), JSONRPC_CODES["internal_error"]) from error
