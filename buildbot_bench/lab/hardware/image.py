"""Whole images of nanobsd, written to the DUT's idle slice by a command of the DUT."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.files import check_digest
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import DutSettings, Limits

_CHUNK = 1 << 20  # bytes
# One line, which csh(1) takes for a word. What arrives is digested on its way to the slice: there
# is no room for a copy. Neither xzcat's failure nor tee's may pass for the end of the image.
_UPGRADE = (
    'd=$(mktemp -d) && mkfifo "$d/copy" || exit 1; trap \'rm -rf "$d"\' EXIT; '
    'sha256 -q <"$d/copy" >"$d/digest" & '
    '{ tee "$d/copy" || touch "$d/cut"; } | { xzcat || touch "$d/cut"; } | '
    '"$0" "$@" >"$d/said" 2>&1 || { tail -n 3 "$d/said" >&2; exit 1; }; '
    'wait; [ ! -e "$d/cut" ] || { echo "the image arrived in part" >&2; exit 1; }; cat "$d/digest"'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SliceImage:
    """A nanobsd image as the builder made it, compressed by xz(1)."""

    path: Path
    digest: str

    @property
    def name(self) -> str:
        """What to call it."""
        return f"image {self.digest[:12]}"

    def holds(self, text: str) -> bool:
        """Whether a text that a running kernel gives of itself stands in this image."""
        wanted = text.strip().encode("utf-8", errors="replace")
        before = b""
        for chunk in self._chunks():
            window = before + chunk
            if wanted in window:
                return True
            before = window[-len(wanted) :]
        return False

    def check(self) -> None:
        """Read it to its end; UntestableRevision for what is no whole image."""
        for _ in self._chunks():
            pass

    def _chunks(self) -> Iterator[bytes]:
        try:
            with lzma.open(self.path) as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
        except (lzma.LZMAError, EOFError, OSError) as error:
            raise UntestableRevision(
                f"the artefact is no image: {error}",
                hint="upload what slices.upgrade takes, compressed by xz",
            ) from error


def open_image(artefact: Path, digest: str) -> SliceImage:
    """An artefact whose SHA-256 is `digest`; UntestableRevision for what is no whole image."""
    check_digest(artefact, digest)
    image = SliceImage(path=artefact, digest=digest)
    image.check()
    return image


def upgrade(remote: Remote, dut: DutSettings, limits: Limits, image: SliceImage) -> None:
    """Have the DUT write an image to its other slice; checked by digest as it arrives."""
    if not dut.upgrading:
        raise InfraError(
            f"{remote.address} has no command that writes an image", hint="see slices.upgrade"
        )
    before = _completed(remote, dut)
    with image.path.open("rb") as stream:
        command = ("sh", "-c", _UPGRADE, *dut.upgrading)
        arrived = remote.need(*command, deadline_s=limits.transfer_s, stdin=stream).strip()
    if arrived != image.digest:
        raise InfraError(
            f"{remote.address}: an image with SHA-256 {arrived or 'none'} arrived,"
            f" not {image.digest}",
            hint="transfer it again",
        )
    if dut.upgrade_log and _completed(remote, dut) <= before:
        raise InfraError(
            f"{remote.address}: its log does not say {quoted(dut.upgrade_log)}",
            hint="see /var/log/messages there",
        )


def _completed(remote: Remote, dut: DutSettings) -> int:
    """How often the DUT's log says that an upgrade is complete."""
    if not dut.upgrade_log:
        return 0
    answer = remote.run("grep", "-c", dut.upgrade_log, dut.path("var/log/messages"))
    return int(answer.stdout) if answer.stdout.strip().isdecimal() else 0
