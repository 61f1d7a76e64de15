"""Kernels as builds and the lab know them: named by their digests, here or elsewhere."""

import hashlib
import os
import time

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.artefacts.place import (
    COPY_KEPT_S,
    Artefact,
    ArtefactMissingError,
    Artefacts,
    DiskPlace,
)

KERNEL = b"\x7fELF kernel"
DIGEST = hashlib.sha256(KERNEL).hexdigest()


@pytest.fixture
def artefacts(tmp_path) -> Artefacts:
    return Artefacts(tmp_path / "artefacts")


@pytest.fixture
def elsewhere(tmp_path) -> DiskPlace:
    return DiskPlace(tmp_path / "elsewhere")


@pytest.fixture
def away(tmp_path, elsewhere) -> Artefacts:
    """The artefacts of a master that keeps them elsewhere."""
    return Artefacts(tmp_path / "away", lambda: elsewhere)


def uploaded(artefacts, token="build-1", content=KERNEL):
    path = artefacts.incoming(token)
    path.write_bytes(content)
    return path


async def adopted(artefacts, **upload) -> Artefact:
    """What an upload came to be."""
    incoming = uploaded(artefacts, **upload)
    artefact = await artefacts.look(incoming)
    await artefacts.adopt(incoming, artefact)
    assert not incoming.exists()
    return artefact


def files(root):
    return [path for path in root.rglob("*") if path.is_file()]


async def test_an_upload_is_known_by_what_it_holds(artefacts):
    assert await adopted(artefacts) == Artefact(digest=DIGEST, size=len(KERNEL))
    assert (await artefacts.local(DIGEST)).read_bytes() == KERNEL


async def test_the_same_bytes_twice_are_one_artefact(artefacts):
    first = await adopted(artefacts)
    second = await adopted(artefacts, token="build-2")
    assert first == second
    assert files(artefacts.root) == [await artefacts.local(DIGEST)]


def test_uploads_at_the_same_time_do_not_meet(artefacts):
    assert artefacts.incoming("build-1") != artefacts.incoming("build-2")


async def test_what_is_still_coming_in_is_no_artefact(artefacts):
    uploaded(artefacts)
    with pytest.raises(ArtefactMissingError):
        await artefacts.local(DIGEST)


async def test_a_directory_holds_few_of_many(artefacts):
    await adopted(artefacts)
    assert (await artefacts.local(DIGEST)).parent.name == DIGEST[:2]


async def test_what_lies_elsewhere_is_lent_to_the_lab_from_a_copy(away, elsewhere):
    await adopted(away)
    assert elsewhere.path(DIGEST).read_bytes() == KERNEL
    elsewhere.path(DIGEST).unlink()
    assert (await away.local(DIGEST)).read_bytes() == KERNEL


async def test_another_master_has_it_from_there(away, elsewhere, tmp_path):
    await adopted(away)
    other = Artefacts(tmp_path / "other", lambda: elsewhere)
    assert (await other.local(DIGEST)).read_bytes() == KERNEL


async def test_what_was_damaged_on_its_way_is_not_lent(away, elsewhere):
    path = elsewhere.path(DIGEST)
    path.parent.mkdir(parents=True)
    path.write_bytes(KERNEL[:-1])
    with pytest.raises(InfraError, match="is damaged: its content has another digest"):
        await away.local(DIGEST)
    assert files(away.root) == []


async def test_copies_go_after_a_day_and_what_a_farm_had_before_stays(away, elsewhere, tmp_path):
    before = Artefacts(away.root)
    old = await adopted(before, content=b"from before")
    await adopted(away)
    copy = await away.local(DIGEST)
    for path in files(away.root):
        long_ago = time.time() - COPY_KEPT_S - 60
        os.utime(path, (long_ago, long_ago))
    other = Artefact(digest=hashlib.sha256(b"other").hexdigest(), size=5)
    (tmp_path / "file").write_bytes(b"other")
    await elsewhere.put(tmp_path / "file", other)
    await away.local(other.digest)
    assert not copy.exists()
    assert (await away.local(old.digest)).read_bytes() == b"from before"


async def test_copies_go_though_nothing_comes_from_elsewhere(away):
    await adopted(away)
    old = await away.local(DIGEST)
    long_ago = time.time() - COPY_KEPT_S - 60
    os.utime(old, (long_ago, long_ago))
    await adopted(away, content=b"other")
    assert not old.exists()


async def test_an_upload_that_broke_off_goes_after_a_day(artefacts):
    torn = uploaded(artefacts, token="build-1")
    fresh = uploaded(artefacts, token="build-2")
    long_ago = time.time() - COPY_KEPT_S - 60
    os.utime(torn, (long_ago, long_ago))
    await adopted(artefacts, token="build-3")
    assert (torn.exists(), fresh.exists()) == (False, True)


async def test_what_is_deleted_is_gone_everywhere(away, elsewhere):
    await adopted(away)
    await away.delete(DIGEST)
    assert files(away.root) == files(elsewhere.root) == []
    with pytest.raises(ArtefactMissingError):
        await away.local(DIGEST)
