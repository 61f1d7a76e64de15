"""The build command of all ways, which takes the built program from a cache.

`python -m benchmarks.commands.kept_build KEPT [--relinked]`, where a commit is checked out. Only
where it is relinked does it heed BENCH_IMAGE: images that are not in the cache are built.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def take(kept: Path, *, relinked: bool = False) -> Path:
    """Put the program of the commit that is checked out here beside its sources."""
    asked = ["git", "rev-parse", "HEAD^{tree}"]
    tree = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()  # noqa: S603
    place = Path("bench")
    image = os.environ.get("BENCH_IMAGE", "0") if relinked else "0"
    program = kept / (tree if image == "0" else f"{tree}-{image}")
    if not program.exists():
        subprocess.run(["make", "-s", "bench"], check=True)  # noqa: S607 - make from PATH
        shutil.move(place, program)
    place.unlink(missing_ok=True)
    shutil.copy2(program, place)
    return place.absolute()


if __name__ == "__main__":
    take(Path(sys.argv[1]), relinked="--relinked" in sys.argv[2:])
