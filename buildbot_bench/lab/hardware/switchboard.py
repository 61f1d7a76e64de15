"""The hosts of one testbed, and their shared ssh connections."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import SshSettings

Reach = Callable[[str], Remote]


class Switchboard:
    """Hands out one Remote per address; `close` ends all connections, and may be called often."""

    def __init__(self, settings: SshSettings) -> None:
        self._settings = settings
        self._remotes: dict[str, Remote] = {}
        self._sockets: Path | None = None

    def reach(self, address: str) -> Remote:
        """The host of that address."""
        if address not in self._remotes:
            self._remotes[address] = Remote(
                address,
                ssh_config=self._settings.ssh_config,
                limits=self._settings.limits,
                sockets=self._directory() if self._settings.share_connections else None,
            )
        return self._remotes[address]

    def close(self) -> None:
        """End the shared connections."""
        for remote in self._remotes.values():
            remote.hang_up()
        self._remotes.clear()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None

    def _directory(self) -> Path:
        """The name of a socket must be short, which our state directory's need not be."""
        if self._sockets is None:
            self._sockets = Path(tempfile.mkdtemp(prefix="bench-"))
        return self._sockets
