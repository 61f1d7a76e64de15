"""A ZFS boot environment (bectl(8)) for the kernel under test, a clone of the known-good one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import BootEnvironmentSettings, DutSettings
from buildbot_bench.lab.hardware.sysctl import NO_DEBUGGER

# / is mounted from POOL/ROOT/NAME.
_SCRIPT = 'mount -p | while read -r device on rest; do [ "$on" != / ] || echo "${device##*/}"; done'
_MOUNTED = re.compile(r"^Successfully mounted \S+ at (/\S*)$", re.MULTILINE)
# What the clone had itself is kept beside it: each boot may have other lines of ours.
_LOADER_SCRIPT = r"""
set -e
cd "$1"
if [ ! -e loader.conf.before ]; then
    cp -p loader.conf.local loader.conf.before 2>/dev/null || : >loader.conf.before
fi
shift
{ cat loader.conf.before; printf '%s\n' "$@"; } >loader.conf.local
"""


class BootEnvironments:
    """Two environments; the kernel under test lies in the one that is made anew for each job."""

    script = _SCRIPT
    advice = "see whether the loader heeds `bectl activate -t`, as FreeBSD's own does"

    def __init__(self, remote: Remote, dut: DutSettings, names: BootEnvironmentSettings) -> None:
        self._remote = remote
        self._dut = dut
        self._names = names
        self.known_good = names.known_good

    def once(self, name: str, tunables: Sequence[str]) -> str:
        """The loader reads the environment's own settings: kernel and tunables stand there."""
        settings = (NO_DEBUGGER, *tunables, f"kernel={name}")
        lines = ['{}="{}"'.format(*setting.split("=", 1)) for setting in settings]
        with mounted(self._remote, self._names.under_test) as root, TemporaryFile() as script:
            script.write(_LOADER_SCRIPT.encode())
            script.seek(0)
            self._remote.need("sh", "-s", "--", f"{root}/boot", *lines, stdin=script)
        self._remote.need("bectl", "activate", "-t", self._names.under_test)
        return self._names.under_test

    def undo(self) -> None:
        """Forget the activation."""
        self._remote.run("bectl", "activate", "-T")

    def copy_known_good(self) -> str:
        """The clone has the known-good kernel, too."""
        return self._dut.known_good


def make_environment(remote: Remote, names: BootEnvironmentSettings) -> None:
    """Clone the known-good environment, which must run, in the place of the last job's clone."""
    remote.run("bectl", "umount", "-f", names.under_test)
    remote.run("bectl", "destroy", "-F", "-o", names.under_test)
    remote.need("bectl", "create", "-e", names.known_good, names.under_test)


@contextmanager
def mounted(remote: Remote, name: str) -> Iterator[str]:
    """Where an environment is mounted for the length of a block."""
    mounted = _MOUNTED.search(remote.need("bectl", "mount", name))
    if mounted is None:
        raise InfraError(
            f"{remote.address}: bectl does not say where it mounted {name}",
            hint=f"try `bectl mount {name}` there",
        )
    try:
        yield mounted[1]
    finally:
        remote.need("bectl", "umount", name)


def has_environment(remote: Remote, name: str) -> bool:
    """Whether `bectl list` names it."""
    lines = remote.run("bectl", "list", "-H").stdout.splitlines()
    return name in [line.partition("\t")[0] for line in lines]
