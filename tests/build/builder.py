"""A builder with a source tree in miniature, and `bench-build freebsd` on this tree."""

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildbot_bench.archives.contents import MANIFEST_NAME, Manifest, contents, parse_manifest
from buildbot_bench.build.cli import main
from tests.fakes.freebsd_tree import make_tree

DONE, UNTESTABLE, USAGE, ILL = 0, 1, 64, 75
PACKED = [MANIFEST_NAME, "if_em.ko", "if_igb.ko", "kernel", "kernel.debug", "pf.ko"]

HAS_LLD = shutil.which("ld.lld") is not None
HAS_CLANG = HAS_LLD and shutil.which("clang") is not None
needs_lld = pytest.mark.skipif(not HAS_LLD, reason="lld is not installed")
needs_clang = pytest.mark.skipif(not HAS_CLANG, reason="clang and lld are not installed")
needs_bmake = pytest.mark.skipif(
    shutil.which("bmake") is None, reason="BSD make (bmake) is not installed"
)


@dataclass(frozen=True)
class Builder:
    """A source tree, an object tree, and the command on them."""

    home: Path
    monkeypatch: pytest.MonkeyPatch

    @property
    def source(self) -> Path:
        return self.home / "src"

    @property
    def obj(self) -> Path:
        return self.home / "obj"

    @property
    def archive(self) -> Path:
        return self.home / "kernel.txz"

    def words(self, *words: str, tool: str = "make") -> list[str]:
        places = [f"--source={self.source}", f"--obj={self.obj}", f"--output={self.archive}"]
        places += [f"--toolchains={self.home / 'toolchains'}", "--least-free=1"]
        return ["freebsd", *places, f"--tool={tool}", "--modules=em", *words]

    def build(self, *words: str, image: int = 0, options: str = "", tool: str = "make") -> int:
        version_of = {
            "BENCH_REVISION": "r311849",
            "BENCH_IMAGE": str(image),
            "BENCH_OPTIONS": options,
        }
        for name, value in version_of.items():
            self.monkeypatch.setenv(name, value)
        return main(self.words(*words, tool=tool))

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.source / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def log(self, name: str) -> int:
        """How often the tree did that."""
        (log,) = self.obj.rglob(f"sys/BENCH/{name}.log")
        return len(log.read_text().splitlines())

    def toolchains(self) -> int:
        """How many tool chains are kept."""
        return len(list((self.home / "toolchains").glob("*/made-of.json")))

    def packed(self) -> list[str]:
        with tarfile.open(self.archive) as archive:
            return archive.getnames()

    def digest(self) -> str:
        return contents(self.archive).kernel_digest

    def manifest(self) -> Manifest:
        with tarfile.open(self.archive) as archive:
            file = archive.extractfile(MANIFEST_NAME)
            assert file is not None
            return parse_manifest(file.read().decode())


def new_builder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    make_tree(home / "src")
    return Builder(home=home, monkeypatch=monkeypatch)
