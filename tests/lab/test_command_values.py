"""Where a value is: settings that name none are refused, and real tools' outputs are read."""

import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.metric import (
    LEAST_STEPS,
    NoiseClass,
    RunTimes,
    executions_needed,
    is_coarse,
    least_value,
)
from buildbot_bench.lab.command.machine import coarse, coarse_beforehand, counted, tick_s
from buildbot_bench.lab.command.process import Output, Ran
from buildbot_bench.lab.command.settings import (
    PRESETS,
    CommandSettings,
    CommandWorkload,
    ValueTable,
    words_of,
)
from buildbot_bench.lab.command.value import (
    last_number,
    printed_step,
    read_value,
    read_values,
    time_of,
)
from buildbot_bench.lab.drivers.command import CommandDriver
from buildbot_bench.lab.tables import load_testbeds
from tests.running import ran

RECORDED = Path(__file__).parents[1] / "data" / "command"


def printed(text):
    body = text.encode()
    output = Output(head=body, size=len(body))
    return Ran(words=("bench",), status=0, wall_s=2.0, user_s=1.5, stdout=output)


def value_of(value, text, directory=Path()):
    return read_value(value, printed(text), directory)


@pytest.mark.parametrize(
    ("preset", "file", "value", "unit", "higher"),
    [
        ("hyperfine", "hyperfine-1.15.0.json", 0.02064949852, "s", False),
        ("google-benchmark", "google-benchmark-1.7.1.json", 521.58780403326577, "ns", False),
        ("pytest-benchmark", "pytest-benchmark-5.3.1.json", None, "s", False),
        ("go-bench", "go-1.19.8.txt", 2065.0, "ns/op", False),
        ("criterion", "criterion.jsonl", 205.1, "ns", False),
        ("iperf3", "iperf3-3.12.json", 5915407484.486227, "bits/s", True),
        ("fio", "fio-3.33-read.json", 11377.777778, "IOPS", True),
        ("fio-write", "fio-3.33-write.json", None, "IOPS", True),
        ("wrk", "wrk-4.1.0.txt", 2242.84, "requests/s", True),
    ],
)
def test_a_preset_reads_what_its_tool_prints(preset, file, value, unit, higher):
    text = (RECORDED / file).read_text(encoding="utf-8")
    if value is None:  # too long a number to be written here
        document = json.loads(text)
        value = (
            document["benchmarks"][0]["stats"]["median"]
            if preset == "pytest-benchmark"
            else document["jobs"][0]["write"]["iops"]
        )
    for spelled in (preset, ValueTable(preset=preset)):
        workload = CommandWorkload(run="bench", value=spelled)
        assert value_of(workload.value, text) == pytest.approx(value)
        assert (workload.metric.unit, workload.metric.higher_is_better) == (unit, higher)


def test_each_preset_has_a_recorded_output():
    assert set(PRESETS) == {
        *("hyperfine", "google-benchmark", "pytest-benchmark", "go-bench", "iperf3"),
        *("fio", "fio-write", "wrk", "criterion", "jmh"),
    }


@pytest.mark.parametrize(
    ("value", "file", "number", "metric"),
    [
        ("google-benchmark:BM_sum", "google-benchmark-1.7.1.json", 521.588, ("ns", False)),
        ("go-bench:BenchmarkSum-2", "go-1.19.8.txt", 2065.0, ("ns/op", False)),
        ("criterion:sum/4096", "criterion.jsonl", 825.0, ("ns", False)),
        ("jmh:org.example.Sum.plain (size=1024), us/op", "jmh.json", 0.398, ("us/op", False)),
        ("jmh:org.example.Sum.plain (size=1024), ops/ms", "jmh.json", 2512.75, ("ops/ms", True)),
    ],
)
def test_one_value_of_a_suite_is_meant_by_its_name(value, file, number, metric):
    text = (RECORDED / file).read_text(encoding="utf-8")
    unit = metric[0] if value.startswith("jmh") else ""
    for spelled in (value, ValueTable(preset=value)):
        workload = CommandWorkload(run="bench", value=spelled, unit=unit)
        assert value_of(workload.value, text) == pytest.approx(number, rel=1e-5)
        assert (workload.metric.unit, workload.metric.higher_is_better) == metric
    with pytest.raises(UntestableRevision, match=re.escape(value.partition(":")[2] + "!")):
        value_of(f"{value}!", text)


