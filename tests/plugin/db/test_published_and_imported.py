"""What is published is read again as it was: by bench-import, and as the archive itself is read."""

import re
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buildbot_bench.core.compare.directory import (
    BootLog,
    image_names,
    parts,
    published_series,
    result_files,
)
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.compare.published import set_ups
from buildbot_bench.core.compare.text import outcome
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import PPS
from buildbot_bench.core.wire import LONGEST_LOG, RunLogs, join_logs
from buildbot_bench.lab.pktgen import HEAD_LINES, TAIL_LINES, Reading, parse_receiver
from buildbot_bench.plugin.operations.netbenches import Group, Refused, read_archive
from tests.fakes.compared import comparison_of
from tests.running import ran

HEAD = [f"{n}.0 main [3036] of the beginning" for n in range(HEAD_LINES)]
WORKLOADS = ("forwarding", "pf-statefull")
REVISIONS = ("r317849", "r317850", "r317851")
UNAMES = (
    'FreeBSD apu2 12.0-CURRENT #0 r317849M: Sat May  6 00:18:48 CEST 2017 "$x`',
    "FreeBSD apu2 12.0-CURRENT #0 r317850: Sun May  7 00:18:48 CEST 2017",
    "FreeBSD apu2 12.0-CURRENT #0 r317851: Mon May  8 00:18:48 CEST 2017",
)


def receiver_log(intervals: list[int]) -> str:
    lines = [f"{n}.1 main_thread [2786] {pps} pps (1 pkts)" for n, pps in enumerate(intervals)]
    return "\n".join([*HEAD, *lines, *["Received nothing more"] * TAIL_LINES, ""])


@st.composite
def boots_of_all(draw) -> list[BootLog]:
    """One to six boots of each of three variants and workload."""
    boots = []
    for workload in WORKLOADS:
        for variant, uname in enumerate(UNAMES):
            for ordinal in range(1, draw(st.integers(1, 6)) + 1):
                intervals = draw(st.lists(st.integers(1, 10**8), min_size=1, max_size=9))
                log = receiver_log(intervals)
                senders = tuple(draw(st.lists(st.sampled_from(["tx 1\n", "tx 2\n"]), max_size=2)))
                logs = RunLogs(
                    receiver=log, senders=senders, remark=draw(st.sampled_from(["", "r"]))
                )
                boots.append(
                    BootLog(
                        testbed="apu2",
                        workload=workload,
                        variant=variant,
                        ordinal=ordinal,
                        log=join_logs(logs),
                        facts={"uname": uname, "sender 0 command": f"pkt-gen {workload}"},
                    )
                )
    return boots


def value_of(boot: BootLog) -> float:
    """What the lab reads from a boot's log."""
    receiver = re.split("\x1c\\w+\n", boot.log)
    reading = parse_receiver(receiver[1] if len(receiver) > 1 else boot.log)
    assert isinstance(reading, Reading)
    return reading.median_pps


def values(boots: list[BootLog], workload: str, variant: int) -> tuple[float, ...]:
    return tuple(value_of(b) for b in boots if (b.workload, b.variant) == (workload, variant))


LEARNT = Noise(
    sigma_run=0.001,
    sigma_build=0.003,
    df_run=100.0,
    df_build=44.0,
    far_share=0.0,
    far_below=0.0,
    far_weight=80.0,
)


def report_of(
    boots: list[BootLog], *, labels: tuple[str, ...] = REVISIONS, noise: Noise | None = None
):
    return comparison_of(
        [
            SeriesValues(
                testbed="apu2",
                workload=workload,
                metric=PPS,
                values=tuple(values(boots, workload, variant) for variant in range(len(labels))),
                noise=noise,
            )
            for workload in WORKLOADS
        ],
        labels,
    )


def write(files: dict[str, str], place: Path) -> None:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")


@given(boots_of_all())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_bench_import_reads_the_same_samples(boots):
    with tempfile.TemporaryDirectory() as home:
        write(result_files(report_of(boots), boots), Path(home))
        groups = list(read_archive(Path(home)))
    assert all(isinstance(group, Group) for group in groups), groups
    found = {(group.revision, group.configuration): group for group in groups}
    assert len(found) == len(WORKLOADS) * len(REVISIONS)
    for workload in WORKLOADS:
        for variant, revision in enumerate(REVISIONS):
            group = found[revision, workload]
            assert tuple(boot.value for boot in group.boots) == values(boots, workload, variant)
            assert all(boot.log for boot in group.boots)
            assert group.confirmed
            assert group.uname == " ".join(UNAMES[variant].split())


