"""The embedded kernel as its variants and images: for real, by make and the C compiler."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from buildbot_bench.archives.contents import neutral_digest
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.files import sha256
from tests.running import ran

TREE = Path(__file__).parents[2] / "buildbot_bench" / "demo" / "kernel"
IMAGES = range(6)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A function that builds a kernel with these variables in its environment; it says where."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(TREE, tree, dirs_exist_ok=True)

    def build(make: str = "make", **variables: str) -> Path:
        (tree / "kernel").unlink(missing_ok=True)
        command = [make, "-s", "kernel", "CFLAGS=-O2"]
        subprocess.run(command, cwd=tree, env=os.environ | variables, check=True)
        return (tree / "kernel").rename(tmp_path_factory.mktemp("built") / "kernel")

    return build


@pytest.fixture(scope="module")
def images(built):
    return [built(BENCH_IMAGE=str(number)) for number in IMAGES]


def symbols(kernel: Path) -> list[str]:
    """The names of a kernel's own functions and variables, in the order of their addresses."""
    table = ran(["nm", "-n", kernel], check=True).stdout
    told = [line.split()[-2:] for line in table.splitlines()]
    return [name for kind, name in told if kind in "tTbBrR" and "_" not in name[:2]]


def test_each_image_has_an_order_of_its_own(images):
    orders = [symbols(image) for image in images]
    assert len({tuple(order) for order in orders}) == len(IMAGES)
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(orders[0]))}


def test_the_first_image_is_the_plain_one(built, images):
    assert sha256(built()) == sha256(images[0])


def test_every_image_boots_and_forwards(images, tmp_path):
    driver = EmbeddedDriver(EmbeddedSettings(duration_s=0.1), tmp_path)
    for image in images:
        with Dut(driver, image, sha256(image)) as dut:
            dut.boot()
            dut.verify()
            assert dut.blast("forwarding").values["packets/CPU-s"] > 0


@pytest.mark.skipif(shutil.which("bmake") is None, reason="BSD make (bmake) is not installed")
def test_bsd_make_builds_the_same(built):
    asked = {"BENCH_IMAGE": "3", "BENCH_OPTIONS": "options INVARIANTS", "CC": "cc"}
    assert sha256(built("bmake", **asked)) == sha256(built(**asked))


def test_two_commits_that_change_no_code_are_one_kernel_but_for_their_version(built):
    one, other = (built(BENCH_SHA=digit * 40).read_bytes() for digit in "ab")
    assert one != other
    assert neutral_digest(one) == neutral_digest(other)


def test_another_image_and_another_option_are_another_kernel(built, images):
    plain, relinked = (neutral_digest(image.read_bytes()) for image in images[:2])
    option = neutral_digest(built(BENCH_OPTIONS="options INVARIANTS").read_bytes())
    assert len({plain, relinked, option}) == 3
    unset = built(BENCH_OPTIONS="nooptions INVARIANTS\noptions UNKNOWN").read_bytes()
    assert neutral_digest(unset) == plain
