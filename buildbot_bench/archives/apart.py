"""The reading of a hostile artefact in a process of its own, which a memory limit can end."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from buildbot_bench.archives.contents import Contents, contents
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken
from buildbot_bench.core.manifest import Manifest

_REFUSED = "refused"
_MOST_SAID = 500  # characters of what a process says as it fails


def contents_apart(path: Path, budget: ArchiveBudget = KERNEL_ARCHIVE) -> Contents:
    """What `contents` gives, read by a child process within the budget; this blocks.

    Raises:
        UntestableRevision: The artefact is no kernel, or takes more than the budget to read.
    """
    # -P: what lies in the master's directory is not imported.
    command = [sys.executable, "-P", "-m", __name__, str(path), json.dumps(asdict(budget))]
    try:
        ended = subprocess.run(  # noqa: S603 - our own module, no shell
            command, capture_output=True, check=False, timeout=budget.wall_s
        )
    except subprocess.TimeoutExpired as error:
        raise InfraError(
            f"an artefact of the master was not read within {budget.wall_s} s",
            hint="see how busy the master's disk is",
        ) from error
    if ended.returncode == -signal.SIGXCPU:
        raise UntestableRevision(f"the artefact takes more than {budget.cpu_s} s to read")
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip()[-_MOST_SAID:]
        raise InfraError(f"an artefact could not be read (exit {ended.returncode}): {said}")
    found = json.loads(ended.stdout)
    if _REFUSED in found:
        raise UntestableRevision(found[_REFUSED])
    manifest = found["manifest"]
    return Contents(
        kernel_digest=found["kernel_digest"], manifest=Manifest(**manifest) if manifest else None
    )


def _read(path: Path, budget: ArchiveBudget) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_AS, (budget.memory_bytes, budget.memory_bytes))
    # Beyond the first one it is told, by a signal that ends it.
    resource.setrlimit(resource.RLIMIT_CPU, (budget.cpu_s, budget.cpu_s + 1))
    try:
        return asdict(contents(path, budget))
    except UntestableRevision as error:
        return {_REFUSED: error.message}
    except MemoryError:
        memory = spoken(budget.memory_bytes)
        return {_REFUSED: f"the artefact takes more than {memory} of memory to read"}


if __name__ == "__main__":
    print(json.dumps(_read(Path(sys.argv[1]), ArchiveBudget(**json.loads(sys.argv[2])))))  # noqa: T201