@given(boots_of_all())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_archives_own_way_gives_the_same_values(boots):
    """Its script drops 15 and 10 lines of each .receiver, and keeps the median of column 4."""
    files = result_files(report_of(boots), boots)
    for name, text in files.items():
        if not (match := re.fullmatch(r"(3178\d\d)\.([a-z-]+)\.pps", name)):
            continue
        medians = []
        logs = [n for n in files if n.startswith(f"RAW/bench.{match[1]}.{match[2]}.")]
        for log in sorted(
            logs, key=lambda n: int(n.split(".")[3]) if n.endswith("receiver") else 0
        ):
            if log.endswith(".receiver"):
                kept = files[log].splitlines()[15:-10]
                pps = [int(line.split()[3]) for line in kept if "main_thread" in line]
                medians.append(statistics.median(pps))
        assert [float(line) for line in text.split()] == medians


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=5))
def test_every_value_is_read_again_as_it_was(kept):
    report = report_of([])
    base, *others = report.series[0].samples
    samples = (replace(base, values=tuple(kept)), *others)
    changed = replace(report, series=(replace(report.series[0], samples=samples),))
    files = result_files(changed, [])
    assert tuple(map(float, files["317849.forwarding.pps"].split())) == tuple(kept)


def test_values_without_a_log_of_pkt_gen_are_read_from_their_list(tmp_path):
    """As those of labs that have another generator."""
    series = SeriesValues(
        testbed="vm", workload="forwarding", metric=PPS, values=((3.5, 1.25), (7.0, 7.0))
    )
    report = comparison_of([series], REVISIONS[:2], iterations=2)
    write(result_files(report, [boot("packets passed\n")]), tmp_path)
    read = {g.revision: [b.value for b in g.boots] for g in read_archive(tmp_path)}
    assert read == {"r317849": [3.5, 1.25], "r317850": [7.0, 7.0]}


def boot(log: str, *, variant: int = 0, **more) -> BootLog:
    return BootLog(
        testbed="apu2", workload="forwarding", variant=variant, ordinal=1, log=log, **more
    )


def test_all_ends_of_a_run_are_there_by_the_archives_names():
    logs = RunLogs(receiver=receiver_log([7]), senders=("one\n", "two\n"), remark="saturated")
    files = result_files(report_of([]), [boot(join_logs(logs))])
    names = {name for name in files if name.startswith("RAW/bench.317849.forwarding.1.")}
    assert {name.rpartition(".")[2] for name in names} == {
        "receiver",
        "sender",
        "sender_2",
        "remark",
    }
    assert files["RAW/bench.317849.forwarding.1.sender_2"] == "two\n"


def test_a_log_that_is_not_whole_is_said_to_be_and_contradicts_no_value(tmp_path):
    endless = receiver_log([7] * 10_000) + "x" * LONGEST_LOG
    boots = [
        boot(join_logs(RunLogs(receiver=endless))),
        boot("the end\n", whole=False, variant=1),
    ]
    files = result_files(report_of([]), boots)
    assert "The logs of 2 boots are not whole" in files["README.md"]
    assert {
        "RAW/bench.317849.forwarding.1.receiver.cut",
        "RAW/bench.317850.forwarding.1.receiver.cut",
    } <= set(files)
    write(files, tmp_path)
    assert not [found for found in read_archive(tmp_path) if isinstance(found, Group)]


def test_facts_belong_to_a_variant():
    boots = [
        boot(
            "x\n",
            variant=variant,
            facts={"uname": uname, "cpu": "AMD", "sender 0 command": "pkt-gen -f tx"},
        )
        for variant, uname in enumerate(UNAMES[:2])
    ]
    files = result_files(report_of([]), boots)
    readme, new = files["README.md"], " ".join(UNAMES[1].split())
    assert "  - cpu: AMD\n" in readme
    assert "  - PKTGEN: pkt-gen -f tx\n" in readme
    assert f"  - UNAME of r317850: {new}\n" in readme
    assert "  - UNAME of r317849: `FreeBSD apu2" in readme  # which has a backtick
    assert new in files["RAW/bench.317850.forwarding.info"]
    assert "r317850" not in files["RAW/bench.317849.forwarding.info"]
    assert 'UNAME=""' in files["RAW/bench.317851.forwarding.info"]  # it has not booted