def test_a_name_without_a_suite_and_a_unit_for_all_are_refused():
    for value in ("wrk:rate", "hyperfin:ls", "all:BM_sum"):
        with pytest.raises(UsageError, match="is none"):
            CommandWorkload(run="bench", value=value)
        with pytest.raises(UsageError, match="is no preset"):
            ValueTable(preset=value)
    for own in ({"unit": "s"}, {"higher_is_better": False}, {"exact": True}):
        with pytest.raises(UsageError, match="leave that out, or name one value"):
            CommandWorkload(run="bench", value="all", **own)
    with pytest.raises(UsageError, match="--unit MB/s"):
        CommandWorkload(run="bench", value="jmh")


def suite_of(*names):
    rows = [{"name": name, "run_type": "iteration", "real_time": 1.0} for name in names]
    return json.dumps({"context": {}, "benchmarks": rows})


def test_more_than_a_thousand_values_are_too_many():
    names = [f"BM_{n}" for n in range(1001)]
    found, tools = read_values("all", printed(suite_of(*names[1:])), Path())
    assert (len(found), tools) == (1000, ("google-benchmark",))
    with pytest.raises(UsageError, match=r"prints 1,001 values, more than 1,000; .*:BM_0'"):
        read_values("all", printed(suite_of(*names)), Path())
    with pytest.raises(UntestableRevision, match="jmh prints it by -rf json"):
        read_values("all", printed("PASS"), Path())
    big = Output(head=b"[", size=1 << 24)
    with pytest.raises(UntestableRevision, match="prints 16 MiB, too much"):
        read_values("all", Ran(words=("b",), status=0, stdout=big), Path())


def test_a_preset_of_the_wrong_direction_or_of_several_results_is_refused():
    with pytest.raises(UntestableRevision, match="the value is 0"):
        value_of("fio-write", (RECORDED / "fio-3.33-read.json").read_text(encoding="utf-8"))
    twice = "BenchmarkA-2 \t 10\t 20 ns/op\nBenchmarkB-2 \t 10\t 30 ns/op\n"
    with pytest.raises(UntestableRevision, match="more than once: 20, 30"):
        value_of("go-bench", twice)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5.0),
        ("took 5.25ms", 5.25),
        ("1e-3 s", 0.001),
        ("+7", 7.0),
        (".5", 0.5),
        ("total 1,234,567.5 ops", 1234567.5),
        ("v2 sha256 3", 3.0),
        ("١٢", None),
        ("no digits", None),
        ("1,23", None),
    ],
)
def test_the_last_number_of_a_text(text, value):
    if value is None:
        with pytest.raises(UntestableRevision):
            last_number(text)
    else:
        assert last_number(text) == value


@given(st.floats(min_value=1e-9, max_value=1e15), st.text(alphabet="ab xyz\n:=;()", max_size=50))
def test_a_number_is_found_behind_any_words(number, words):
    assert last_number(f"{words} {number!r} end") == number


@given(st.text(max_size=300))
def test_whatever_is_printed_gives_a_positive_number_or_is_refused_in_words(text):
    for value in ("last-number", "hyperfine", ValueTable(json="a.b[0]")):
        with suppress(UntestableRevision):  # and nothing else
            assert value_of(value, text) > 0


def test_json_is_found_behind_what_else_is_printed():
    text = 'warming up\n[not json\n  {"results": [{"mean": 3}, {"mean": "4.5"}]}\nbye\n'
    assert value_of(ValueTable(json="results[1].mean"), text) == 4.5
    for path in ("results[2].mean", "results.mean", "none"):
        with pytest.raises(UntestableRevision, match="has no"):
            value_of(ValueTable(json=path), text)
    with pytest.raises(UntestableRevision, match="no number"):
        value_of(ValueTable(json="results"), text)


def test_a_pattern_is_of_lines_and_its_only_match_counts():
    assert value_of(ValueTable(regex=r"^speed: ([\d.]+) MB/s$"), "a\nspeed: 7.5 MB/s\nb") == 7.5
    with pytest.raises(UntestableRevision, match="nothing that matches"):
        value_of(ValueTable(regex=r"^speed: ([\d.]+)$"), "none")


def test_a_run_too_short_for_the_clock_of_processor_time_is_told_apart():
    short = RunTimes(wall_s=0.2, user_s=0.0, system_s=0.05)
    assert (time_of("wall", short), time_of("cpu", short)) == (0.2, 0.05)
    with pytest.raises(UntestableRevision, match="counts 0 s") as refused:
        time_of("user", short)
    assert "measure `cpu`" in refused.value.hint


