"""The manifest of a kernel archive, and the digest of a kernel without the traces of its build.

Kernels with the same neutral digest run the same instructions on the same data, so a measurement of
one holds for the other. Traces are blanked where they stand; nothing is moved, and code is left
alone. They are the strings of FreeBSD's sys/conf/newvers.sh (`version`, `sccs`: arrays of a fixed
least size, padded with NUL; a fork has a name of its own there), of `$FreeBSD$` keywords,
`__DATE__` and `__TIME__`, and the names of revisions. A kernel whose strings differ in length
elsewhere is another kernel.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from buildbot_bench.core.elf import NOBITS, sections
from buildbot_bench.core.errors import UsageError

NAME = "bench-manifest.json"
MOST_BYTES = 1 << 20
_FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """Of what a kernel was made, and what came of it.

    `variant` is the label and image for a reader; `config` names the kernel configuration and the
    lines that were added to it; `toolchain` is what the compiler says of itself; `flags` are the
    make variables. `files` has the neutral digest (core.neutral) of the kernel and each module.
    """

    variant: str = ""
    config: str = ""
    toolchain: str = ""
    flags: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> frozenset[tuple[str, str]]:
        """What a reader of a report wants to compare on both sides, as (name, value)."""
        fields = {"kernel config": self.config, "compiler": self.toolchain, "build": self.flags}
        return frozenset((name, value) for name, value in fields.items() if value)


def write_manifest(manifest: Manifest) -> str:
    """The manifest as a JSON text that `parse_manifest` reads."""
    return json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=2, sort_keys=True) + "\n"


def parse_manifest(text: str) -> Manifest:
    """Read a manifest."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{NAME} is no JSON: {error}") from error
    if not isinstance(fields, dict) or fields.pop("format", None) != _FORMAT:
        raise UsageError(f"{NAME} is not of format {_FORMAT}", hint="update buildbot-bench")
    files = fields.pop("files", None)
    texts = {"variant", "config", "toolchain", "flags"}
    if set(fields) != texts or not isinstance(files, dict):
        raise UsageError(f"{NAME} has the keys {', '.join(sorted(fields))[:200]}")
    if not all(isinstance(text, str) for text in (*fields.values(), *files.values())):
        raise UsageError(f"{NAME} holds something else than text")
    return Manifest(**fields, files=files)


_BUILD_DEPENDENT = re.compile(
    rb"""
    (?<! [0-9A-Za-z:] )
    (?: (?: @\(\#\) )?  # newvers.sh's line: NAME MAJOR.MINOR-BRANCH, and what was built when
        [A-Za-z][\w.+-]{0,30}[ ]\d{1,3}(?:\.\d{1,3}){1,2}-\w[^\0\n ]{0,30}
        (?= [^\0\n]{0,160}?
            (?: [ ]\#\d{1,6} [^\0\n]{0,120}? :[ ]
              | \b (?: r\d{4,7} | (?: n\d{1,7}- )? [0-9a-f]{7,40} ) \b
            )
        ) [^\0]+
      | Linux[ ]version[ ]\d [^\0]*
      | (?: (?: Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec ) [ ][ \d]\d[ ]\d{4}
          | \d\d:\d\d:\d\d
          | [rn][1-9]\d{4,6} (?: [-+=][0-9a-f]{7,40} )? (?: -dirty )?
          | [0-9a-f]{40} (?: -dirty )?
        ) (?! [0-9A-Za-z:] )
    )
    | \$ (?: FreeBSD | Id | Header | Revision | Date ) : [^$\0\n]{1,300} \$
    """,
    re.VERBOSE,
)
# The identity that the linker gives, and the name and CRC-32 of the file with the symbols.
_IDENTITIES = frozenset({b".note.gnu.build-id", b".gnu_debuglink"})
# What no loader brings into memory and no linker of modules reads.
_UNREAD = re.compile(rb"\.z?debug|\.rela?\.z?debug|\.comment|\.gnu_debuglink|\.SUNW_ctf|\.shstrtab")


def neutralise(data: bytes) -> bytes:
    """The same file, as long, with NUL for what its build tells of itself; code stays as it is."""
    found = sections(data)
    neutral = bytearray(data)
    for section in found:
        if section.name in _IDENTITIES:
            neutral[section.span] = bytes(section.span.stop - section.span.start)
        elif section.is_loaded and not section.is_code and section.kind != NOBITS:
            neutral[section.span] = _BUILD_DEPENDENT.sub(
                lambda found: bytes(len(found[0])), data[section.span]
            )
    for section in found:  # a damaged file may have code within data
        if section.is_code:
            neutral[section.span] = data[section.span]
    return bytes(neutral)


def neutral_digest(data: bytes) -> str:
    """The SHA-256, in hexadecimal, of what of a kernel or module can matter when it runs.

    Where sections lie in the file does not matter, nor do symbols for a debugger. For what is no
    whole ELF file it is the SHA-256 of its bytes.
    """
    found = sections(data)
    if not found:
        return hashlib.sha256(data).hexdigest()
    neutral = neutralise(data)
    digest = hashlib.sha256(data[4:8] + data[16:24])  # the class of machine
    for section in found:
        if not _UNREAD.match(section.name):
            heading = section.kind, section.flags, section.address, section.size, section.name
            digest.update(repr(heading).encode())
            digest.update(neutral[section.span])
    return digest.hexdigest()


def digest_of_files(digests: Iterable[tuple[str, str]]) -> str:
    """One digest for (name, neutral digest) of a kernel and its modules, but debuggers' files."""
    counted = sorted((name, digest) for name, digest in digests if not name.endswith(".debug"))
    text = "".join(f"{digest} {name}\n" for name, digest in counted)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
