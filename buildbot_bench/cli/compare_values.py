"""The variants of bench-compare as a farm is sent them: their labels and files of patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.branches import branch_in, repository_named
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.variant import Change, PatchFile, parse_variant, write_variant


def labels_of(given: Sequence[str]) -> dict[str, str]:
    """Labels by variants; a tunable has an equals sign of its own, so the last one counts."""
    labels: dict[str, str] = {}
    for one in given:
        variant, equals, label = one.rpartition("=")
        if not equals or not variant:
            raise UsageError(
                f"--label {quoted(one)} names no variant", hint="as in --label r313448=IFLIB"
            )
        if variant in labels:
            raise UsageError(f"{variant[:80]} is labelled twice", hint="say one of the two")
        labels[variant] = label
    return labels


def packed(text: str, patches: dict[str, bytes]) -> str:
    """The variant with its files read into `patches`, and named there without directories."""
    repository, variant = repository_named(text)
    spec = parse_variant(variant)
    changes = tuple(_read(change, patches) for change in spec.changes)
    return branch_in(repository, write_variant(replace(spec, changes=changes)))


def _read(change: Change, patches: dict[str, bytes]) -> Change:
    if not isinstance(change, PatchFile):
        return change
    from buildbot_bench.core.patch import check_patch  # noqa: PLC0415 - not for --help

    path = Path(change.name).expanduser()
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the patch {change.name}: {error.strerror}") from error
    check_patch(body, change.name)
    if patches.setdefault(path.name, body) != body:
        raise UsageError(f"two patches are called {path.name}", hint="rename one of them")
    return PatchFile(name=path.name)