@pytest.mark.parametrize(
    ("value", "text", "step"),
    [
        ("last-number", "of 7: 5.25ms\n", 0.01),
        ("last-number", "1,234\n", 1.0),
        ("last-number", "2.5e-3\n", 0.0),
        ("last-number", "nothing\n", 0.0),
        (ValueTable(regex=r"at ([\d.]+) MB"), "at 12.5 MB of 100\n", 0.1),
        (ValueTable(json="mean"), '{"mean": 12.5}', 0.0),
        ("hyperfine", '{"results": [{"mean": 1}]}', 0.0),
    ],
)
def test_what_a_printed_value_resolves_are_its_last_digits(value, text, step):
    assert printed_step(value, printed(text)) == pytest.approx(step)


@given(length=st.floats(0, 100), step=st.floats(1e-9, 1), most=st.integers(1, 2000))
def test_executions_make_a_measurement_of_twenty_steps_and_no_more_than_that(length, step, most):
    count = executions_needed(length, step, most=most)
    assert 1 <= count <= most
    assert count == most or count * length >= LEAST_STEPS * step * (1 - 1e-9)
    assert count == 1 or (count - 1) * length <= LEAST_STEPS * step * (1 + 1e-9)


@given(value=st.floats(1e-6, 1e6), step=st.floats(1e-9, 10), effect=st.floats(0.001, 0.5))
def test_a_value_is_coarse_below_the_length_that_is_told(value, step, effect):
    least = least_value(step, effect)
    if abs(value - least) > 1e-9 * least:
        assert is_coarse(value, step, effect) == (value < least)


@given(st.dictionaries(st.sampled_from(RunTimes.__slots__), st.floats(-1, 9) | st.text()))
def test_times_are_heard_whole_or_not_at_all(told):
    heard = RunTimes.heard(told)
    assert heard is None or heard.as_json() == told


def test_a_coarse_value_is_told_with_its_figures_and_what_to_do():
    user = CommandWorkload(run="./bench", value="user")
    times = RunTimes(wall_s=0.07, user_s=0.06, system_s=0.0, step=0.004)
    assert coarse(user, 0.06, times, 0.02) == (
        "the value has steps of 4 ms, which is 6.7 % of 60 ms: too coarse for a change of "
        "2 %; measure `cpu`, which is exact, have the run take 400 ms or more, or count "
        "`instructions`"
    )
    assert coarse(user, 0.6, replace(times, user_s=0.6), 0.02) == ""
    printed_value = CommandWorkload(run="./bench", value="last-number", unit="s")
    assert "printed with more digits" in coarse(printed_value, 5.2, replace(times, step=0.1), 0.02)
    assert "in a run of 400 ms or more" in coarse_beforehand(user, 0.02) or tick_s() != 0.004
    assert coarse_beforehand(CommandWorkload(run="./bench"), 0.02) == ""


def test_what_perf_counted_is_read_and_what_it_did_not_is_the_labs(tmp_path):
    written = tmp_path / "perf.csv"
    written.write_text("# started on Mon\n\n127546,,instructions:u,812345,100.00,,\n")
    assert counted("perf", tmp_path) == 127546.0
    for text in ("<not supported>,,instructions:u,0,100.00,,\n", ""):
        written.write_text(text)
        with pytest.raises(InfraError, match="counter"):
            counted("perf", tmp_path)


TESTBEDS = """\
[testbeds.runner]
driver = "command"
[testbeds.runner.workloads.compress]
run = "./bench-compress corpus.tar"
value = {regex = 'speed: ([\\d.]+) MB/s'}
unit = "MB/s"
higher-is-better = true
prepare = ["./configure-host", "now"]
timeout = 30
cpus = [0]
warm-up = 1
[testbeds.runner.workloads.count]
run = "./bench"
value = "instructions"
"""


@pytest.fixture
def load(tmp_path):
    def load(text):
        (tmp_path / "testbeds.toml").write_text(text, encoding="utf-8")
        return load_testbeds(tmp_path / "testbeds.toml")["runner"]

    return load


