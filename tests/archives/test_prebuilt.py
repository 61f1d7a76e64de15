"""Kernels that others built, from a web server and from a directory."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from buildbot_bench.archives import prebuilt
from buildbot_bench.archives.contents import contents
from buildbot_bench.archives.prebuilt import (
    PrebuiltSource,
    check_identity,
    fetch,
    is_there,
    which_are_there,
)
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.limits import KERNEL_ARCHIVE
from tests.fakes import web
from tests.ports import free_port

SHAS = tuple(hashlib.sha1(str(k).encode()).hexdigest() for k in range(4))
VERSION = (
    b"FreeBSD 14.0-CURRENT #0 main-n245062-%s: Thu Nov 9 05:11:20 UTC 2023\n"
    b"    root@build.example.org:/usr/obj/usr/src/amd64.amd64/sys/GENERIC\n\0"
)


def kernel_txz(sha: str) -> bytes:
    """An archive as FreeBSD's kernel.txz: /boot/kernel/kernel, which names its revision."""
    data = b"\x7fELF" + VERSION % sha[:12].encode() + bytes(5000)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as archive:
        info = tarfile.TarInfo("./boot/kernel/kernel")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class _Handler(web.Files):
    fails = 0
    asked: list[str] = []  # noqa: RUF012 - one server, one list

    def send_head(self) -> Any:
        cls = type(self)
        cls.asked.append(self.path)
        if cls.fails:
            cls.fails -= 1
            self.send_error(503)
            return None
        return super().send_head()


@pytest.fixture
def snapshots(tmp_path: Path) -> Path:
    """Every second of four revisions, each with a MANIFEST as FreeBSD's snapshots have."""
    for sha in SHAS[::2]:
        place = tmp_path / "www" / "snapshot" / "stable-14" / sha
        place.mkdir(parents=True)
        body = kernel_txz(sha)
        (place / "kernel.txz").write_bytes(body)
        digest = hashlib.sha256(body).hexdigest()
        lines = f'base.txz\t{"0" * 64}\t1\tbase\t"Base"\ton\nkernel.txz\t{digest}\t2\tkernel\n'
        (place / "MANIFEST").write_text(lines)
    return tmp_path / "www"


@pytest.fixture
def server(snapshots: Path) -> Iterator[type[_Handler]]:
    class Handler(_Handler):
        asked: list[str] = []  # noqa: RUF012 - one server, one list

        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(snapshots))

    with web.served(Handler) as Handler.url:  # type: ignore[attr-defined]
        yield Handler


@pytest.fixture
def source(server: Any, monkeypatch: pytest.MonkeyPatch) -> PrebuiltSource:
    monkeypatch.setattr(prebuilt, "_PAUSES_S", (0.0, 0.0))
    pattern = f"{server.url}/snapshot/{{branch}}/{{hash}}/kernel.txz"
    return PrebuiltSource(pattern=pattern, checksum="MANIFEST", ident="GENERIC")


def test_those_that_are_there_are_known_and_fetched_whole(
    source: PrebuiltSource, tmp_path: Path
) -> None:
    assert which_are_there(source, SHAS, "stable/14") == {*SHAS[::2]}
    target = tmp_path / "kernel"
    assert fetch(source, SHAS[2], "stable/14", target)
    assert target.read_bytes() == kernel_txz(SHAS[2])
    check_identity(contents(target).version, SHAS[2], source)
    assert [*tmp_path.glob("*.part")] == []


def test_one_that_is_not_there_is_no_failure_of_the_server(
    source: PrebuiltSource, tmp_path: Path
) -> None:
    assert not fetch(source, SHAS[1], "stable/14", tmp_path / "kernel")
    assert not (tmp_path / "kernel").exists()


def test_a_server_that_fails_is_asked_again(
    source: PrebuiltSource, server: Any, tmp_path: Path
) -> None:
    server.fails = 2
    assert fetch(source, SHAS[0], "stable/14", tmp_path / "kernel")
    server.fails = 99
    with pytest.raises(InfraError, match=r"503.*artefacts\.prebuilt"):
        fetch(source, SHAS[0], "stable/14", tmp_path / "kernel")
    with pytest.raises(InfraError):
        which_are_there(source, SHAS, "stable/14")


def test_a_server_that_is_not_there_is_infrastructure(source: PrebuiltSource) -> None:
    away = replace(source, pattern=f"http://127.0.0.1:{free_port()}/{{hash}}")
    with pytest.raises(InfraError, match="cannot be read"):
        which_are_there(away, SHAS[:1], "main")


def test_a_damaged_kernel_is_refused(
    source: PrebuiltSource, snapshots: Path, tmp_path: Path
) -> None:
    path = snapshots / "snapshot" / "stable-14" / SHAS[0] / "kernel.txz"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(UntestableRevision, match="damaged"):
        fetch(source, SHAS[0], "stable/14", tmp_path / "kernel")
    assert [*tmp_path.glob("kernel*")] == []


def test_a_kernel_without_a_stated_sum_is_refused(
    source: PrebuiltSource, snapshots: Path, tmp_path: Path
) -> None:
    (snapshots / "snapshot" / "stable-14" / SHAS[0] / "MANIFEST").write_text("base.txz\tnothing\n")
    with pytest.raises(UntestableRevision, match=r"states no SHA-256.*checksum"):
        fetch(source, SHAS[0], "stable/14", tmp_path / "kernel")


def test_a_kernel_that_is_too_large_is_not_kept(source: PrebuiltSource, tmp_path: Path) -> None:
    small = replace(KERNEL_ARCHIVE, total_bytes=100)
    with pytest.raises(UntestableRevision, match="more than 100 bytes"):
        fetch(source, SHAS[0], "stable/14", tmp_path / "kernel", small)
    assert [*tmp_path.glob("kernel*")] == []


@pytest.mark.parametrize("line", ["{0}  kernel.txz\n", "SHA256 (kernel.txz) = {0}\n", "{0}\n"])
def test_a_directory_serves_as_well_with_a_sum_beside_each(
    snapshots: Path, tmp_path: Path, line: str
) -> None:
    pattern = f"{snapshots}/snapshot/{{branch}}/{{hash}}/kernel.txz"
    source = PrebuiltSource(pattern=pattern, checksum=".sha256")
    place = source.place(SHAS[0], "stable/14")
    digest = hashlib.sha256(Path(place).read_bytes()).hexdigest()
    Path(f"{place}.sha256").write_text(line.format(digest))
    assert is_there(place)
    assert fetch(source, SHAS[0], "stable/14", tmp_path / "kernel")
    assert not fetch(source, SHAS[1], "stable/14", tmp_path / "other")


def test_a_kernel_of_another_revision_or_configuration_is_refused() -> None:
    version = (VERSION % SHAS[0][:12].encode()).decode().rstrip("\0")
    check_identity(version, SHAS[0], PrebuiltSource(pattern="/{hash}", ident="GENERIC"))
    with pytest.raises(UntestableRevision, match=SHAS[0][:12]):
        check_identity(version, SHAS[1], PrebuiltSource(pattern="/{hash}"))
    with pytest.raises(UntestableRevision, match="GENERIC-NODEBUG"):
        check_identity(version, SHAS[0], PrebuiltSource(pattern="/{hash}", ident="GENERIC-NODEBUG"))
    check_identity("", SHAS[0], PrebuiltSource(pattern="/{hash}"))
