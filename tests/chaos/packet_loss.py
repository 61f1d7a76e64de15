"""A network that loses packets: the kernel's packet filter drops some of those of one port.

`tc netem` loses packets too, and needs a kernel module that many virtual machines lack.
"""

import subprocess

from tests.running import ran

_COMMAND = "nft"
# A run that is killed leaves its table behind. It drops nothing once the port has left the set.
_AT_MOST_S = 60
_TABLE = """
table inet {table} {{
  set lossy {{ type inet_service; flags timeout; }}
  chain incoming {{
    type filter hook input priority 0;
    tcp dport @lossy numgen random mod 100 <= {last} drop
    tcp sport @lossy numgen random mod 100 <= {last} drop
  }}
}}
add element inet {table} lossy {{ {port} timeout {seconds}s }}
"""


class PacketLoss:
    """Loses a part of the packets from and to a TCP port. `lacks` says why it cannot do so here."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._table = f"bench_chaos_{port}"
        self.lacks = self._try()

    def lose(self, percent: int) -> None:
        """Drop so many, 1 to 100, of 100 packets each way, for a minute at most."""
        self.stop()
        values = {"last": percent - 1, "seconds": _AT_MOST_S}
        _filter(_TABLE.format(table=self._table, port=self._port, **values))

    def stop(self) -> None:
        """Drop none. Does nothing where none are dropped."""
        _filter(f"table inet {self._table}\ndelete table inet {self._table}")

    def _try(self) -> str:
        try:
            self.lose(1)
            self.stop()
        except (OSError, subprocess.CalledProcessError) as error:
            return f"no packets are lost: {getattr(error, 'stderr', '') or error}"
        return ""


def _filter(rules: str) -> None:
    command = [_COMMAND, "-f", "-"]
    ran(command, input=rules, check=True)
