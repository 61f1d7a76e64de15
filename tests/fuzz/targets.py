"""The parsers of hostile input: commits, logs, patches, artefacts, files, arguments.

A text arrives as its reader finds it: what is no UTF-8 is a lone surrogate, as in arguments, file
names and JSON.
"""

import io
import json
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.api.answers import ComparisonShown, ForecastShown, ProbeShown, SearchShown
from buildbot_bench.archives.contents import contents, neutral_digest, parse_manifest
from buildbot_bench.cli.bisect import parse_bisect
from buildbot_bench.cli.compare import parse_compare
from buildbot_bench.cli.farm_jobs import understood
from buildbot_bench.cli.ministat import Column, read_dataset
from buildbot_bench.core import elf
from buildbot_bench.core.build_log import BuildLog
from buildbot_bench.core.elf import linker_hints
from buildbot_bench.core.legible import long_line, one_line, several_lines, spelled_out
from buildbot_bench.core.patch import read_diff
from buildbot_bench.core.profile.formats import parse_folded, parse_pmc_graph
from buildbot_bench.core.read_files import parse_read_files
from buildbot_bench.core.revision import parse_spec
from buildbot_bench.core.triggers import parse_cron
from buildbot_bench.core.variant import parse_recipe, parse_tunable, parse_variant
from buildbot_bench.core.wire import Joiner, format_event, parse_event, parse_events, split_logs
from buildbot_bench.history.fetching import parse_progress
from buildbot_bench.history.objects import harmless
from buildbot_bench.lab.drivers.child import read_capture
from buildbot_bench.lab.drivers.forwarders import parse_turns
from buildbot_bench.lab.drivers.replay import load_series
from buildbot_bench.lab.hardware.boot_watch import parse_alive
from buildbot_bench.lab.imported_sets import read_assignments
from buildbot_bench.lab.importing import import_config
from buildbot_bench.lab.pktgen import parse_receiver, parse_sender
from buildbot_bench.lab.tables import load_testbeds
from buildbot_bench.lab.virtual.trace import read_symbols, read_trace
from buildbot_bench.plugin.operations.netbenches import read_archive
from buildbot_bench.render.mime import parse_address
from buildbot_bench.workflow.load import load
from tests.fuzz import seeds
from tests.fuzz.target import FuzzTarget


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _of_text(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: parse(_text(data))


def _of_file(parse: Callable[[Path], object], name: str = "input") -> Callable[[bytes], object]:
    """A parser of files gets one with these bytes, alone in a directory."""

    def put(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="fuzz") as directory:
            path = Path(directory) / name
            path.write_bytes(data)
            return parse(path)

    return put


def _arguments(parse: Callable[[list[str], dict[str, str]], object]) -> Callable[[bytes], object]:
    """A command may end with its usage, or after it printed its help."""

    def put(data: bytes) -> None:
        try:
            parse(_text(data).split("\n"), {})
        except SystemExit as end:
            if end.code not in {0, 2}:
                raise

    return put


def _answers(data: bytes) -> None:
    try:
        fields = json.loads(_text(data))
    except (ValueError, RecursionError):
        return  # what reads the answer says so before
    if isinstance(fields, dict):
        for kind in (SearchShown, ProbeShown, ForecastShown, ComparisonShown):
            understood(kind, fields, "search")


def _build_log(text: str) -> object:
    log = BuildLog(asked=("kernel",))
    for line in text.split("\n"):
        log.take(line)
    return log.diagnosis(2)


def _events(text: str) -> object:
    joiner = Joiner()
    for line in text.split("\n"):
        joiner.take(line)
    return [format_event(event) for event in parse_events(text.split("\n"))]


def _archive(data: bytes) -> object:
    """One group of a result directory: the first line goes into its `info`, the rest is a log."""
    info, _, log = data.partition(b"\n\n")
    with tempfile.TemporaryDirectory(prefix="fuzz") as directory:
        root = Path(directory)
        (root / "bench.311848.forwarding.info").write_bytes(info)
        (root / "bench.311848.forwarding.1.receiver").write_bytes(log)
        (root / "311848.forwarding.pps").write_bytes(log)
        return list(read_archive(root))


def _legible(text: str) -> None:
    for shown in (one_line(text), long_line(text)):
        assert shown.isprintable(), shown
    several_lines(text)


def _elf(data: bytes) -> None:
    elf.source_names(data)
    neutral_digest(data)
    linker_hints({"if_em.ko": data})


TARGETS = (
    FuzzTarget(
        name="lab-event", parse=_of_text(parse_event), seeds=seeds.EVENTS, words=seeds.JSON_WORDS
    ),
    FuzzTarget(name="lab-output", parse=_of_text(_events), seeds=seeds.OUTPUTS),
    FuzzTarget(
        name="patch",
        parse=lambda data: (read_diff(_text(data)), spelled_out(data)),
        seeds=seeds.PATCHES,
        words=seeds.PATCH_WORDS,
    ),
    FuzzTarget(
        name="folded",
        parse=lambda data: parse_folded(_text(data).split("\n"), source="a capture"),
        seeds=(b"kernel;forward 3\nkernel;netif_send 1\n",),
    ),
    FuzzTarget(
        name="pmc-graph",
        parse=lambda data: parse_pmc_graph(_text(data).split("\n"), source="a capture"),
        seeds=seeds.PMC_GRAPHS,
    ),
    FuzzTarget(name="read-files", parse=parse_read_files, seeds=(seeds.READ_FILES,)),
    FuzzTarget(
        name="read-files-text",
        parse=lambda data: parse_read_files(zlib.compress(data)),
        seeds=(zlib.decompress(seeds.READ_FILES),),
    ),
    FuzzTarget(name="variant", parse=_of_text(parse_variant), seeds=seeds.VARIANTS),
    FuzzTarget(name="recipe", parse=_of_text(parse_recipe), seeds=seeds.VARIANTS),
    FuzzTarget(name="tunable", parse=_of_text(parse_tunable), seeds=(b"net.isr.bindthreads=1",)),
    FuzzTarget(
        name="cron",
        parse=lambda data: parse_cron(_text(data)).last_due(0.0),
        seeds=(b"*/15 4 1,15 JAN-MAR 1-5/2", b"0 0 29 2 *"),
        words=(b"*", b"/", b"SUN", b"-", b","),
    ),
    FuzzTarget(name="revision", parse=_of_text(parse_spec), seeds=seeds.REVISIONS),
    FuzzTarget(name="run-logs", parse=_of_text(split_logs), seeds=seeds.OUTPUTS),
    FuzzTarget(
        name="manifest",
        parse=_of_text(parse_manifest),
        seeds=seeds.MANIFESTS,
        words=seeds.JSON_WORDS,
    ),
    FuzzTarget(name="elf", parse=_elf, seeds=seeds.ELF_FILES),
    FuzzTarget(name="symbols", parse=_of_file(read_symbols), seeds=seeds.ELF_FILES),
    FuzzTarget(name="artefact", parse=_of_file(contents), seeds=seeds.ARTEFACTS),
    FuzzTarget(name="build-log", parse=_of_text(_build_log), seeds=seeds.BUILD_LOGS),
    FuzzTarget(name="legible", parse=_of_text(_legible), seeds=seeds.VARIANTS),
    FuzzTarget(name="commit-text", parse=harmless, seeds=(b"netif: forward\n", b"\xc3\xa9\xff")),
    FuzzTarget(
        name="git-progress",
        parse=lambda data: parse_progress(_text(data), "fetch"),
        seeds=(b"Receiving objects:  42% (42/100), 1.20 MiB | 3.00 MiB/s",),
    ),
    FuzzTarget(name="receiver-log", parse=_of_text(parse_receiver), seeds=seeds.RECEIVER_LOGS),
    FuzzTarget(name="sender-log", parse=_of_text(parse_sender), seeds=seeds.RECEIVER_LOGS),
    FuzzTarget(name="turns", parse=_of_text(parse_turns), seeds=(b"turn kernel 1000 0.5 0.4\n",)),
    FuzzTarget(
        name="alive",
        parse=lambda data: parse_alive(_text(data), 1.0, 2.0),
        seeds=(b"{ sec = 1479000000, usec = 0 } Sun Nov 13\n",),
    ),
    FuzzTarget(
        name="samples", parse=_of_file(lambda path: read_capture(path, "")), seeds=(b"\0" * 400,)
    ),
    FuzzTarget(name="trace", parse=_of_file(read_trace), seeds=(b"\0" * 64,)),
    FuzzTarget(
        name="testbeds",
        parse=_of_file(load_testbeds, "testbeds.toml"),
        seeds=seeds.TESTBEDS,
        words=seeds.TOML_WORDS,
    ),
    FuzzTarget(name="lab-config", parse=_of_file(import_config), seeds=seeds.LAB_CONFIGS),
    FuzzTarget(name="shell-variables", parse=_of_file(read_assignments), seeds=seeds.LAB_CONFIGS),
    FuzzTarget(
        name="recordings",
        parse=_of_file(load_series, "series.jsonl"),
        seeds=seeds.RECORDINGS,
        words=seeds.JSON_WORDS,
    ),
    FuzzTarget(name="archive", parse=_archive, seeds=seeds.ARCHIVES),
    FuzzTarget(
        name="workflow",
        parse=_of_file(load, "bench.yml"),
        seeds=seeds.WORKFLOWS,
        words=seeds.YAML_WORDS,
    ),
    FuzzTarget(
        name="ministat",
        parse=lambda data: read_dataset("a", io.BytesIO(data), Column()),
        seeds=(b"1\n2\n3\n", b"# a\n1e3 nan\n0x10\n"),
    ),
    FuzzTarget(name="bench-bisect", parse=_arguments(parse_bisect), seeds=seeds.BISECT_ARGUMENTS),
    FuzzTarget(name="bench-compare", parse=_arguments(parse_compare), seeds=seeds.COMPARISONS),
    FuzzTarget(name="answers", parse=_answers, seeds=seeds.ANSWERS, words=seeds.JSON_WORDS),
    FuzzTarget(
        name="address",
        parse=_of_text(parse_address),
        seeds=(b"Bench <bench@example.org>", b'"a, b" <a@b.example>', b"=?utf-8?q?a?= <a@b>"),
    ),
)