def test_a_testbed_of_commands_is_read_from_its_table(load, tmp_path):
    testbed = load(TESTBEDS)
    workloads = testbed.settings.workloads
    compress = workloads["compress"]
    assert compress.value == ValueTable(regex=r"speed: ([\d.]+) MB/s")
    assert (compress.prepare, compress.cpus) == (("./configure-host", "now"), (0,))
    assert (compress.timeout, compress.warm_up) == (30.0, 1)
    assert compress.metric.higher_is_better
    counted = workloads["count"].metric
    assert (counted.unit, counted.higher_is_better) == ("instructions", False)
    assert counted.noise is NoiseClass.EXACT
    driver = CommandDriver(testbed.settings, tmp_path)
    assert driver.workloads() == ("compress", "count")
    driver.prepare("compress")
    assert driver.metrics() == (compress.metric,)
    assert driver.facts()["command"] == "./bench-compress corpus.tar"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("higher-is-better", "higher_is_beter", "unknown key 'higher_is_beter'.*higher_is_better"),
        (
            "timeout = 30",
            "higher_is_better = true",
            "'higher_is_better' is there twice",
        ),
        ("higher-is-better = true", "higher-is-better = 1", "compress.higher-is-better: 1 is not"),
        ('unit = "MB/s"', "", "compress: unit is missing"),
        ('unit = "MB/s"', 'unit = "MB\\ns"', "unit is missing or no word"),
        ('run = "./bench"', "run = 5", "count.run: 5 is not text or a list"),
        ('run = "./bench"', 'run = "a \'b"', "cannot be split into words"),
        ('run = "./bench"', 'run = ""', "run is empty"),
        ('run = "./bench"', "run = [1]", "count.run.0: 1 is not text"),
        ('"instructions"', '"instruction"', "'instruction' is none; did you mean 'instructions'"),
        ('"instructions"', "{json = 'a..b'}", "'a..b' is no path"),
        ('"instructions"', "{preset = 'hyperfin'}", "did you mean 'hyperfine'"),
        ('"instructions"', "{}", "value says not one thing"),
        ('"instructions"', "{regex = 'a', json = 'b'}", "value says not one thing"),
        ('"instructions"', "{regex = 'speed: .*'}", "has 0 groups"),
        ('"instructions"', "{regex = '(['}", "is no regular expression"),
        ("warm-up = 1", "warm-up = 1000", "more than 100"),
        ("timeout = 30", "timeout = nan", "timeout"),
        ("timeout = 30", "timeout = 0", "timeout"),
        ("warm-up = 1", 'ready = "true"', "`ready` is for what `boot` starts"),
        ("warm-up = 1", "environment = {'A=B' = 'c'}", "'A=B' is no name"),
    ],
)
def test_what_cannot_be_right_is_told_by_file_and_key(load, old, new, words):
    assert old in TESTBEDS
    with pytest.raises(UsageError, match=rf"(?s)testbeds\.toml.*({words})"):
        load(TESTBEDS.replace(old, new, 1))


def test_a_shell_takes_a_text_and_no_list():
    with pytest.raises(UsageError, match="not a list"):
        CommandWorkload(run=("a", "b"), shell=True, value="wall")
    assert CommandSettings(workloads={}).workloads == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("./bench 'a b' \"c|d\" --size=3", ("./bench", "a b", "c|d", "--size=3")),
        ("sh bench.sh | tail -1", None),
        ("./bench *.bin", None),
        ("SIZE=3 ./bench", None),
        ("exit 125", None),
        ("./bench $HOME", None),
    ],
)
def test_a_line_is_one_for_sh_and_a_plain_program_needs_none(line, words):
    assert words_of(line, shell=False) == (words or ("/bin/sh", "-c", line))
    assert words_of(tuple(line.split()), shell=False) == tuple(line.split())


_LINES = st.lists(st.text("ab ='\"\\$`*?[~#|&;<>(){}!\t,%+@^é"), min_size=20, max_size=40)


@given(_LINES)
@settings(max_examples=25)
def test_what_is_run_without_sh_has_the_words_that_sh_gives_it(lines):
    plain = {}
    for line in (f"show {line}" for line in lines):
        with suppress(UsageError):
            words = words_of(line, shell=False)
            if words[0] == "show":
                plain[line] = words[1:]
    shows = "show() { for word; do printf '<%s>' \"$word\"; done; echo; }"
    script = "\n".join([shows, *plain])
    done = ran(["/bin/sh", "-c", script], check=True)
    assert done.stdout.split("\n")[:-1] == [
        "".join(f"<{word}>" for word in words) for words in plain.values()
    ]


def test_a_tool_that_is_asked_wrongly_says_what_it_needs():
    with pytest.raises(UntestableRevision, match="hyperfine prints it by --export-json"):
        value_of("hyperfine", "Time (mean): 3 ms")
    known = r"did you mean 'hyperfine'.*wall, user, instructions, last-number, .*wrk"
    with pytest.raises(UsageError, match=known):
        CommandWorkload(run="x", value="hyprfine")
