"""What was said to be kept is on the disk when the power goes, and what has a name is whole.

Where nobody may mount a disk, conftest.py leaves these out.
"""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from buildbot_bench.build.surroundings import check_out
from buildbot_bench.history.fetching import fetch
from buildbot_bench.history.git import run_git
from buildbot_bench.lab.files import copy_verified, replace_text
from buildbot_bench.plugin.artefacts.place import DiskPlace
from tests.chaos.disk import FarmDisk
from tests.gitrepo import Commit, add_commits, make_repository

KERNEL = b"r311849\n"
DIGEST = hashlib.sha256(KERNEL).hexdigest()


def write_down_something_else(directory: Path) -> None:
    """Bring a file to the disk, and with it the names of all that was made before."""
    with (directory / "else").open("wb") as file:
        file.write(b"other")
        file.flush()
        os.fsync(file.fileno())


def test_an_artefact_that_was_taken_over_is_there(disk: FarmDisk) -> None:
    place = DiskPlace(disk.root / "artefacts")
    incoming = place.incoming("upload")
    incoming.write_bytes(KERNEL)
    place.move(incoming, DIGEST)
    disk.cut_power()
    assert place.path(DIGEST).read_bytes() == KERNEL


def test_a_text_that_was_put_in_place_is_whole(disk: FarmDisk) -> None:
    replace_text(disk.root / "jobs" / "request.json", "{}")
    write_down_something_else(disk.root)
    disk.cut_power()
    assert (disk.root / "jobs" / "request.json").read_text() == "{}"


@pytest.mark.parametrize("again", [False, True])
def test_a_copied_artefact_is_whole(disk: FarmDisk, tmp_path: Path, again: bool) -> None:
    source = tmp_path / "kernel"
    source.write_bytes(KERNEL)
    for _ in range(1 + again):
        copy_verified(source, disk.root / "job" / "artefact", DIGEST)
    write_down_something_else(disk.root)
    disk.cut_power()
    assert (disk.root / "job" / "artefact").read_bytes() == KERNEL


def test_what_was_fetched_is_whole(disk: FarmDisk, tmp_path: Path) -> None:
    upstream = tmp_path / "upstream"
    shas = make_repository(upstream, [Commit(files={"kernel": "r1\n"})])
    mirror = disk.root / "mirror.git"

    def fetched() -> None:
        fetch(
            mirror, str(upstream), timeout_s=60, work="", on_progress=print, stop=threading.Event()
        )

    fetched()
    write_down_something_else(disk.root)
    disk.cut_power()
    fetched()
    assert run_git(mirror, "show", f"{shas[0]}:kernel", timeout_s=60) == b"r1\n"


def test_a_builders_mirror_is_whole(disk: FarmDisk, tmp_path: Path) -> None:
    upstream = tmp_path / "upstream"
    (first,) = make_repository(upstream, [Commit(files={"kernel": "r1\n"})])
    mirror, place = disk.root / "mirror", disk.root / "tree"
    url = f"file://{upstream}"
    check_out(mirror, url, first, place)
    (second,) = add_commits(upstream, [Commit(files={"kernel": "r2\n"})])
    check_out(mirror, url, second, place)
    write_down_something_else(disk.root)
    disk.cut_power()
    for sha, kernel in ((first, "r1\n"), (second, "r2\n")):
        check_out(mirror, url, sha, place)
        assert (place / "kernel").read_text() == kernel


def test_a_power_cut_takes_what_was_not_brought_to_the_disk(disk: FarmDisk) -> None:
    kept, lost = disk.root / "kept", disk.root / "lost"
    with kept.open("w") as file:
        file.write("all of it")
        file.flush()
        os.fsync(file.fileno())
    lost.write_text("in memory alone")
    disk.cut_power()
    assert kept.read_text() == "all of it"
    assert not lost.exists() or lost.read_text() == ""


def test_a_full_disk_takes_no_byte_until_it_is_freed(disk: FarmDisk) -> None:
    disk.fill()
    with pytest.raises(OSError, match="No space"):
        (disk.root / "more").write_bytes(bytes(1 << 16))
    disk.free()
    (disk.root / "more").write_bytes(bytes(1 << 16))
