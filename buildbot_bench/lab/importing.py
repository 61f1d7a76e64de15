"""The conversion of a bench-lab.sh configuration into a table of testbeds.toml."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.lab.imported_sets import ImportedSets, read_assignments, read_sets

_NAME = re.compile(r"[^A-Za-z0-9_-]+")
# Python reads no number of more than 4300 digits; no packet and no timeout has seven.
_NUMBER = re.compile(r"[0-9]{1,6}")
_RETRY_S = 5  # bench-lab.sh counts its reboot timeout in tries, this far apart
_OWN_FLAGS = {"-f", "-i", "-n", "-l", "-d", "-D", "-s", "-S", "-w"}  # each with its value
_OWN_SWITCHES = {"-N", "-W", "-4", "-6"}
_CRC_BYTES = 4  # that Ethernet appends to a frame
_STARTS = (
    *("SENDER_START_CMD", "SENDER_START_CMD_2", "SENDER_2_START_CMD", "SENDER_2_START_CMD_2"),
    "RECEIVER_START_CMD",
)
# What bench-lab.sh runs on the DUT around a run, and nothing here does.
_AROUND = ("BEFORE_CMD", "DURING_CMD", "AFTER_CMD")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedTestbed:
    """The text of a testbed, and in `remarks`, a line each, what of the configuration is not in it.

    The text has the remarks as well.
    """

    text: str
    remarks: tuple[str, ...]


def import_config(path: Path, *, name: str = "", configs: Path | None = None) -> ImportedTestbed:
    """A testbed, with a remark on each thing that a person has to add.

    `configs` is a tree of configuration sets, a directory for each workload.
    """
    values = read_assignments(path)
    dut = values.get("DUT_ADMIN", "")
    if not dut:
        raise UsageError(f"{path}: there is no DUT_ADMIN", hint="is it a bench-lab.sh config?")
    for start in _STARTS:
        _require_pkt_gen(start, _words(values.get(start, "")), path)
    sets = None if configs is None else read_sets(configs)
    for found in sets.sets if sets is not None else ():
        if found.has_reference and not values.get("REF_ADMIN"):
            raise UsageError(
                f"{found.path} has a part for a reference endpoint, and {path} has no REF_ADMIN",
                hint="give it the address of that machine",
            )
    remarks = tuple(_remarks(values, sets))
    text = _text(values, path, name, sets, remarks)
    return ImportedTestbed(text=text, remarks=remarks)


def _require_pkt_gen(start: str, words: Sequence[str], path: Path) -> None:
    """See that a command's program is pkt-gen, whose log is what a testbed reads its value from."""
    program = PurePosixPath(words[0]).name if words else "pkt-gen"
    if program == "pkt-gen":
        return
    if program == "equilibrium":
        raise UsageError(
            f"{path}: {start} runs equilibrium, which seeks the highest load that passes without"
            " loss, in Mb/s; a testbed here offers one load by pkt-gen and counts what passes",
            hint="write pkt-gen's command there; its values do not compare with equilibrium's",
        )
    raise UsageError(
        f"{path}: {start} runs {quoted(program, columns=60)}, not pkt-gen",
        hint="write pkt-gen's command there",
    )


def _remarks(values: Mapping[str, str], sets: ImportedSets | None) -> Iterator[str]:
    for name in _AROUND:
        if values.get(name):
            yield f"{name} is left out: make it a readiness command, or a part of the sets"
    if sets is not None and sets.remark:
        yield sets.remark


def _text(
    values: Mapping[str, str],
    path: Path,
    name: str,
    sets: ImportedSets | None,
    remarks: Sequence[str],
) -> str:
    dut = values["DUT_ADMIN"]
    name = name or _NAME.sub("-", dut.partition(".")[0]) or "dut"
    head = f"testbeds.{name}"
    lines = [
        f"# From {one_line(path.name)}.",
        *(f"# {remark}" for remark in remarks),
        f"[{head}]",
        'driver = "ssh"',
        'epoch = "1"',
        "",
    ]
    lines += _table(
        f"{head}.dut", {"address": dut, "mac": values.get("DUT_LAB_IF_MAC_SENDER_SIDE")}
    )
    lines += [
        "# interfaces: the DUT's lab ports. bsdrp = true on BSDRP, nanobsd = true on another.",
        "",
    ]
    for sender in _senders(values):
        lines += [*_table(f"[{head}.senders]", sender), ""]
    lines += [*_table(f"{head}.receiver", _receiver(values)), ""]
    if values.get("REF_ADMIN"):
        lines += [*_table(f"{head}.reference", {"address": values["REF_ADMIN"]}), ""]
    lines += [*_table(f"{head}.traffic", _traffic(values, path)), ""]
    lines.insert(-1, "# offered_pps, duration_s, link_mbps: see the Speed of a .sender log.")
    lines += _workloads(head, values, sets)
    if timeout := values.get("REBOOT_TIMEOUT"):
        lines += [*_table(f"{head}.limits", {"reboot_s": _seconds(timeout, path)}), ""]
    return "\n".join([*lines, f"# [{head}.power]: so that a DUT that hangs comes back.", ""])


