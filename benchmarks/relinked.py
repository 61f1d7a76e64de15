"""The spread of images of one revision: the embedded and the virtual kernel, in several orders.

`python -m benchmarks relinked`. The images take turns, round by round, so that disturbances of the
machine fall on all alike. It needs a C compiler and some minutes of one processor; run it when
nothing else wants that. Without QEMU, virtual machines are left out.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

from buildbot_bench.lab.driver import Driver, Dut
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings

IMAGES = 6


@dataclass(frozen=True, kw_only=True)
class Bed:
    """A testbed on this machine, what it boots, and how many rounds tell enough of it."""

    name: str
    source: str
    metric: str
    rounds: int
    driver: Callable[[Path], Driver]


BEDS = (
    Bed(
        name="embedded",
        source="kernel",
        metric="packets/CPU-s",
        rounds=12,
        driver=partial(EmbeddedDriver, EmbeddedSettings(duration_s=0.3)),
    ),
    Bed(
        name="vm",
        source="vm_kernel",
        metric="pps",
        rounds=12,
        driver=partial(QemuDriver, QemuSettings()),
    ),
    Bed(
        name="vm-exact",
        source="vm_kernel",
        metric=INSTRUCTIONS,
        rounds=2,
        driver=partial(QemuDriver, QemuSettings(metric=INSTRUCTIONS)),
    ),
)


def main() -> int:
    """Build, measure, print, one testbed after the other."""
    for bed in BEDS:
        if bed.source != "kernel" and shutil.which(QemuSettings().program) is None:
            print(f"\n{bed.name}: there is no {QemuSettings().program}")
            continue
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            kernels = [build(home, bed.source, image) for image in range(IMAGES)]
            values: list[list[float]] = [[] for _ in kernels]
            for _ in range(bed.rounds):
                for image, kernel in enumerate(kernels):
                    values[image].append(measure(bed, home, kernel))
        print(f"\n{bed.name}, {bed.metric}")
        show(values)
    return 0


def build(home: Path, source: str, image: int) -> Path:
    """The image of the first commit of a kernel's history with that number."""
    tree = home / f"tree-{image}"
    with resources.as_file(resources.files("buildbot_bench.demo") / source) as files:
        shutil.copytree(files, tree)
    subprocess.run(  # noqa: S603 - a fixed command line
        ["make", "-s", "kernel", f"BENCH_IMAGE={image}"],  # noqa: S607 - make from PATH
        cwd=tree,
        check=True,
    )
    return tree / "kernel"


def measure(bed: Bed, home: Path, kernel: Path) -> float:
    """One boot and one blast, in the testbed's metric."""
    with Dut(bed.driver(home / "lab"), kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        return dut.blast("forwarding").values[bed.metric]


def show(values: list[list[float]]) -> None:
    """Each image against the median of all, and the two spreads that matter."""
    medians = [statistics.median(boots) for boots in values]
    middle = statistics.median(medians)
    print("image  median against all  between its boots (sd)")
    for image, boots in enumerate(values):
        spread = statistics.stdev(boots) / middle
        print(f"{image:5d}  {medians[image] / middle - 1:+18.2%}  {spread:22.2%}")
    means = [statistics.fmean(boots) / middle for boots in values]
    run = statistics.fmean(statistics.variance(boots) for boots in values) ** 0.5 / middle
    build_variance = statistics.variance(means) - run**2 / len(values[0])
    print(f"sd between boots of one image: {run:.2%}")
    print(f"sd between images, boots' share taken off: {max(build_variance, 0.0) ** 0.5:.2%}")


if __name__ == "__main__":
    sys.exit(main())
