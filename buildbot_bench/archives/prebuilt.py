"""Kernels that others built: fetched by revision from a web server or a directory, and verified."""

import hashlib
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import quote

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import KERNEL_ARCHIVE, KIB, MIB, ArchiveBudget, spoken

FIELDS = ("{hash}", "{short}", "{branch}")
"""What a pattern may hold; it must hold one of the first two."""
SHORT = 12
"""Digits of `{short}`."""
_TIMEOUT_S = 30.0  # of one answer, or of the next piece of one
_PAUSES_S = (1.0, 5.0)  # before a server that did not answer is asked again
_TOGETHER = 8  # questions at a time whether a kernel is there
_MOST_S = 900.0  # for one kernel; FreeBSD's have 60 MB
_BLOCK = MIB
_MOST_STATED = 64 * KIB  # of a file of checksums; a MANIFEST has a kilobyte
_ABSENT = frozenset({404, 410})
SHA256 = re.compile(r"\b[0-9a-fA-F]{64}\b")
# sys/conf/newvers.sh writes `main-n245062-c5f3a7f6221` and, in a tree without counts, the hash.
_NAMED = re.compile(r"(?:\bn[0-9]{1,7}-|[ :(])(?=[0-9]*[a-f])([0-9a-f]{10,40})(?:-dirty)?\b")


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class PrebuiltSource:
    """Where kernels lie: a URL or an absolute path with fields, see FIELDS.

    `checksum` names the file beside a kernel that states its SHA-256: `MANIFEST`, or `.sha256`, put
    behind the kernel's own name; empty: none does. `ident` is the configuration that a kernel must
    name; empty: any.
    """

    pattern: str
    checksum: str = ""
    ident: str = ""

    def place(self, sha: str, branch: str) -> str:
        """Where the kernel of a commit of a branch would lie; `stable/14` is `stable-14` there."""
        shown = quote(branch.replace("/", "-"), safe="")
        values = (sha, sha[:SHORT], shown)
        place = self.pattern
        for name, value in zip(FIELDS, values, strict=True):
            place = place.replace(name, value)
        return place

    def stated(self, place: str) -> str:
        """Where the checksum of a kernel there is stated."""
        if self.checksum.startswith("."):
            return f"{place}{self.checksum}"
        return f"{place.rpartition('/')[0]}/{self.checksum}"


def checked_pattern(pattern: str) -> str:
    """A pattern that names each revision's own file; raises ValueError for any other."""
    if not re.fullmatch(r"(https?://[^\s@?#]+|/[^\0\n]+)", pattern):
        raise ValueError("should be https://HOST/PATH without a password, or an absolute path")
    fields = set(re.findall(r"\{[^}]*\}", pattern))
    if unknown := sorted(fields - {*FIELDS}):
        raise ValueError(f"{quoted(unknown[0])} is none of {', '.join(FIELDS)}")
    if not fields & {*FIELDS[:2]}:
        raise ValueError("should hold {hash} or {short}: each revision has a kernel of its own")
    return pattern


def which_are_there(source: PrebuiltSource, shas: Iterable[str], branch: str) -> frozenset[str]:
    """The commits of which the source has a kernel."""
    asked = tuple(shas)
    with ThreadPoolExecutor(max_workers=_TOGETHER) as pool:
        try:
            found = list(pool.map(lambda sha: is_there(source.place(sha, branch)), asked))
        except InfraError:
            pool.shutdown(cancel_futures=True)
            raise
    return frozenset(sha for sha, there in zip(asked, found, strict=True) if there)


def is_there(place: str) -> bool:
    """Whether a file is there; raises InfraError where that cannot be known."""
    if not _is_url(place):
        return Path(place).is_file()
    return _patiently(place, lambda: _opened(place, "HEAD") is not None)


def fetch(
    source: PrebuiltSource,
    sha: str,
    branch: str,
    target: Path,
    budget: ArchiveBudget = KERNEL_ARCHIVE,
) -> bool:
    """Write the kernel of a commit into a file, whole and as its checksum says; False: none there.

    Raises InfraError for the source's faults, UntestableRevision for the file's.
    """
    place = source.place(sha, branch)
    wanted = ""
    if source.checksum:
        wanted = _stated_sum(source.stated(place), place.rpartition("/")[2])
        if not wanted:
            if not is_there(place):
                return False
            raise UntestableRevision(
                f"{source.stated(place)} states no SHA-256 of it",
                hint="correct artefacts.prebuilt.checksum",
            )
    return take(place, wanted, target, budget)


