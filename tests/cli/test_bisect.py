"""What bench-bisect prints where, and what its exit status says, against a farm over HTTP."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from buildbot_bench.cli.bisect import main
from tests.fakes.farm import FakeFarm
from tests.fakes.rehearsal import REPORT, TEXT, Probe, RefusalError

Bisect = Callable[..., int]
Capture = pytest.CaptureFixture[str]
Golden = Callable[[str, str], None]
RANGE = ("r311848", "r313448")
READY_S, AGAIN_S, TIMES = 120.0, 2.0, 15


def test_answer_goes_to_stdout_and_progress_to_stderr(
    bisect: Bisect, capsys: Capture, golden: Golden
) -> None:
    assert bisect(*RANGE) == 0
    printed = capsys.readouterr()
    assert printed.out == TEXT
    golden("cli/search.stderr", printed.err)


def test_json_is_one_object_on_stdout(bisect: Bisect, capsys: Capture) -> None:
    assert bisect(*RANGE, "--json") == 0
    assert json.loads(capsys.readouterr().out) == REPORT


@pytest.mark.parametrize(
    ("outcome", "status"), [("found", 0), ("not-reproduced", 1), ("inconclusive", 3), ("failed", 4)]
)
def test_exit_status_says_how_the_search_ended(
    farm: FakeFarm, bisect: Bisect, outcome: str, status: int
) -> None:
    farm.outcome = outcome
    assert bisect(*RANGE) == status


def test_search_without_a_report_says_how_it_ended(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    farm.outcome, farm.text, farm.report = "failed", None, None
    assert bisect(*RANGE, "--json") == 4
    assert json.loads(capsys.readouterr().out) == {"kind": "failed", "searchid": 7}
    assert bisect("--follow", "7") == 4
    assert capsys.readouterr().out == "search 7 failed\n"


def test_a_search_starts_without_its_forecast_which_is_told_when_it_is_there(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    bisect(*RANGE)
    lines = capsys.readouterr().err.splitlines()
    said = ("forecast follows", "search 7", "forecast   ", "iterations  ")
    places = [next(i for i, line in enumerate(lines) if line.startswith(one)) for one in said]
    assert places == sorted(places)
    assert sum(line.startswith("iterations  ") for line in lines) == 1


def test_dry_run_prints_the_forecast_and_starts_nothing(
    farm: FakeFarm, bisect: Bisect, capsys: Capture, golden: Golden
) -> None:
    assert bisect(*RANGE, "--dry-run") == 0
    printed = capsys.readouterr()
    golden("cli/forecast.stdout", printed.out)
    assert (printed.err, farm.searches) == ("", {})


def test_dry_run_as_json_is_the_forecast(bisect: Bisect, capsys: Capture) -> None:
    assert bisect(*RANGE, "-n", "--json") == 0
    assert json.loads(capsys.readouterr().out)["iterations"] == {"median": 40, "p90": 50}


def test_no_wait_prints_the_number_that_follow_takes(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    assert bisect(*RANGE, "--no-wait") == 0
    printed = capsys.readouterr()
    assert printed.out == "7\n"
    assert printed.err.endswith(f"bench-bisect --follow 7 --farm {farm.url}\n")
    assert bisect("--follow", printed.out.strip()) == 0
    assert capsys.readouterr().out == TEXT


def test_cancelled_search_leaves_no_answer(farm: FakeFarm, bisect: Bisect, capsys: Capture) -> None:
    farm.hold_after = 2
    bisect(*RANGE, "--no-wait")
    assert bisect("--cancel", "7") == 0
    assert capsys.readouterr().out.endswith("search 7 is being cancelled\n")
    assert bisect("--follow", "7") == 3
    assert capsys.readouterr().out == "search 7 was cancelled\n"


def test_a_search_that_has_ended_cannot_be_cancelled_and_says_how_it_ended(
    bisect: Bisect, capsys: Capture
) -> None:
    assert bisect(*RANGE) == 0
    capsys.readouterr()
    assert bisect("--cancel", "7") == 0
    assert capsys.readouterr().out == "nothing to cancel: search 7 found what changed\n"
    assert bisect("--cancel", "7", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"searchid": 7, "state": "found"}


def test_a_search_that_was_cancelled_is_not_cancelled_again(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    farm.hold_after = 2
    bisect(*RANGE, "--no-wait")
    bisect("--cancel", "7")
    bisect("--follow", "7")
    capsys.readouterr()
    assert bisect("--cancel", "7") == 3
    assert capsys.readouterr().out == "nothing to cancel: search 7 was cancelled\n"


def test_list_shows_the_newest_first(
    farm: FakeFarm, bisect: Bisect, capsys: Capture, golden: Golden
) -> None:
    farm.hold_after = 2
    bisect(*RANGE, "--no-wait")
    bisect("r312904", "r312905", "--no-wait")
    capsys.readouterr()
    assert bisect("--list") == 0
    golden("cli/list.stdout", capsys.readouterr().out)
    assert bisect("--list", "--json") == 0
    assert [row["searchid"] for row in json.loads(capsys.readouterr().out)["searches"]] == [8, 7]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nonsense", "r1"), "no revision 'nonsense' in this repository; the oldest is r311848"),
        (("r313448", "r311848"), "r313448 does not come before r311848"),
        ((*RANGE, "--testbed", "apu9"), "no testbed 'apu9'; this farm has replay"),
        (("--follow", "99"), "the farm has no such search"),
        (("--cancel", "99"), "the farm has no such search"),
    ],
)
def test_wrong_question_is_one_line_and_status_2(
    bisect: Bisect, capsys: Capture, arguments: tuple[str, ...], complaint: str
) -> None:
    assert bisect(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"bench-bisect: {complaint}")
    assert printed.err.count("\n") == 1


def test_stopped_farm_is_one_line_and_status_4(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    farm.stop()
    for arguments in (RANGE, ("--follow", "7")):
        assert bisect(*arguments) == 4
        assert capsys.readouterr().err == (
            f"bench-bisect: no farm answers at {farm.url}: Connection refused; "
            "start it with `bench-farm run` or name it with --farm URL\n"
        )


def test_farm_is_named_by_the_environment(
    farm: FakeFarm, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_FARM", farm.url)
    assert main([*RANGE, "--no-wait"]) == 0
    assert capsys.readouterr().err.endswith("bench-bisect --follow 7\n")


def test_a_fix_to_apply_reaches_the_farm(farm: FakeFarm, bisect: Bisect) -> None:
    bisect("r311848", "r313448", "--with", "c255761", "--no-wait")
    assert farm.searches[7].question["with"] == "c255761"


def test_question_reaches_the_farm_as_it_was_asked(farm: FakeFarm, bisect: Bisect) -> None:
    place = ("--testbed", "replay", "--workload", "forwarding")
    assert bisect(*RANGE, *place, "--min-effect", "5%") == 0
    assert farm.searches[7].question == {
        "old": "r311848",
        "new": "r313448",
        "testbed": "replay",
        "workload": "forwarding",
        "min_effect": 0.05,
    }


def test_search_whose_answer_was_lost_is_not_started_again(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    farm.mute = True
    assert bisect(*RANGE) == 4
    assert "whether the search began, `bench-bisect --list` shows" in capsys.readouterr().err
    assert list(farm.searches) == [7]


def test_farm_on_this_machine_is_not_asked_through_a_proxy(
    bisect: Bisect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert bisect("--list") == 0


def test_what_was_typed_is_repeated_harmlessly(capsys: Capture) -> None:
    assert main(["--\x1b[31mred\nline"]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert error.count("\n") == 1


def test_hostile_text_never_reaches_the_terminal(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    hostile = "fix\x1b]0;owned\x07 [red]x[/] \u202e\udc80\x9b31m\r\nprobe 9"
    farm.subject, farm.text = hostile, f"{hostile}\n"
    farm.story = (Probe(svn=311848, value=None, suspects=(), failure=hostile),)
    assert bisect(*RANGE) == 0
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert "[red]x[/]" in text
        assert not set("\x1b\x07\u202e\udc80\x9b\r") & set(text)
    assert "\nprobe 9" not in printed.err


def test_mark_is_taken_and_said(farm: FakeFarm, bisect: Bisect, capsys: Capture) -> None:
    bisect(*RANGE)
    capsys.readouterr()
    assert bisect("--mark", "7", "fixed", "r313448") == 0
    assert capsys.readouterr().out == "search 7 is marked: fixed by r313448\n"
    assert bisect("--mark", "7", "again", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pending"] is True
    assert [mark["kind"] for mark in farm.searches[7].marks] == ["fixed", "again"]


@pytest.mark.parametrize(("said", "becomes"), [((), "stay unused"), (("--false-alarm",), "count")])
def test_a_testbed_is_released(
    farm: FakeFarm, bisect: Bisect, capsys: Capture, said: tuple[str, ...], becomes: str
) -> None:
    farm.quarantined = {"replay"}
    assert bisect("--release", "replay", *said) == 0
    told = f"replay is released; its measurements in quarantine {becomes}\n"
    assert capsys.readouterr().out == told
    assert (farm.quarantined, bool(farm.trusted)) == (set(), bool(said))


@pytest.mark.parametrize(
    ("testbed", "complaint"),
    [
        ("replay", "replay is not in quarantine"),
        ("apu9", "there is no testbed 'apu9'"),
        ("../searches/7", "there is no testbed '../searches/7'"),
    ],
)
def test_nothing_to_release_is_one_line_and_status_2(
    bisect: Bisect, capsys: Capture, testbed: str, complaint: str
) -> None:
    assert bisect("--release", testbed) == 2
    assert capsys.readouterr().err.startswith(f"bench-bisect: {complaint}")


def test_farm_refuses_a_mark_that_it_does_not_know(bisect: Bisect, capsys: Capture) -> None:
    bisect(*RANGE)
    assert bisect("--mark", "7", "nonsense") == 2
    assert "is no mark" in capsys.readouterr().err


CLONING = [f"cloning freebsd-src: {n} % received; {3 * n} MiB" for n in (41, 42, 43)]


def test_a_farm_that_clones_is_waited_for_and_says_how_far_it_is(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    farm.not_yet = [*CLONING, "reading the history of freebsd-src: 5000 commits"]
    assert bisect(*RANGE) == 0
    printed = capsys.readouterr()
    assert printed.out == TEXT
    # Lines of the same work are not repeated at once.
    assert [line for line in printed.err.splitlines() if "freebsd-src" in line] == [
        CLONING[0],
        "reading the history of freebsd-src: 5000 commits",
    ]
    assert len(farm.searches) == 1


def test_a_search_that_the_farm_could_not_begin_yet_is_begun_once(
    farm: FakeFarm, bisect: Bisect, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = farm.control

    def forgetful(path: str, method: str, params: dict[str, object]) -> object:
        answer = control(path, method, params)
        if method == "check":
            farm.not_yet = list(CLONING)
        return answer

    monkeypatch.setattr(farm, "control", forgetful)
    assert bisect(*RANGE, "--no-wait") == 0
    assert len(farm.searches) == 1


def test_a_farm_that_is_restarted_while_it_clones_is_waited_for(
    farm: FakeFarm, bisect: Bisect, monkeypatch: pytest.MonkeyPatch
) -> None:
    farm.not_yet = list(CLONING)
    control = farm.control

    def restarting(path: str, method: str, params: dict[str, object]) -> object:
        if len(farm.not_yet) == 1:
            farm.broken = 503
            threading.Timer(0.2, setattr, (farm, "broken", None)).start()
        return control(path, method, params)

    monkeypatch.setattr(farm, "control", restarting)
    assert bisect(*RANGE) == 0


def test_who_waits_for_a_clone_may_leave(farm: FakeFarm, bisect: Bisect, capsys: Capture) -> None:
    control, waits, over = farm.control, threading.Event(), threading.Event()
    farm.not_yet = list(CLONING)

    def cloning(path: str, method: str, params: dict[str, object]) -> object:
        if len(farm.not_yet) == 1 and not over.is_set():
            waits.set()  # it has asked again: before, there is nothing to leave
            farm.not_yet = list(CLONING)
        return control(path, method, params)

    farm.control = cloning  # type: ignore[method-assign, assignment]
    with _interrupted_once(waits, over):
        assert bisect(*RANGE) == 130
    printed = capsys.readouterr()
    assert "interrupted; nothing was started" in printed.err
    assert printed.out == ""
    assert farm.searches == {}


@contextmanager
def _interrupted_once(ready: threading.Event, over: threading.Event) -> Iterator[None]:
    """^C for the main thread, once it is ready, and again until it leaves or `over` is set.

    One may be lost: Python only prints what a handler raises within a finaliser.
    """
    main_thread = threading.main_thread().ident or 0

    def send() -> None:
        for _ in range(TIMES if ready.wait(READY_S) else 0):
            signal.pthread_kill(main_thread, signal.SIGINT)
            if over.wait(AGAIN_S):
                break
        over.set()

    def hear(*_signal: object) -> None:
        if not over.is_set():
            raise KeyboardInterrupt

    # Whatever was there: a signal that is ignored, or a handler that another test has left.
    before = signal.signal(signal.SIGINT, hear)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        ready.set()
        sender.join()
        signal.signal(signal.SIGINT, before)


def test_a_clone_that_fails_ends_the_wait_with_its_reason(
    farm: FakeFarm, bisect: Bisect, capsys: Capture
) -> None:
    farm.not_yet = list(CLONING)
    reason = "there is no mirror of src yet: git fetch: fatal: \x1b[31mPermission denied"
    control = farm.control

    def failing(path: str, method: str, params: dict[str, object]) -> object:
        if not farm.not_yet:
            raise RefusalError(400, reason, -32603)
        return control(path, method, params)

    farm.control = failing  # type: ignore[method-assign, assignment]
    assert bisect(*RANGE) == 4
    said = capsys.readouterr().err
    assert "git fetch: fatal: " in said
    assert "\x1b" not in said


def test_on_a_terminal_the_clone_is_one_line_that_changes(
    farm: FakeFarm, bisect: Bisect, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    farm.not_yet = list(CLONING)
    assert bisect(*RANGE, "--dry-run") == 0
    said = capsys.readouterr().err
    assert "\r\x1b[K".join(("", *CLONING)) + "\n" in said
