"""How tests ask the farms of this machine over HTTP, and how often they look."""

import ssl
import time
from typing import Any

# Trusts nobody: to read the authorities of the web takes 20 ms of processor time for each client,
# and nothing here speaks TLS.
ASKED: dict[str, Any] = {
    "timeout": 60,
    "trust_env": False,
    "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
}

_LEAST_S = 0.05
_TIMES = 4


def pause(began_s: float) -> None:
    """After a look that began then: whoever waits leaves most of the processor to the farm."""
    time.sleep(max(_LEAST_S, _TIMES * (time.monotonic() - began_s)))
