"""bench-ministat answers as ministat does: flags, messages, exit status, width."""

import fcntl
import gzip
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from buildbot_bench.cli.ministat import USAGE, main

HEADING = "    N           Min           Max        Median           Avg        Stddev\n"
ROW_A = "x   3             1             3             2             2             1\n"
ROW_B = "+   3            11            13            12            12             1\n"
VERDICT = (
    "Difference at 95.0% confidence\n"
    "\t10 +/- 2.26659\n"
    "\t500% +/- 487.45%\n"
    "\t(Student's t, pooled s = 1)\n"
)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two data sets in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("1\n2\n3\n", encoding="ascii")
    Path("b").write_text("11\n12\n13\n", encoding="ascii")


def feed(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def stdout(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def stderr(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_two_files_have_plot_table_and_verdict(capsys):
    lines = stdout(capsys, "a", "b").splitlines()
    assert lines[:3] == ["x a", "+ b", f"+{'-' * 74}+"]
    assert [line[0] for line in lines[3:6]] == ["|", "|", "+"]  # dots, one shared bar line
    assert "".join(f"{line}\n" for line in lines[6:]) == HEADING + ROW_A + ROW_B + VERDICT


def test_s_gives_each_data_set_its_bar(capsys):
    assert stdout(capsys, "-s", "a", "b").count("\n|") == 3


def test_big_a_leaves_out_the_plot_alone(capsys):
    assert stdout(capsys, "-A", "a", "b") == "x a\n+ b\n" + HEADING + ROW_A + ROW_B + VERDICT


def test_n_leaves_out_plot_and_verdict(capsys):
    assert stdout(capsys, "-n", "a", "b") == "x a\n+ b\n" + HEADING + ROW_A + ROW_B


def test_q_leaves_out_names_and_heading(capsys):
    assert stdout(capsys, "-q", "-A", "a", "b") == ROW_A + ROW_B + VERDICT
    assert stdout(capsys, "-q", "a").startswith("+---")


def test_n_and_q_give_exactly_one_row(capsys):
    assert stdout(capsys, "-n", "-q", "a") == ROW_A


def test_p_gives_the_deviation_of_a_population_and_no_verdict(capsys):
    assert stdout(capsys, "-PqA", "a", "b") == ROW_A.replace(
        "             1\n", "    0.81649658\n"
    ) + ROW_B.replace("             1\n", "    0.81649658\n")


def test_flags_stand_together_and_end_at_the_first_file(capsys):
    assert stdout(capsys, "-Anqs", "a") == ROW_A
    assert "Cannot open -A" in stderr(capsys, "a", "-A")


def test_w_sets_the_width(capsys):
    assert f"\n+{'-' * 20}+\n" in stdout(capsys, "-w", "20", "a")
    assert "\n++\n" in stdout(capsys, "-w0", "a")


@pytest.mark.parametrize(
    ("level", "error"),
    [
        ("80", "1.25169"),
        ("90", "1.74077"),
        ("95.0", "2.26659"),
        ("98", "3.05941"),
        ("99", "3.75915"),
        ("99.5", "5.85673"),
        ("0x5f", "2.26659"),
    ],
)
def test_c_sets_the_confidence(capsys, level: str, error: str):
    verdict = stdout(capsys, "-A", "-c", level, "a", "b").split(ROW_B)[1]
    assert f"+/- {error}\n" in verdict
    named = 95 if level.startswith("0x") else float(level)
    assert verdict.startswith(f"Difference at {named:.1f}% confidence\n")


def test_the_last_good_confidence_counts_and_a_later_bad_one_is_passed_over(capsys):
    assert "at 80.0%" in stdout(capsys, "-c99", "-c80", "-c42", "a", "b")


def test_big_c_and_d_choose_the_column(capsys, monkeypatch):
    feed(monkeypatch, b"9,,1\n9,2,7\n9,3\n")
    assert stdout(capsys, "-qn", "-C2", "-d,") == ROW_A


def test_help_is_an_answer(capsys):
    assert stdout(capsys, "--help") == USAGE


def test_without_a_file_stdin_is_read(capsys, monkeypatch):
    feed(monkeypatch, b"1\n2\n3\n")
    assert stdout(capsys, "-A") == "x <stdin>\n" + HEADING + ROW_A


def test_a_dash_is_stdin_as_the_first_file_alone(capsys, monkeypatch):
    feed(monkeypatch, b"1\n2\n3\n")
    assert stdout(capsys, "-A", "-", "b").startswith("x -\n+ b\n")
    feed(monkeypatch, b"1\n2\n3\n")
    assert stderr(capsys, "b", "-") == "ministat: Cannot open -: No such file or directory\n"


def test_names_are_printed_as_given(capsys):
    path = f"./{Path.cwd().name}/../a"
    Path(Path.cwd().name).mkdir()
    assert stdout(capsys, "-A", path).startswith(f"x {path}\n")


def test_one_data_set_has_no_verdict(capsys):
    assert stdout(capsys, "a").endswith(ROW_A)


def test_no_difference_is_an_answer_too(capsys):
    assert stdout(capsys, "a", "a").endswith("No difference proven at 95.0% confidence\n")


@pytest.mark.parametrize(("count", "symbols"), [(7, "x+*%#@O")])
def test_seven_data_sets_are_the_most(capsys, count: int, symbols: str):
    names = stdout(capsys, *["a"] * count).splitlines()[:count]
    assert names == [f"{symbol} a" for symbol in symbols]
    assert stderr(capsys, *["a"] * (count + 1)) == "Too many datasets.\n" + USAGE


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-c", "97"], "No support for confidence level"),
        (["-c", "97", "-c", "95"], "No support for confidence level"),
        (["-c", ""], "No support for confidence level"),
        (["-c", "95%"], "Not a floating point number"),
        (["-c", "95", "-c", "x"], "Not a floating point number"),
        (["-C", "0"], "Column number should be positive."),
        (["-C", "-1"], "Column number should be positive."),
        (["-C", "x"], "Invalid column number."),
        (["-C", "1.5"], "Invalid column number."),
        (["-w", "x"], "Invalid width, not a number."),
        (["-w", "-1"], "Unable to move beyond left margin."),
        (["-d", ""], "Can't use empty delimiter string"),
    ],
)
def test_a_bad_argument_is_answered_with_its_message_and_the_usage(capsys, argv, message):
    assert stderr(capsys, *argv, "a", "b") == f"{message}\n{USAGE}"


@pytest.mark.parametrize("argv", [["-z"], ["-c"], ["--nope"]])
def test_an_unknown_option_is_named(capsys, argv):
    first, second, *usage = stderr(capsys, *argv).splitlines()
    assert first.startswith(f"ministat: option {argv[0]} ")
    assert second == "Unknown option"
    assert usage == USAGE.splitlines()


def test_all_files_are_opened_before_one_is_read(capsys):
    Path("bad").write_text("x\n", encoding="ascii")
    assert stderr(capsys, "a", "bad", "nope") == (
        "ministat: Cannot open nope: No such file or directory\n"
    )
    assert stderr(capsys, "a", "bad") == "ministat: Invalid data on line 1 in bad\n"


def test_too_few_points_are_refused_without_a_prefix(capsys):
    Path("short").write_text("1\n2\n", encoding="ascii")
    message = "Dataset short must contain at least 3 data points\n"
    assert stderr(capsys, "a", "short") == message


@pytest.mark.parametrize("value", ["inf", "-inf", "1e102", "1e999"])
def test_what_crashes_ministat_is_refused(capsys, value: str):
    Path("huge").write_text(f"1\n2\n{value}\n", encoding="ascii")
    assert stderr(capsys, "huge").startswith("huge: value 3 of a sample is ")
    assert stderr(capsys, "-w1", "a").startswith("width 1 is too narrow")


def test_nan_proves_nothing(capsys):
    Path("odd").write_text("1\nnan\n3\n", encoding="ascii")
    text = stdout(capsys, "a", "odd")
    assert "[no plot, span is zero width]\n" in text
    assert text.endswith("No difference proven at 95.0% confidence\n")


def run(*argv: str | bytes, **options) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "buildbot_bench.cli.ministat", *argv]
    return subprocess.run(command, capture_output=True, check=False, timeout=60, **options)


