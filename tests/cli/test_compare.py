"""What bench-compare asks of a farm, prints where, writes, and says in its exit status."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

from buildbot_bench.cli.compare import main
from tests.fakes.comparisons import CSV, FILES, MARKDOWN, PNG, REPORT, TEXT, ComparisonFarm

Compare = Callable[..., int]
Capture = pytest.CaptureFixture[str]
PAIR = ("r4", "r4+VIMAGE")
PATCH = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+\xe9\n"


@pytest.fixture
def farm() -> Iterator[ComparisonFarm]:
    with ComparisonFarm() as running:
        yield running


@pytest.fixture
def compare(farm: ComparisonFarm) -> Compare:
    """The command against the farm, polling fast."""

    def run(*arguments: str) -> int:
        return main([*arguments, "--farm", farm.url, "--poll", "0.01s"])

    return run


def test_answer_goes_to_stdout_and_progress_to_stderr(compare: Compare, capsys: Capture) -> None:
    assert compare(*PAIR) == 0
    printed = capsys.readouterr()
    assert printed.out == TEXT
    first, *progress = printed.err.splitlines()
    assert first == "comparison 3: r4+VIMAGE against r4, 3 boots, about 30 min after all are built"
    assert progress[0].endswith("1 of 3 boots  measuring \ufffd[31mr4")


def test_a_farm_that_runs_commands_counts_runs(
    compare: Compare, capsys: Capture, farm: ComparisonFarm
) -> None:
    farm.besides = {"nouns": {"iteration": "run", "built": "build", "place": "machine"}}
    assert compare(*PAIR) == 0
    first, *progress = capsys.readouterr().err.splitlines()
    assert first.startswith("comparison 3: r4+VIMAGE against r4, 3 runs, about 30 min")
    assert " 1 of 3 runs  measuring " in progress[0]
    assert compare("--list") == 0
    heading, _ = capsys.readouterr().out.splitlines()
    assert heading.split() == ["ID", "STATE", "BEGUN", "VARIANTS", "RUNS", "BY", "OUTCOME"]


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("--markdown", MARKDOWN),
        ("--json", json.dumps(REPORT, indent=2) + "\n"),
        ("--csv", CSV),
    ],
)
def test_the_answer_may_have_other_forms(
    compare: Compare, capsys: Capture, form: str, answer: str
) -> None:
    assert compare(*PAIR, form) == 0
    assert capsys.readouterr().out == answer


@pytest.mark.parametrize(("outcome", "status"), [("done", 0), ("untestable", 3), ("failed", 4)])
def test_exit_status_says_how_the_comparison_ended(
    farm: ComparisonFarm, compare: Compare, outcome: str, status: int
) -> None:
    farm.comparison_outcome = outcome
    assert compare(*PAIR) == status


def test_question_reaches_the_farm_as_it_was_asked(farm: ComparisonFarm, compare: Compare) -> None:
    all_series = ("--testbed", "apu", "--workload", "pf", "--workload", "ipfw")
    compare(*PAIR, *all_series, "-n", "7", "--min-effect", "3%", "--priority", "low", "--no-wait")
    assert farm.comparisons[3].question == {
        "variants": ["r4", "r4+VIMAGE"],
        "testbeds": ["apu"],
        "workloads": ["pf", "ipfw"],
        "iterations": 7,
        "min_effect": 0.03,
        "priority": "low",
    }


def test_any_number_of_variants_and_their_labels_reach_the_farm(
    farm: ComparisonFarm, compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.patch").write_bytes(PATCH)
    tuned = "r4+sysctl:net.x=1"
    asked = ("r4", "r5", tuned, "r4+file:./my.patch")
    labels = ("--label", f"{tuned}=tuned", "--label", "r4+file:./my.patch=IF LIB")
    assert compare(*asked, *labels, "--no-wait") == 0
    question = farm.comparisons[3].question
    assert question["variants"] == ["r4", "r5", tuned, "r4+file:my.patch"]
    assert question["labels"] == {tuned: "tuned", "r4+file:my.patch": "IF LIB"}


def test_factors_make_and_label_the_variants(
    farm: ComparisonFarm, compare: Compare, capsys: Capture
) -> None:
    factors = ("--factor", "patch=D58513", "--factor", "tx=net.x:0,1")
    assert compare("r4", *factors, "--no-wait") == 0
    assert farm.comparisons[3].question["labels"] == {
        "r4+sysctl:net.x=0": "patch=without, tx=0",
        "r4+sysctl:net.x=1": "patch=without, tx=1",
        "r4+D58513+sysctl:net.x=0": "patch=with, tx=0",
        "r4+D58513+sysctl:net.x=1": "patch=with, tx=1",
    }
    assert compare("r4", "r5", *factors) == 2
    assert "--factor goes with one VARIANT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ((), {}),
        (("-n", "+5"), {"more": 5}),
        (("-n", "9"), {"iterations": 9}),
        (("--images", "4"), {"images": 4}),
        (("r6", "--label", "r6=X"), {"variants": ["r6"], "labels": {"r6": "X"}}),
    ],
)
def test_a_comparison_is_extended_and_followed(
    farm: ComparisonFarm,
    compare: Compare,
    capsys: Capture,
    arguments: tuple[str, ...],
    asked: dict[str, object],
) -> None:
    compare(*PAIR, "--no-wait")
    capsys.readouterr()
    assert compare("--extend", "3", *arguments) == 0
    assert capsys.readouterr().out == TEXT
    assert farm.comparisons[3].extensions == [asked]


def test_a_patch_goes_along_byte_for_byte_and_without_its_directory(
    farm: ComparisonFarm, compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "my.patch").write_bytes(PATCH)
    assert compare("r4", "r4+file:sub/my.patch", "--no-wait") == 0
    question = farm.comparisons[3].question
    assert question["variants"] == ["r4", "r4+file:my.patch"]
    assert base64.b64decode(question["patches"]["my.patch"]) == PATCH


def test_the_result_directory_is_written(compare: Compare, tmp_path: Path, capsys: Capture) -> None:
    place = tmp_path / "results" / "new"
    assert compare(*PAIR, "--output", str(place)) == 0
    written = {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }
    assert written == {name: text.encode() for name, text in FILES.items()} | {"graph.png": PNG}
    assert f"3 files are in {place}" in capsys.readouterr().err


def test_a_directory_that_holds_something_is_refused_before_anything_is_booted(
    farm: ComparisonFarm, compare: Compare, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("precious")
    assert compare(*PAIR, "--output", str(tmp_path)) == 2
    assert farm.comparisons == {}


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ".bashrc", "a//b", "a/./b", ""])
def test_no_file_is_written_outside_of_the_directory(
    farm: ComparisonFarm, compare: Compare, tmp_path: Path, capsys: Capture, path: str
) -> None:
    farm.files = {"README.md": "fine", path: "evil"}
    assert compare(*PAIR, "--output", str(tmp_path / "out")) == 4
    assert "not written" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == []


def test_no_wait_prints_the_number_that_follow_takes(
    farm: ComparisonFarm, compare: Compare, capsys: Capture
) -> None:
    assert compare(*PAIR, "--no-wait") == 0
    printed = capsys.readouterr()
    assert printed.out == "3\n"
    assert printed.err.endswith(f"bench-compare --follow 3 --farm {farm.url}\n")
    assert compare("--follow", "3") == 0
    assert capsys.readouterr().out == TEXT


def test_a_cancelled_comparison_leaves_no_answer(compare: Compare, capsys: Capture) -> None:
    compare(*PAIR, "--no-wait")
    assert compare("--cancel", "3") == 0
    assert compare("--follow", "3") == 3
    assert capsys.readouterr().out.endswith(
        "comparison 3 is being cancelled\ncomparison 3 cancelled\n"
    )


def test_a_comparison_that_has_ended_cannot_be_cancelled_and_says_how_it_ended(
    compare: Compare, capsys: Capture
) -> None:
    assert compare(*PAIR) == 0
    capsys.readouterr()
    assert compare("--cancel", "3") == 0
    assert capsys.readouterr().out == "nothing to cancel: comparison 3 done\n"


def test_what_awaits_approval_is_shown_harmlessly_and_then_decided(
    farm: ComparisonFarm, compare: Compare, capsys: Capture
) -> None:
    farm.wary = True
    compare(*PAIR, "--no-wait")
    watched = threading.Thread(target=compare, args=("--follow", "3"))
    # What pytest captures is emptied as it is read: what is written meanwhile would be lost.
    with redirect_stderr(StringIO()) as shown:
        watched.start()
        while "--approve 3" not in shown.getvalue():
            assert watched.is_alive()
            time.sleep(0.01)
        assert "ann asks to build and run:\n\n--- my.patch ---\n+evil" in shown.getvalue()
        assert "\x1b" not in shown.getvalue()
        assert compare("--approve", "3") == 0
        watched.join()
    assert TEXT in capsys.readouterr().out


def test_a_rejected_comparison_leaves_no_answer(
    farm: ComparisonFarm, compare: Compare, capsys: Capture
) -> None:
    farm.wary = True
    compare(*PAIR, "--no-wait")
    assert compare("--reject", "3") == 0
    assert compare("--follow", "3") == 3
    assert capsys.readouterr().out.endswith("comparison 3: reject\ncomparison 3 rejected\n")


def test_list_shows_the_newest_first(compare: Compare, capsys: Capture) -> None:
    compare(*PAIR, "--no-wait")
    compare("r5", "r6", "--no-wait")
    capsys.readouterr()
    assert compare("--list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "ID  STATE    BEGUN             VARIANTS              BOOTS  BY   OUTCOME",
        "4   running  2016-11-17 12:00  r6 against r5         0/3    ann",
        "3   running  2016-11-17 12:00  r4+VIMAGE against r4  0/3    ann",
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("r4",), "a comparison takes 2 to 32 variants, 1 given; as in `bench-compare r317849"),
        (tuple(f"r{n}" for n in range(33)), "a comparison takes 2 to 32 variants, 33 given"),
        (("r4", "r5", "r4"), "r4 is there twice; name each variant once"),
        (("r4", "r99"), "r99 is no commit of main"),
        (("r4", "r5", "--label", "r9=X"), "'X' is for r9, which is not compared; label one of r4"),
        (("r4", "r5", "--label", "X"), "--label 'X' names no variant; as in --label r313448=IFLIB"),
        (
            ("r4", "r5", "--label", "r4=X", "--label", "r5=X"),
            "r4 and r5 are both to be called 'X'; give one of them another label",
        ),
        (("r4", "r5", "--label", "r4=X", "--label", "r4=Y"), "r4 is labelled twice"),
        (("r4", "r5", "-n", "+5"), "-n +5 goes with --extend ID only; say -n 5"),
        (("r4", "r5", "-n", "many"), "'many' is no number of boots; as in -n 10, or -n +5"),
        (("--extend", "3", "--testbed", "apu"), "--testbed goes with BASE NEW only"),
        (("--extend", "99", "-n", "+5"), "the farm has no such comparison; `bench-compare"),
        (("r4", "r4+vimage"), "'vimage' is no change of a kernel"),
        (("r4", "r4+file:gone.patch"), "cannot read the patch gone.patch: No such file"),
        (("--follow", "99"), "the farm has no such comparison; `bench-compare --list`"),
        (("--follow", "3", "-n", "5"), "-n goes with BASE NEW or --extend ID only"),
        (("r4", "r5", "--json", "--markdown"), "not allowed with"),
    ],
)
def test_wrong_question_is_one_line_and_status_2(
    compare: Compare, capsys: Capture, arguments: tuple[str, ...], complaint: str
) -> None:
    assert compare(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("bench-compare: ")
    assert complaint in printed.err
    assert printed.err.count("\n") == 1


def test_a_reviews_site_that_is_away_is_status_4_in_its_own_words(
    farm: ComparisonFarm, compare: Compare, capsys: Capture
) -> None:
    farm.away = "cannot fetch D8526 from https://reviews.example.org: no answer in time"
    assert compare("r4", "r4+D8526") == 4
    assert capsys.readouterr().err == f"bench-compare: {farm.away}\n"


def test_stopped_farm_is_one_line_and_status_4(
    farm: ComparisonFarm, compare: Compare, capsys: Capture
) -> None:
    farm.stop()
    assert compare(*PAIR) == 4
    assert capsys.readouterr().err.startswith(f"bench-compare: no farm answers at {farm.url}")
