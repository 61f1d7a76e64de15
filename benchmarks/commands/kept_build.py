"""The build command of all ways: the program that was built of the tree here, from the cache.

`python -m benchmarks.commands.kept_build KEPT`, where a commit is checked out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def take(kept: Path) -> Path:
    """Put the program of the commit that is checked out here beside its sources."""
    asked = ["git", "rev-parse", "HEAD^{tree}"]
    tree = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()  # noqa: S603
    place = Path("bench")
    place.unlink(missing_ok=True)
    shutil.copy2(kept / tree, place)
    return place.absolute()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
