"""The command line: what is understood, and that each mistake is named."""

import pytest

from buildbot_bench.api.requests import MarkAsked, ReleaseAsked, SearchQuestion
from buildbot_bench.cli.bisect import main as bisect_main
from buildbot_bench.cli.bisect import parse_bisect
from buildbot_bench.cli.compare import main as compare_main
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.local_arguments import parse_local_bisect
from buildbot_bench.core.errors import UsageError
from buildbot_bench.render.message import report_text
from tests.fakes import reports
from tests.ports import free_port

RANGE = ("r311848", "r313448")


def parse(*arguments: str, **environ: str) -> FarmCommand:
    return parse_bisect(arguments, environ)


def test_two_revisions_are_a_search() -> None:
    command = parse(*RANGE)
    assert command.said == SearchQuestion(old="r311848", new="r313448")
    assert (command.action, command.dry_run, command.wait) == ("start", False, True)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--follow", "7"), ("follow", 7, "", None)),
        (("--cancel", "7"), ("cancel", 7, "", None)),
        (("--list",), ("list", 0, "", None)),
        (("--release", "apu2"), ("release", 0, "apu2", ReleaseAsked())),
        (
            ("--release", "apu2", "--false-alarm"),
            ("release", 0, "apu2", ReleaseAsked(false_alarm=True)),
        ),
        (("--mark", "7", "noise"), ("mark", 7, "", MarkAsked(mark="noise"))),
        (("--mark", "7", "fixed", "r9"), ("mark", 7, "", MarkAsked(mark="fixed", revision="r9"))),
    ],
)
def test_known_searches_are_named_by_number(arguments: tuple[str, ...], wanted: object) -> None:
    command = parse(*arguments)
    assert (command.action, command.number, command.testbed, command.said) == wanted


def test_every_command_in_a_mail_is_one_that_is_understood() -> None:
    lines = report_text(reports.iflib()).splitlines()
    commands = [parse(*line.split()[1:]) for line in lines if line.startswith("  bench-bisect ")]
    marks = [one.said.mark for one in commands if isinstance(one.said, MarkAsked)]
    assert set(marks) == {"expected", "noise", "fixed", "again"}
    assert {one.action for one in commands} >= {"start", "follow"}


@pytest.mark.parametrize("text", ["2%", "2 %", "0.02", ".02", "2.0%"])
def test_smallest_effect_is_a_share_or_a_percentage(text: str) -> None:
    said = parse(*RANGE, "--min-effect", text).said
    assert isinstance(said, SearchQuestion)
    assert said.min_effect == pytest.approx(0.02)


@pytest.mark.parametrize(("text", "patience_s"), [("90s", 90.0), ("15m", 900.0), ("1.5h", 5400.0)])
def test_patience_is_a_time(text: str, patience_s: float) -> None:
    assert parse("--follow", "7", "--patience", text).farm.patience_s == patience_s


