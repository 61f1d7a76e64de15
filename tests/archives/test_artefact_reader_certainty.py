"""Two kernels are one only if that is certain: what is no whole archive is the file that it is."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import tarfile
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from buildbot_bench.archives.contents import MANIFEST_NAME, contents, neutral_digest, write_manifest
from buildbot_bench.core.errors import UntestableRevision
from tests.archives.test_artefact_reader import MADE, kernel, packed

GZIP = partial(gzip.compress, mtime=0)
HALF_A_HEADER = tarfile.TarInfo("if_em.ko").tobuf()[:300]


@pytest.mark.parametrize("squeeze", [bytes, GZIP, bz2.compress, lzma.compress])
def test_images_that_begin_with_zeros_are_no_archives_but_themselves(tmp_path, squeeze):
    digests = set()
    for code in (b"\x90", b"\xc3"):
        path = tmp_path / "image"
        path.write_bytes(squeeze(bytes(512) + code * 40_000))
        digests.add(contents(path).kernel_digest)
        assert contents(path).kernel_digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(digests) == 2


@pytest.mark.parametrize(
    "ending",
    [
        b"",
        bytes(512),
        HALF_A_HEADER,
        b"x" * 512 + bytes(1024),
        bytes(1024) + b"more",
        bytes(512) + tarfile.TarInfo("if_em.ko").tobuf() + bytes(1024),
    ],
    ids=range(6),
)
@pytest.mark.parametrize("squeeze", [bytes, GZIP])
def test_what_does_not_end_as_an_archive_does_is_known_by_its_bytes(tmp_path, ending, squeeze):
    path = packed(tmp_path / "odd", {"kernel": kernel()}, "w")
    with tarfile.open(path) as archive:
        (member,) = archive
    end = member.offset_data + -(-member.size // 512) * 512
    path.write_bytes(squeeze(path.read_bytes()[:end] + ending))
    assert contents(path).kernel_digest == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("squeeze", [GZIP, bz2.compress, lzma.compress])
def test_what_follows_a_compressed_archive_makes_it_another_file(tmp_path, squeeze):
    plain = packed(tmp_path / "plain", {"kernel": kernel()}, "w").read_bytes()
    path = tmp_path / "more"
    path.write_bytes(squeeze(plain) + b"more")
    assert contents(path).kernel_digest == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(squeeze(plain))
    whole = contents(path).kernel_digest
    path.write_bytes(squeeze(plain[:700]) + squeeze(plain[700:]))
    assert contents(path).kernel_digest == whole


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("files", [{}, {MANIFEST_NAME: write_manifest(MADE).encode()}])
def test_an_archive_without_a_kernel_is_none(tmp_path, mode, files):
    with pytest.raises(UntestableRevision, match=r"archive without a kernel|but zeros"):
        contents(packed(tmp_path / "bare", files, mode))


@pytest.mark.parametrize(
    "content", [b"", bytes(700), GZIP(b""), lzma.compress(bytes(9))], ids=range(4)
)
def test_nothing_but_zeros_is_no_kernel(tmp_path, content):
    (tmp_path / "zeros").write_bytes(content)
    with pytest.raises(UntestableRevision, match="nothing but zeros"):
        contents(tmp_path / "zeros")


def members(path, *infos: tarfile.TarInfo, content: bytes = b"code"):
    """An archive with members of any kind; those that are files, or claim to be, have a content."""
    with tarfile.open(path, "w") as archive:
        for info in infos:
            info.size = 0 if info.issym() or info.isdir() else len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def named(name: str, kind: bytes = tarfile.REGTYPE, linkname: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


def test_a_link_is_known_by_where_it_leads_and_is_no_file_of_that_digest(tmp_path):
    def digest(*infos: tarfile.TarInfo) -> str:
        return contents(members(tmp_path / "linked", named("kernel"), *infos)).kernel_digest

    assert digest(named("a", tarfile.SYMTYPE, "b")) == digest(named("a", tarfile.SYMTYPE, "b"))
    ways = [
        digest(named("a")),
        digest(named("a", tarfile.SYMTYPE, neutral_digest(b"code"))),
        digest(named("a", tarfile.SYMTYPE, "b c")),
        digest(named("c a", tarfile.SYMTYPE, "b")),
    ]
    assert len(set(ways)) == len(ways)


@pytest.mark.parametrize(
    "infos",
    [
        [named("kernel"), named("./kernel")],
        [named("a/kernel"), named("b/kernel")],
        [named("kernel"), named("a\nb")],
        [named("kernel"), named("a", b"Z")],
        [named("kernel"), named("a", tarfile.CHRTYPE)],
    ],
    ids=["twice", "two kernels", "newline", "unknown kind", "device"],
)
def test_an_archive_that_may_be_unpacked_in_two_ways_is_known_by_its_bytes(tmp_path, infos):
    path = members(tmp_path / "ways", *infos)
    assert contents(path).kernel_digest == hashlib.sha256(path.read_bytes()).hexdigest()


SQUEEZED = st.sampled_from([bytes, GZIP, bz2.compress, lzma.compress])
ZEROS = st.sampled_from([0, 1, 511, 512, 513, 1024, 10240]).map(bytes)
IMAGES = st.builds(
    lambda zeros, rest, end, squeeze: squeeze(zeros + rest + end),
    zeros=ZEROS,
    rest=st.binary(max_size=600),
    end=ZEROS,
    squeeze=SQUEEZED,
)


def held_by(content: bytes) -> str | None:
    """The digest of a file; None for what is said to be no kernel."""
    file, name = tempfile.mkstemp()
    try:
        os.write(file, content)
        return contents(Path(name)).kernel_digest
    except UntestableRevision:
        return None
    finally:
        os.close(file)
        Path(name).unlink()


@given(one=IMAGES, other=IMAGES)
def test_two_files_that_are_no_archives_have_one_digest_only_if_they_are_one_kernel(one, other):
    digests = (held_by(one), held_by(other))
    assume(None not in digests)
    assert (digests[0] == digests[1]) == (neutral_digest(one) == neutral_digest(other))


FILES = st.dictionaries(
    st.sampled_from(["kernel", "if_em.ko", "boot/if_em.ko", "a b"]), st.binary(max_size=80)
)


@given(one=FILES, other=FILES, squeeze=SQUEEZED, ending=st.binary(max_size=80).filter(any))
def test_an_archive_shares_its_digest_with_those_of_the_same_files_alone(
    one, other, squeeze, ending
):
    def archive(files: dict[str, bytes]) -> bytes:
        packed_files = io.BytesIO()
        with tarfile.open(fileobj=packed_files, mode="w") as out:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                out.addfile(info, io.BytesIO(content))
        return packed_files.getvalue()

    whole = held_by(squeeze(archive(one)))
    assert (whole is None) == (not one)
    if whole is not None:
        assert (whole == held_by(archive(other))) == (one == other)
        assert held_by(squeeze(archive(one) + ending)) != whole


@given(content=st.binary(max_size=1200), at=st.integers(0, 1023), squeeze=SQUEEZED)
def test_no_damage_to_an_archive_is_more_than_another_file(content, at, squeeze):
    header = tarfile.TarInfo("kernel")
    header.size, header.pax_headers = 5, {"comment": "x" * 90}
    whole = bytearray(header.tobuf(tarfile.PAX_FORMAT) + b"code!".ljust(512, b"\0") + bytes(1024))
    whole[at : at + len(content)] = content
    held_by(squeeze(bytes(whole)))  # whatever it is, it raises nothing else
