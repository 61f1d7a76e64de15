"""Build the last commit twice, in different surroundings, and compare the bytes."""

import os
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from running import Refusal, copy_of, output, run

_SURROUNDINGS: tuple[tuple[str, dict[str, str], int], ...] = (
    ("one", {}, 0o022),
    ("another/and/deeper", {"TZ": "Pacific/Chatham", "LC_ALL": "C"}, 0o077),
)
_NAMED = 5  # members that a refusal names


def built_twice(root: Path, scratch: Path, *, isolated: bool) -> Path:
    """Return a directory with wheel and sdist of the last commit.

    Raises:
        Refusal: The build failed, or the second one made other bytes.
    """
    commit_time = output(["git", "log", "-1", "--format=%ct"], root)
    built = []
    for place, variables, umask in _SURROUNDINGS:
        with _umask(umask):
            copy = copy_of(root, scratch / place)
            made = copy.parent / f"{copy.name}-dist"
            environment = {**os.environ, **variables, "SOURCE_DATE_EPOCH": commit_time}
            if (copy / "constraints.txt").exists():  # the same tools make the same bytes next year
                environment["PIP_CONSTRAINT"] = str(copy / "constraints.txt")
            tools = [] if isolated else ["--no-isolation"]
            run(
                [sys.executable, "-m", "build", f"--outdir={made}", *tools, str(copy)],
                environment=environment,
                quiet=True,
                otherwise="correct what is said above, commit it",
            )
            built.append(made)
    first, second = built
    differ = [name for one in sorted(first.iterdir()) for name in differences(one, second)]
    if differ:
        raise Refusal(
            f"two builds of one commit differ in {', '.join(differ[:_NAMED])}: keep times, paths "
            "and chance out of what is packed, commit that, then run this again."
        )
    return first


def differences(archive: Path, other: Path) -> list[str]:
    """Return the members that differ in the archive of this name in directory `other`."""
    if archive.read_bytes() == (other / archive.name).read_bytes():
        return []
    ours, theirs = _members(archive), _members(other / archive.name)
    differ = sorted(n for n in ours.keys() | theirs.keys() if ours.get(n) != theirs.get(n))
    return differ or [archive.name]  # their order, or how they are compressed


def _members(archive: Path) -> dict[str, tuple[object, ...]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return {
                one.filename: (one.CRC, one.date_time, one.external_attr)
                for one in opened.infolist()
            }
    with tarfile.open(archive) as unpacked:
        return {
            one.name: (one.mode, one.mtime, one.uid, one.uname, _data(unpacked, one))
            for one in unpacked
        }


def _data(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened = archive.extractfile(member)
    return opened.read() if opened else b""


@contextmanager
def _umask(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)
