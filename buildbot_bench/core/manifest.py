"""The manifest of a kernel archive: the JSON file that a builder packs into it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

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