def take(place: str, wanted: str, target: Path, budget: ArchiveBudget) -> bool:
    """Write what lies at a place into a file, if its SHA-256 is the `wanted` one, or none is.

    False, and what `fetch` raises, as it does.
    """
    partial = target.with_name(f"{target.name}.part")
    try:
        found = _patiently(place, lambda: _copied(place, partial, budget))
        if found is None:
            return False
        if wanted and found != wanted:
            raise UntestableRevision(
                f"{place} is damaged: its SHA-256 is {found[:12]}…, and {wanted[:12]}… is stated"
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return True


def named_in(version: str) -> list[str]:
    """The hashes of commits, or their first digits, in what a kernel says of itself."""
    return _NAMED.findall(version)


def check_identity(version: str, sha: str, source: PrebuiltSource) -> None:
    """Compare what a kernel says of itself with what was asked for."""
    for named in named_in(version):
        if not sha.startswith(named):
            raise UntestableRevision(f"the kernel says that it is of {named}, not of {sha[:12]}")
    if source.ident and version.rstrip().rpartition("/")[2] != source.ident:
        raise UntestableRevision(
            f"the kernel says {quoted(version.strip()[-60:])}, and not that it is {source.ident}",
            hint="correct artefacts.prebuilt.ident",
        )


def _stated_sum(place: str, name: str) -> str:
    """The SHA-256 that a file states of `name`; empty when it does not, or is not there."""

    def read() -> bytes | None:
        opened = _opened(place) if _is_url(place) else _opened_here(place)
        if opened is None:
            return None
        with opened as stated:
            return stated.read(_MOST_STATED)

    text = (_patiently(place, read) or b"").decode("utf-8", "replace")
    lines = text.splitlines()
    for line in lines:
        digest = SHA256.search(line)
        rest = line if digest is None else line.replace(digest[0], " ")
        if digest and (
            name in re.split(r"[\s()*=]+", rest) or (len(lines) == 1 and not rest.strip())
        ):
            return digest[0].lower()
    return ""


def _copied(place: str, target: Path, budget: ArchiveBudget) -> str | None:
    """Copy a file and give its SHA-256; None when it is not there."""
    source = _opened(place) if _is_url(place) else _opened_here(place)
    if source is None:
        return None
    digest, size, ends_s = hashlib.sha256(), 0, time.monotonic() + _MOST_S
    with source, target.open("wb") as copy:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > budget.total_bytes:
                raise UntestableRevision(f"{place} has more than {spoken(budget.total_bytes)}")
            if time.monotonic() > ends_s:
                raise InfraError(f"{place} did not arrive within {_MOST_S:.0f} s")
            digest.update(block)
            copy.write(block)
        length = getattr(source, "length", 0)  # what a server still owes
    if length:
        raise ConnectionError("the answer ended early")
    return digest.hexdigest()


def _is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _opened_here(place: str) -> BinaryIO | None:
    try:
        return Path(place).open("rb")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _opened(place: str, method: str = "GET") -> BinaryIO | None:
    """A server's answer; None when it says that there is no such file."""
    request = urllib.request.Request(place, method=method)  # noqa: S310 - see _is_url
    try:
        answer: BinaryIO = urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310
    except urllib.error.HTTPError as error:
        with error:
            if error.code in _ABSENT:
                return None
            if error.code >= 500 or error.code == 429:  # noqa: PLR2004 - HTTP's
                raise ConnectionError(f"HTTP {error.code}") from None
            raise InfraError(f"{place} answers HTTP {error.code}") from None
    if method == "HEAD":
        answer.close()
    return answer


def _patiently(place: str, work: Callable[[], T]) -> T:
    for pause_s in (*_PAUSES_S, None):
        try:
            return work()
        except (OSError, HTTPException) as error:
            if pause_s is None or not _is_url(place):
                raise InfraError(
                    f"{place} cannot be read: {error or type(error).__name__}",
                    hint="see what answers there, and the pattern (artefacts.prebuilt, --prebuilt)",
                ) from error
            time.sleep(pause_s)
    raise AssertionError