def test_argument_goes_before_environment_and_environment_before_default() -> None:
    assert parse(*RANGE).farm.url == "http://localhost:8010"
    assert parse(*RANGE, BENCH_FARM="https://a.example").farm.url == "https://a.example"
    command = parse(*RANGE, "--farm", "http://b.example/bb", BENCH_FARM="https://a.example")
    assert command.farm.url == "http://b.example/bb"
    assert command.farm.argument == " --farm http://b.example/bb"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "two revisions, 0 given; as in"),
        (("r1",), "two revisions, 1 given"),
        (("r1", "r2", "r3"), "two revisions, 3 given"),
        ((*RANGE, "--min-effect", "2"), "'2' is no share; write 2% or 0.02"),
        ((*RANGE, "--min-effect", "nan"), "'nan' is no share"),
        ((*RANGE, "--min-effect", "0%"), "'0%' is no share"),
        ((*RANGE, "--patience", "15"), "'15' is no time; write 90s"),
        ((*RANGE, "--farm", "localhost:8010"), "'localhost:8010' is no farm's URL"),
        ((*RANGE, "--farm", "http://["), "is no farm's URL"),
        ((*RANGE, "--farm", "http://me:pw@a.example"), "holds a user; name it with --user"),
        (("--follow", "seven"), "'seven' is no search; `bench-bisect --list`"),
        (("--follow", "7", "--cancel", "7"), "not allowed with"),
        (("--follow", "7", *RANGE), "take no revisions"),
        (("--follow", "7", "--dry-run"), "--dry-run goes with OLD NEW only"),
        (("--release", "apu2", "r1"), "take no revisions"),
        (("--release", "apu2", "--list"), "not allowed with"),
        ((*RANGE, "--false-alarm"), "--false-alarm goes with --release TESTBED only"),
        (("--mark", "7"), "takes what the report was"),
        (("--mark", "7", "fixed", "r1", "r2"), "`bench-bisect --mark 7 fixed r313448`"),
        (("--list", "--min-effect", "2%"), "--min-effect goes with OLD NEW only"),
        (("--list", "--priority", "low"), "--priority goes with OLD NEW only"),
        ((*RANGE, "--priority", "urgent"), "invalid choice: 'urgent'"),
        ((*RANGE, "--frobnicate"), "unrecognized arguments: --frobnicate; see"),
        ((*RANGE, "--test", "apu2"), "unrecognized arguments: --test"),
    ],
)
def test_mistake_is_named(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(UsageError) as mistake:
        parse(*arguments)
    assert complaint in str(mistake.value)
    assert "pw" not in str(mistake.value)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_end_well(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(option)
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(("usage: bench-bisect --local OLD NEW", "bench-bisect 1."))
    assert max(len(line) for line in printed.splitlines()) <= 80


@pytest.mark.parametrize("command", [bisect_main, compare_main])
@pytest.mark.parametrize(
    "arguments", [["r1\udcff", "r2"], ["r1", "r2", "--farm", "http://x\udc80"], ["\udcff"]]
)
def test_an_argument_that_is_no_text_is_a_usage_error(capsys, command, arguments):
    """It was a traceback and the status 1, which says that the ends do not differ."""
    assert command(arguments) == 2
    assert "is not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("main", "first"),
    [(bisect_main, "bench-bisect --local OLD NEW"), (compare_main, "bench-compare --local BASE")],
)
def test_help_begins_with_a_screen_of_what_needs_no_farm(main, first, capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    screen = printed.splitlines()[:24]
    assert printed.startswith(f"usage: {first}")
    for option in (
        "--build COMMAND",
        "--run COMMAND",
        "--value V",
        "--min-effect E",
        "--html FILE",
    ):
        assert any(line.startswith(f"  {option}") for line in screen), option
    assert not any("on a farm:" in line for line in screen)
    assert "on a farm:" in printed


@pytest.mark.parametrize(
    ("main", "typed", "told"),
    [
        (bisect_main, ["v1", "v2", "--run", "./a b"], "bench-bisect --local v1 v2 --run './a b'"),
        (bisect_main, ["--unit=MB/s", "v1", "v2"], "bench-bisect --local --unit=MB/s v1 v2"),
        (compare_main, ["v1", "v2", "--build", "make"], "bench-compare --local v1 v2 --build make"),
    ],
)
def test_an_option_of_local_searches_says_to_add_local(main, typed, told, capsys) -> None:
    assert main(typed) == 2
    said = capsys.readouterr().err
    assert f"; add --local: `{told}`\n" in said
    (option,) = (word.partition("=")[0] for word in typed if word.startswith("--"))
    assert f": {option} goes with --local" in said


NO_FARM = "start it with `bench-farm run`"
ADD_LOCAL = "add --local, and --run COMMAND, to measure the git repository here"


@pytest.mark.parametrize("main", [bisect_main, compare_main])
def test_who_is_in_a_repository_without_a_farm_is_told_of_local(
    tmp_path, monkeypatch, capsys, main
) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    monkeypatch.setattr("buildbot_bench.cli.farm_access.DEFAULT_FARM", nobody)
    for here, farm, hint in (
        ("repository/below", (), ADD_LOCAL),
        ("repository/below", ("--farm", nobody), NO_FARM),
        ("elsewhere", (), NO_FARM),
    ):
        (tmp_path / here).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / here)
        assert main(["v1", "v2", *farm]) == 4
        assert f"no farm answers at {nobody}: Connection refused; {hint}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("sh ./count.sh", "count.sh"),
        ("sh bench.sh | tail -1", "bench.sh"),
        ("cd build && LC_ALL=C ./bench --quick > log", "bench"),
        ("python3 -m bench", "bench"),
        ("timeout 10 ./bench", "bench"),
        ("env", "env"),
    ],
)
def test_a_local_workload_is_called_by_its_program(run: str, name: str) -> None:
    task = parse_local_bisect(["--local", "v1", "v2", "--run", run]).task
    assert task.name == name


def test_a_tool_without_the_option_that_it_needs_is_refused_before_a_build() -> None:
    typed = ["--local", "v1", "v2", "--value", "hyperfine", "--run", "hyperfine ./bench"]
    with pytest.raises(UsageError, match="--export-json /dev/stdout --style none"):
        parse_local_bisect(typed)
    assert parse_local_bisect([*typed[:-1], "hyperfine --export-json - ./bench"])


def test_what_is_said_once_is_not_in_the_command_that_repeats_a_search() -> None:
    once = ("--keep-builds", "--again", "v1~1", "--again=v1~2", "--html", "x", "--json")
    given = parse_local_bisect(["--local", "v1", "v2", *once, "--run", "./b"])
    assert given.typed == ("--run", "./b")
    assert given.again == ("v1~1", "v1~2")
