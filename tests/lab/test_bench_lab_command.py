"""bench-lab's commands: exit codes, and one clear line for what cannot be done."""

import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from buildbot_bench.core.wire import Failed, FailureKind, Measured
from tests.fakes.lab import Lab, events_of, wait_for

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def test_an_artefact_that_is_no_kernel_is_untestable(lab):
    result = lab.do(lab.run_command("a", artefact=lab.artefact("hello\n")))
    last = events_of(result.stdout)[-1]
    assert result.returncode == 3
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert "names no revision" in last.reason


def test_an_artefact_with_another_digest_is_an_infrastructure_error(lab):
    result = lab.do(lab.run_command("a", digest="0" * 64))
    last = events_of(result.stdout)[-1]
    assert result.returncode == 4
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "not 0000000000000000" in last.reason


def test_an_artefact_that_is_not_there_is_an_infrastructure_error_and_can_be_brought(lab):
    command = lab.run_command("a")
    lab.kernel.unlink()
    assert lab.do(command).returncode == 4
    lab.artefact("r100\n")
    assert lab.do(command).returncode == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--testbed=first", "--testbed=frist"), "did you mean 'first'"),
        (("--workload=forwarding", "--workload=ipfw"), "it has forwarding"),
        (("--iterations=3", "--iterations=0"), "not in 1..1000"),
        (("--iterations=3", "--iterations=x"), "invalid int value"),
        (("--job=a", "--job=../a"), "not a job's name"),
        (("--job=a", "--job=.."), "not a job's name"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(lab, change, message):
    command = [change[1] if word == change[0] else word for word in lab.run_command("a")]
    result = lab.do(command)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_digest_must_be_one(lab):
    result = lab.do(lab.run_command("a", digest="abc"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "give 64 hexadecimal digits" in result.stderr


def test_the_list_says_who_has_a_testbed(tmp_path):
    lab = Lab(tmp_path, delay_s=0.2)
    foreground = lab.start(lab.run_command("mine", iterations=100))
    wait_for(lambda: lab.measured("mine"))
    lines = lab.do(lab.command("list")).stdout.splitlines()
    assert lines[0].startswith("first\treplay\tjob mine, ")
    assert lines[1] == "second\treplay\tfree\tforwarding"
    check = lab.do(lab.command("check", "first"))
    assert (check.returncode, check.stdout) == (4, "")
    assert "job mine has first now; check again when it is free" in check.stderr
    lab.do(lab.command("cancel", "--job=mine"))
    foreground.communicate()


def test_the_list_shows_the_others_when_one_testbed_cannot_be_read(lab):
    with lab.testbeds.open("a") as file:
        file.write('[testbeds.third]\ndriver = "replay"\nseries = "gone.jsonl"\n')
    result = lab.do(lab.command("list"))
    assert result.returncode == 0
    assert "first\treplay\tfree\tforwarding" in result.stdout.splitlines()
    (third,) = [line for line in result.stdout.splitlines() if line.startswith("third")]
    assert "gone.jsonl" in third
    assert "bench-lab check third" in third


def test_the_check_up_says_line_by_line_what_is_missing(lab):
    fine = lab.do(lab.command("check", "first"))
    assert fine.returncode == 0
    assert fine.stdout.startswith("ok      series ")
    (lab.root / "series.jsonl").write_text("{}\n")
    ill = lab.do(lab.command("check", "first"))
    assert ill.returncode == 4
    assert "series.jsonl:1: not a recorded series" in ill.stdout


def test_a_state_directory_that_cannot_be_used_is_an_infrastructure_error(lab):
    lab.state.write_text("not a directory")
    result = lab.do(lab.run_command("a"))
    assert result.returncode == 4
    assert "Not a directory" in events_of(result.stdout)[-1].reason
    assert "Traceback" not in result.stderr


def test_a_lab_worker_needs_the_standard_library_alone(lab, tmp_path):
    """With nothing installed but this package: its modules, and what its metadata registers."""
    metadata = tmp_path / "site" / "buildbot_bench-0.dist-info"
    metadata.mkdir(parents=True)
    for name in ("METADATA", "entry_points.txt"):
        (metadata / name).write_text(distribution("buildbot-bench").read_text(name))
    program = f"import sys; sys.path[:0] = [{str(REPOSITORY)!r}, {str(metadata.parent)!r}]; "
    program += "from buildbot_bench.lab.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = lab.run_command("a")[3:]
    result = lab.do([sys.executable, "-I", "-S", "-c", program, *arguments])
    assert result.returncode == 0, result.stderr


def test_cancelling_a_job_that_never_was_is_a_usage_error(lab):
    result = lab.do(lab.command("cancel", "--job=nobody"))
    assert result.returncode == 2
    assert "there is no job 'nobody'" in result.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_the_help_says_what_the_exit_status_means(lab, arguments):
    text = lab.do([*lab.command()[:3], *arguments]).stdout
    assert "3  the revision is untestable" in text
    assert "attaches to it" in text


def test_recorded_boots_are_dealt_anew_to_each_sample(lab):
    def values(job, *more):
        done = lab.do([*lab.run_command(job), *more])
        assert done.returncode == 0, done.stderr
        return [one.values["pps"] for one in events_of(done.stdout) if isinstance(one, Measured)]

    assert values("a") == values("b", "--sample=comparison-1") == values("c", "--sample=x")
    assert values("d") != values("a")
    refused = lab.do([*lab.run_command("e"), "--sample=../x"])
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is no name" in refused.stderr
