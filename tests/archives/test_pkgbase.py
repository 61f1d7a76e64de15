"""Kernels of a pkgbase repository, which a web server has as pkg-repository(5) says."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import zstandard

from buildbot_bench.archives.pkgbase import take_kernel
from buildbot_bench.archives.prebuilt import PrebuiltSource, fetch
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.demo.command import main
from tests.archives.test_prebuilt import SHAS, VERSION
from tests.fakes import web

KERNEL = b"\x7fELF" + VERSION % SHAS[0][:12].encode() + bytes(5000)


Compress = Callable[[bytes], bytes]


def package(files: dict[str, bytes], compress: Compress = zstandard.compress) -> bytes:
    """An archive as pkg-create(8) writes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return compress(out.getvalue())


def publish(
    directory: Path,
    kernel: bytes,
    *,
    end: str = "pkg",
    compress: Compress = zstandard.compress,
    **stated: str,
) -> None:
    """Make a repository of one kernel, beside another package."""
    files = {"+MANIFEST": b"{}", "/boot/kernel/kernel": kernel, "/boot/kernel/a.ko": b"\x7f"}
    body = package(files, compress)
    name = f"FreeBSD-kernel-generic-15.snap20251129.{end}"
    (directory / name).write_bytes(body)
    listed = {
        "name": "FreeBSD-kernel-generic",
        "version": "15.snap20251129",
        "path": name,
        "sum": hashlib.sha256(body).hexdigest(),
        **stated,
    }
    others = {**listed, "name": "FreeBSD-kernel-generic-dbg", "path": "none.pkg"}
    lines = "\n".join(json.dumps(one) for one in (others, listed)).encode()
    catalogue = package({"signature": b"", "packagesite.yaml": lines}, compress)
    (directory / f"packagesite.{end}").write_bytes(catalogue)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    directory = tmp_path / "base_latest"
    directory.mkdir()
    publish(directory, KERNEL)
    with web.served(partial(web.Files, directory=str(directory))) as url:
        yield url, directory


def test_a_kernel_is_taken_under_its_commit_and_a_search_may_boot_it(
    repository: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, kernels = repository[0], tmp_path / "kernels"
    assert main(["take-kernel", url, str(kernels)]) == 0
    assert capsys.readouterr().out.endswith(
        f"{SHAS[0][:12]}.tgz is the kernel of 15.snap20251129\n"
    )
    source = PrebuiltSource(pattern=f"{kernels}/{{short}}.tgz", checksum=".sha256", ident="GENERIC")
    assert fetch(source, SHAS[0], "main", tmp_path / "fetched")
    with tarfile.open(tmp_path / "fetched") as archive:
        assert archive.getnames() == ["boot/kernel/kernel", "boot/kernel/a.ko"]
    assert take_kernel(url, kernels).endswith("already")
    assert len(list(kernels.iterdir())) == 3


@pytest.mark.parametrize(
    ("end", "compress"),
    [
        ("pkg", lzma.compress),
        ("tzst", zstandard.compress),
        ("txz", lzma.compress),
        ("tbz", bz2.compress),
        ("tgz", gzip.compress),
        ("tar", bytes),
    ],
)
def test_a_repository_may_compress_its_packages_as_pkg_ever_did(
    repository: tuple[str, Path], tmp_path: Path, end: str, compress: Compress
) -> None:
    url, directory = repository
    for one in directory.iterdir():
        one.unlink()
    publish(directory, KERNEL, end=end, compress=compress)
    assert take_kernel(url, tmp_path / "kernels").endswith("is the kernel of 15.snap20251129")


def test_a_repository_that_cannot_be_read_is_told_to_who_named_it(tmp_path: Path) -> None:
    (tmp_path / "packagesite.pkg").mkdir()
    with pytest.raises(InfraError, match="cannot be read") as caught:
        take_kernel(str(tmp_path), tmp_path / "kernels")
    assert caught.value.hint == "see what answers at the repository's URL"


@pytest.mark.parametrize(
    ("stated", "kind", "said"),
    [
        ({"sum": "0" * 64}, UntestableRevision, "is damaged"),
        ({"sum": ""}, InfraError, "states no SHA-256"),
        ({"sum": "2$abc"}, InfraError, "states no SHA-256"),
        ({"path": "../gone.pkg"}, InfraError, "which is not there"),
        ({"name": "FreeBSD-kernel-mmccam"}, UsageError, "no package FreeBSD-kernel-generic"),
    ],
)
def test_what_a_repository_states_wrongly_leaves_nothing(
    repository: tuple[str, Path],
    tmp_path: Path,
    stated: dict[str, str],
    kind: type[Exception],
    said: str,
) -> None:
    url, directory = repository
    publish(directory, KERNEL, **stated)
    with pytest.raises(kind, match=said):
        take_kernel(url, tmp_path / "kernels")
    assert not list((tmp_path / "kernels").iterdir())


def test_a_kernel_that_names_no_commit_and_a_place_without_packages_are_refused(
    repository: tuple[str, Path], tmp_path: Path
) -> None:
    url, directory = repository
    publish(directory, b"\x7fELF nobody knows")
    with pytest.raises(UsageError, match="names no commit"):
        take_kernel(url, tmp_path / "kernels")
    (directory / "packagesite.pkg").write_bytes(b"\x28\xb5\x2f\xfd damaged")
    with pytest.raises(InfraError, match="is no archive"):
        take_kernel(url, tmp_path / "kernels")
    (directory / "packagesite.pkg").unlink()
    with pytest.raises(UsageError, match=r"it has no packagesite\.pkg"):
        take_kernel(url, tmp_path / "kernels")