def test_a_set_up_is_what_sh_reads_and_runs_nothing(tmp_path):
    fact = 'x"; touch harm; "$(touch harm) `touch harm` \\'
    files = result_files(report_of([]), [boot("x\n", facts={"uname": fact})])
    (tmp_path / "info").write_text(files["RAW/bench.317849.forwarding.info"])
    command = ["sh", "-c", '. ./info && printf %s "$UNAME"']
    said = ran(command, cwd=tmp_path, check=True)
    assert said.stdout == fact
    assert not (tmp_path / "harm").exists()


def test_a_strangers_fact_means_nothing_to_markdown():
    files = result_files(report_of([]), [boot("x\n", facts={"cpu": "<img src=x> [a](b) `c`\nd"})])
    assert "  - cpu: `<img src=x> [a](b) 'c' d`\n" in files["README.md"]


def boots_at(*levels: int) -> list[BootLog]:
    """Five boots of each variant near its level, in packets per second."""
    return [
        boot(receiver_log([level + 10 * n]), variant=variant)
        for variant, level in enumerate(levels)
        for n in range(5)
    ]


def test_the_outcome_is_one_line():
    assert outcome(report_of(boots_at(100_000, 80_000), labels=REVISIONS[:2])) == (
        "forwarding -20.00 % worse"
    )
    assert outcome(report_of([])) == ""


def test_the_outcome_of_many_variants_counts_them_and_names_the_most():
    labels = ("r1", "r2", "r3", "r4", "r5", "r6")
    boots = boots_at(100_000, 80_000, 90_000, 110_000, 100_001)
    assert outcome(report_of(boots, labels=labels, noise=LEARNT)) == (
        "forwarding: 2 worse (most r2 -20.00 %), 1 better (r4 +10.00 %), 1 no difference,"
        " 1 not measured"
    )


def test_a_set_up_has_a_column_for_each_variant():
    told = [
        boot("x\n", variant=variant, facts={"cpu": "AMD", "kernel": kernel})
        for variant, kernel in enumerate(("a", "b"))
    ]
    report = report_of([])
    (part,) = parts(report)
    rows = set_ups(published_series(report, part, told, {}))
    assert [(row.name, row.values, row.differs) for row in rows] == [
        ("cpu", ("AMD", "AMD", None), False),
        ("kernel", ("a", "b", None), True),
    ]


def test_a_fact_that_is_empty_is_told_as_that():
    facts = [boot("x\n", variant=variant, facts={"cpu": ""}) for variant in range(3)]
    assert "  - cpu: \n" in result_files(report_of([]), facts)["README.md"]


def test_thirty_two_variants_are_told_apart_in_gnuplots_graph():
    labels = tuple(f"r{number}" for number in range(1, 33))
    script = result_files(report_of([], labels=labels), [])["gnuplot.plt"]
    drawn = re.findall(r"with boxes(.*?) title '(r\d+)'", script)
    assert [label for _, label in drawn] == list(labels)
    assert len({style for style, _ in drawn}) == 32


def test_images_of_no_label_take_the_names_of_other_files():
    assert image_names(["gnuplot", "r5", "5"]) == ("gnuplot.2", "5", "5.2")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("bench.311848.info", "", r'holds no line like IMAGE="311848".*copy it again'),
        ("bench.311848.info", "\x00\xff\n", r"holds no line like IMAGE"),
        ("311848.pps", "1000\nNaN\n", r"311848\.pps:2: 'NaN' is no number .*take the line out"),
        ("311848.pps", "inf\n", r"311848\.pps:1: 'inf' is no number"),
        ("311848.pps", "1e999\n", r"311848\.pps:1: '1e999' is no number"),
        ("311848.pps", "-5\n", r"311848\.pps:1: '-5' is no number"),
        ("311848.pps", "\x1b[31m\n", r"311848\.pps:1: '<U\+001B>\[31m' is no number"),
    ],
)
def test_a_broken_file_of_an_archive_is_named_with_what_to_do(tmp_path, name, text, reason):
    (tmp_path / "bench.311848.info").write_text('IMAGE="311848"\nUNAME="FreeBSD"\n')
    (tmp_path / "311848.pps").write_text("1000\n")
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    (found,) = read_archive(tmp_path)
    assert isinstance(found, Refused)
    assert found.inconsistent
    assert re.search(reason, found.reason)
    assert "\n" not in found.reason


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bench.311848.info").write_text('IMAGE="311848"\n')
    (tmp_path / "bench.311848.1.receiver").mkdir()
    (found,) = read_archive(tmp_path)
    assert isinstance(found, Refused)
    assert re.search(
        r"cannot read .*bench\.311848\.1\.receiver: .*see its permissions", found.reason
    )