def _senders(values: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """One table for each generator: two hosts, and two pkt-gen on each, are what the script has."""
    for host, starts in (
        ("SENDER_ADMIN", ("SENDER_START_CMD", "SENDER_START_CMD_2")),
        ("SENDER_ADMIN_2", ("SENDER_2_START_CMD", "SENDER_2_START_CMD_2")),
    ):
        for start in starts:
            if (address := values.get(host)) and (command := values.get(start)):
                words = _words(command)
                yield {
                    "address": address,
                    "interface": _option(words, "-i") or values.get("SENDER_LAB_IF"),
                    "mac": _option(words, "-S") or values.get("SENDER_LAB_MAC"),
                    "flags": _other_flags(words),
                }


def _receiver(values: Mapping[str, str]) -> dict[str, object]:
    words = _words(values.get("RECEIVER_START_CMD", ""))
    return {
        "address": values.get("RECEIVER_ADMIN"),
        "interface": _option(words, "-i") or values.get("RECEIVER_LAB_IF"),
        "flags": _other_flags(words),
    }


def _traffic(values: Mapping[str, str], path: Path) -> dict[str, object]:
    size = values.get("PKT_SIZE", "60")
    if not _NUMBER.fullmatch(size):
        raise UsageError(
            f"{path}: PKT_SIZE is {quoted(size, columns=20)}, which is no number of bytes"
        )
    family = {"4": "inet", "6": "inet6"}.get(values.get("AF", "4"), "inet")
    return {
        "family": family,
        "frame_bytes": max(64, int(size) + _CRC_BYTES),
        "sources": values.get("SENDER_LAB_NET"),
        "destinations": values.get("RECEIVER_LAB_NET"),
    }


def _workloads(head: str, values: Mapping[str, str], sets: ImportedSets | None) -> Iterator[str]:
    """A workload for each set, or plain forwarding as the DUT is set up."""
    ready = _readiness(values.get("IS_DUT_ONLINE_CMD", ""))
    names: list[tuple[str, Path | None]] = [("forwarding", None)]
    if sets is not None:
        names = [(found.name, found.path) for found in sets.sets]
    for name, directory in names:
        place = None if directory is None else str(directory.absolute())
        table = {"configs": place, "ready": ready}
        yield from [*_table(f"{head}.workloads.{_NAME.sub('-', name)}", table), ""]


def _readiness(command: str) -> list[list[str]]:
    """`a && b` as two commands; there is no other shell in it at hand."""
    return [words for part in command.split("&&") if (words := _words(part))]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"cannot read the command {quoted(command)}: {error}") from error


def _option(words: Sequence[str], flag: str) -> str | None:
    return next((value for word, value in pairwise(words) if word == flag), None)


def _other_flags(words: Sequence[str]) -> list[str]:
    others, rest = [], iter(words[1:])
    for word in rest:
        if word in _OWN_FLAGS:
            next(rest, None)
        elif word not in _OWN_SWITCHES:
            others.append(word)
    return others


def _seconds(tries: str, path: Path) -> float:
    if not _NUMBER.fullmatch(tries):
        raise UsageError(
            f"{path}: REBOOT_TIMEOUT is {quoted(tries, columns=20)}, which is no number of tries"
        )
    return float(int(tries) * _RETRY_S)


def _table(head: str, values: Mapping[str, object]) -> list[str]:
    """A table without the keys that have no value.

    JSON's texts and lists are TOML's, too, but for pairs of surrogates and DEL.
    """
    kept = {key: value for key, value in values.items() if value not in (None, "", [])}
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in kept.items()}
    return [
        f"[{head}]",
        *(f"{key} = {text}".replace("\x7f", "\\u007f") for key, text in texts.items()),
    ]