def test_a_name_that_is_no_text_goes_out_as_it_came_in():
    Path(os.fsdecode(b"r\xff")).write_text("1\n2\n3\n", encoding="ascii")
    assert run("-nA", b"r\xff").stdout.startswith(b"x r\xff\n")


def test_a_reader_that_leaves_early_sees_no_traceback():
    Path("many").write_text("".join(f"{k}\n" for k in range(50_000)), encoding="ascii")
    command = [sys.executable, "-m", "buildbot_bench.cli.ministat", "-w", "9", "many"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("columns", "width"), [(None, 98), ("60", 60), ("60x", 60), ("", 98), ("1", 74), ("-5", 74)]
)
def test_on_a_terminal_the_plot_is_as_wide_as_it(columns: str | None, width: int):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if columns is not None:
        environment["COLUMNS"] = columns
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-m", "buildbot_bench.cli.ministat", "a"]
    subprocess.run(command, stdout=slave, env=environment, check=True, timeout=60)
    os.close(slave)
    shown = os.read(master, 65536)
    os.close(master)
    assert f"\r\n+{'-' * width}+\r\n".encode() in shown


def test_published_blocks_come_out_of_their_files(capsys, data: Path):
    with gzip.open(data / "ministat" / "blocks.jsonl.gz", "rt", encoding="utf-8") as lines:
        blocks = [json.loads(line) for line in lines]
    compared = 0
    for block in blocks:
        labels = [one["label"] for one in block["datasets"]]
        if block["relative_error"] != "current" or "/" in "".join(labels):
            continue
        for one in block["datasets"]:
            Path(one["label"]).write_text(one["text"], encoding="utf-8")
        text = stdout(capsys, *block["flags"], f"-w{block['width']}", "--", *labels)
        assert text.replace("\t", " " * 8) == block["expected"], block["source"]
        compared += 1
    assert compared > 100
