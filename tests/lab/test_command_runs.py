"""What a command does, and who is to blame for it; nothing that it starts is left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, SkippedRevision, UntestableRevision
from buildbot_bench.lab.command.iteration import run_iteration, run_surely
from buildbot_bench.lab.command.machine import tick_s
from buildbot_bench.lab.command.process import Confines, run_contained
from buildbot_bench.lab.command.settings import CommandWorkload, ValueTable
from buildbot_bench.lab.command.value import matches_of
from tests.fakes.lab import bearing

NUMBER = {"value": "last-number", "unit": "MB/s"}


@pytest.fixture
def run(tmp_path):
    def run(script, **settings):
        given = {"shell": True, **NUMBER, **settings}
        return run_iteration(CommandWorkload(run=script, **given), tmp_path)

    return run


@pytest.fixture
def mark(tmp_path):
    """A word that processes of this test bear, and whether one lives."""
    word = f"bench-{os.getpid()}-{tmp_path.name}"

    return word, lambda: list(bearing(word))


def test_a_run_gives_its_value_in_its_unit_and_says_what_was_randomised(run):
    blast = run("echo speed: 12.5 MB/s")
    assert blast.values == {"MB/s": 12.5}
    assert blast.log == "speed: 12.5 MB/s\n"
    assert "size of the environment" in blast.facts["randomised"]


@pytest.mark.parametrize("file", ["", "out.json"])
def test_all_values_of_a_suite_come_of_one_run(run, file):
    printed = Path(__file__).parents[1] / "data/command/criterion.jsonl"
    value = ValueTable(preset="all", file=file) if file else "all"
    blast = run(f"cat {printed} {file and f'> {file}'}", value=value, unit="")
    assert {metric.name: told for metric, told in blast.named.items()} == {
        "sum/1024": 205.1,
        "sum/4096": 825.0,
    }
    assert (blast.values, blast.facts["printed by"]) == ({"values": 2.0}, "criterion")


def test_seconds_are_of_the_command_and_its_children(run):
    loop = f"{sys.executable} -c 'sum(range(3000000))'"
    blast = run(f"{loop}; sleep 1", value="cpu", unit="")
    times = blast.times
    assert 0.01 < blast.values["s"] == times.cpu_s == times.user_s + times.system_s < 1
    assert times.wall_s > 1
    assert (times.executions, times.step) == (1, 1e-6)
    assert "executions a run" not in blast.facts


def test_a_run_too_short_for_its_clock_is_executed_until_it_is_one_measurement(run, tmp_path):
    count = tmp_path / "count"
    loop = f"echo x >>{count}; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
    blast = run(loop, value="user", unit="")
    executions = blast.times.executions
    assert executions == len(count.read_text().split()) > 1
    assert blast.values["s"] == blast.times.user_s
    assert blast.times.step == pytest.approx(tick_s() / executions)
    assert blast.facts["executions a run"] == str(executions)
    again = run_iteration(
        CommandWorkload(run=loop, shell=True, value="user"), tmp_path, executions=3
    )
    assert again.times.executions == 3


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into Linux's /proc")
def test_one_supervisor_runs_many_and_gives_each_its_own_surroundings(tmp_path, mark):
    word, alive = mark
    (tmp_path / "in").mkdir()
    script = (
        "cut -d' ' -f4 /proc/$$/stat; pwd; echo $MINE; umask; ulimit -f; ls /proc/self/fd | wc -l; "
        "umask 777; MINE=changed; cd /; "
        f"setsid {sys.executable} -c 'import time; time.sleep(99)' {word} >/dev/null 2>&1 &"
    )
    said = []
    for place, mine, mib in ((tmp_path, "1", 1), (tmp_path / "in", "2", 2), (tmp_path, "", 1)):
        environment = {**os.environ, "MINE": mine} if mine else dict(os.environ)
        confines = Confines(timeout_s=60, disk_bytes=mib << 20)
        ran = run_contained(("/bin/sh", "-c", script), place, environment, confines)
        assert ran.left == 1
        assert not alive()
        said.append(ran.stdout.text().splitlines())
    supervisors = {lines[0] for lines in said}
    assert len(supervisors) == 1
    assert [lines[1:3] for lines in said] == [
        [str(tmp_path), "1"],
        [str(tmp_path / "in"), "2"],
        [str(tmp_path), ""],
    ]
    assert [lines[4] for lines in said] == ["2048", "4096", "2048"]
    assert len({(lines[3], lines[5]) for lines in said}) == 1
    supervisor = Path("/proc", supervisors.pop(), "stat")
    os.kill(int(supervisor.parent.name), signal.SIGKILL)
    # Its memory goes before its pipes do: only a zombie has let go of all.
    _wait_until(lambda: supervisor.read_text().rpartition(") ")[2].startswith("Z"))
    after = run_contained(("/bin/sh", "-c", script), tmp_path, dict(os.environ), Confines())
    assert after.status == 0
    assert not alive()


def test_words_need_no_shell_and_nothing_in_them_is_expanded(tmp_path):
    given = CommandWorkload(run=("echo", "$HOME; exit 3", "5"), **NUMBER)
    blast = run_iteration(given, tmp_path)
    assert blast.log == "$HOME; exit 3 5\n"


@pytest.mark.parametrize(
    ("script", "settings", "kind", "words"),
    [
        ("exit 125", {}, SkippedRevision, "status 125"),
        ("exit 126", {}, InfraError, "126"),
        ("nosuchprogram", {}, InfraError, "127.*\n.*nosuchprogram"),
        ("nosuchprogram", {"shell": False}, InfraError, "No such file"),
        ("./nosuchprogram", {"shell": False}, InfraError, "see that the artefact has it"),
        ("echo to be seen; exit 3", {}, UntestableRevision, "status 3\nto be seen"),
        ("echo 5; kill -SEGV $$", {}, UntestableRevision, "killed by SIGSEGV\n5"),
        ("echo on; sleep 60", {"timeout": 0.5}, UntestableRevision, "had not ended.*\non"),
        ("echo none here", {}, UntestableRevision, "prints no number\nnone here"),
        ("echo nan", {}, UntestableRevision, "nan, not a number\nnan"),
        ("echo inf", {}, UntestableRevision, "inf, not a number"),
        ("echo -3.5", {}, UntestableRevision, "the value is -3.5"),
        ("echo 0", {}, UntestableRevision, "the value is 0"),
        ("echo 3,14", {}, UntestableRevision, "with a point"),
        ("head -c 300000 /dev/urandom | tr -d 0-9A-Za-z", {}, UntestableRevision, "no number"),
        ("head -c 10000000 /dev/zero", {}, UntestableRevision, "no number.*9.54 MiB"),
        (
            "echo 1 MB/s, then 2 MB/s",
            {"value": ValueTable(regex=r"(\d+) MB/s")},
            UntestableRevision,
            "more than once: 1, 2",
        ),
        (
            "dd if=/dev/zero of=big bs=1M count=9",
            {"disk_mib": 4},
            UntestableRevision,
            # The second where others write to the same disk, or the machine is busy for a second.
            "writes too large a file|fills the disk",
        ),
    ],
)
def test_what_goes_wrong_is_told_with_the_last_lines_and_who_is_to_blame(
    run, script, settings, kind, words
):
    with pytest.raises(kind, match=words) as caught:
        run(script, **settings)
    assert type(caught.value) is kind


def test_many_files_that_fill_the_disk_are_the_revisions(run):
    script = "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=f$i bs=1M count=30; done; sleep 9"
    with pytest.raises(UntestableRevision, match="fills the disk"):
        run(script, disk_mib=4)


def test_of_several_numbers_the_last_is_taken(run):
    assert run("echo 3 runs; echo best of 7: 5.25ms").values == {"MB/s": 5.25}
    assert run("echo 1,234.5").values == {"MB/s": 1234.5}


def test_ten_megabytes_are_read_to_their_end(run):
    assert run("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo 42").values == {"MB/s": 42.0}


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux finds what has a session of its own"
)
@pytest.mark.parametrize("start", ["", "setsid ", "nohup setsid "])
def test_what_a_command_leaves_behind_is_ended_and_told(run, mark, start):
    word, alive = mark
    sleeper = f"{start}{sys.executable} -c 'import time; time.sleep(99)' {word}"
    blast = run(f"{sleeper} >/dev/null 2>&1 & sleep 0.2; echo 5")
    assert blast.values == {"MB/s": 5.0}
    assert blast.facts["left behind"] == "a process"
    assert not alive()


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into Linux's /proc")
def test_nothing_is_left_of_a_command_that_hangs_nor_of_one_whose_runner_is_killed(run, mark):
    word, alive = mark
    child = f"setsid {sys.executable} -c 'import time; time.sleep(99)' {word}"
    with pytest.raises(UntestableRevision):
        run(f"{child} & {child}", timeout=0.7)
    assert not alive()
    ours = (
        "import os; from pathlib import Path\n"
        "from buildbot_bench.lab.command.iteration import run_iteration\n"
        "from buildbot_bench.lab.command.settings import CommandWorkload\n"
        "run_iteration(CommandWorkload(run='true'), Path('.'))\n"  # so that it is not the first
        "given = CommandWorkload(run=os.environ['SCRIPT'], shell=True, value='wall')\n"
        "run_iteration(given, Path('.'))\n"
    )
    runner = subprocess.Popen(
        [sys.executable, "-c", ours],
        env={**os.environ, "SCRIPT": f"{child} & {child}"},  # its own words do not bear the mark
        stderr=subprocess.PIPE,
    )
    _wait_until(alive)
    runner.kill()
    _, complaints = runner.communicate(timeout=60)  # the supervisor has it open, too
    assert complaints == b""
    _wait_until(lambda: not alive())


def test_a_supervisor_whose_caller_dies_before_it_says_what_to_run_just_ends():
    words = [sys.executable, "-m", "buildbot_bench.lab.command.supervisor"]
    for said in (b"", b'{"words": ["tru'):
        done = subprocess.run(words, input=said, capture_output=True, check=True)
        assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into Linux's /proc")
def test_a_supervisor_that_is_told_to_end_takes_all_along(run, mark):
    word, alive = mark
    child = f"setsid {sys.executable} -c 'import time; time.sleep(99)' {word}"
    tell = "kill -TERM $(cut -d' ' -f4 /proc/$$/stat); sleep 30"
    with pytest.raises(InfraError, match="was ended from outside"):
        run(f"{child} & {tell}")
    assert not alive()


def test_a_server_is_started_awaited_and_ended(run, tmp_path, mark):
    word, alive = mark
    server = (
        f"sleep 0.3; echo up >up; exec {sys.executable} -c 'import time; time.sleep(99)' {word}"
    )
    blast = run("cat up; echo 5", boot=server, ready="test -e up", cleanup="echo done >down")
    assert blast.log == "up\n5\n"
    assert (tmp_path / "down").exists()
    assert not alive()


def test_a_server_that_ends_or_is_not_ready_is_the_revisions(run):
    with pytest.raises(UntestableRevision, match="status 3 before it was ready\noops"):
        run("echo 5", boot="echo oops; exit 3", ready="false")
    with pytest.raises(UntestableRevision, match="not ready after"):
        run("echo 5", boot="sleep 60", ready="false", timeout=0.5)
    with pytest.raises(UntestableRevision, match="status 0 before the run did"):
        run("sleep 3; echo 5", boot="true")


def test_a_failing_prepare_is_the_labs_and_cleanup_runs_all_the_same(run, tmp_path):
    with pytest.raises(InfraError, match=r"status 1\nno host; see the key `prepare`"):
        run("echo 5", prepare="echo no host; exit 1", cleanup="touch down")
    assert (tmp_path / "down").exists()


def test_warm_up_runs_are_not_counted(run):
    assert run("echo x >>n; wc -l <n", warm_up=3).values == {"MB/s": 4.0}


def test_a_value_is_read_from_a_file_that_this_run_wrote(run, tmp_path):
    (tmp_path / "out.json").write_text('{"mean": 1}')
    value = ValueTable(json="mean", file="out.json")
    with pytest.raises(UntestableRevision, match=r"does not write out\.json"):
        run("true", value=value)
    assert run("echo '{\"mean\": 7}' >out.json", value=value).values == {"MB/s": 7.0}
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(UntestableRevision, match="no file in its directory"):
        run("ln -s /etc/hostname out.json", value=value)


def test_a_pattern_that_takes_for_ever_is_ended():
    with pytest.raises(InfraError, match="takes more than 1 s"):
        matches_of("((?:a+)+)$b", "a" * 60, deadline_s=1.0)


def test_a_run_is_pinned_where_that_is_asked_for(run):
    cpu = min(os.sched_getaffinity(0))
    shown = f"{sys.executable} -c 'import os; print(*os.sched_getaffinity(0))'"
    assert run(f"{shown}; echo 5", cpus=(cpu,)).log.split()[0] == str(cpu)
    with pytest.raises(InfraError, match="no processor 4095"):
        run("echo 5", cpus=(4095,))


def test_environments_and_addresses_differ_unless_that_is_not_wanted(run):
    size = f"{sys.executable} -c 'import os; print(1 + len(os.environ[\"BENCH_PADDING\"]))'"
    assert len({run(size).values["MB/s"] for _ in range(4)}) > 1
    fixed = run(size, randomise=False)
    assert fixed.values == {"MB/s": 1.0}
    assert fixed.facts["randomised"].startswith("nothing")


def test_what_fails_once_is_run_once_more_and_what_fails_twice_is_untestable(tmp_path):
    told = []
    once = CommandWorkload(run="test -e x || { touch x; exit 1; }; echo 5", shell=True, **NUMBER)
    assert run_surely(once, tmp_path, told.append).values == {"MB/s": 5.0}
    assert told == ["`run`, /bin/sh, ended with status 1; once more"]
    with pytest.raises(UntestableRevision):
        run_surely(CommandWorkload(run="false", **NUMBER), tmp_path)


@pytest.mark.skipif(not shutil.which("valgrind"), reason="there is no valgrind")
def test_instructions_are_counted_and_repeat(tmp_path):
    work = tmp_path / "work.c"
    work.write_text(
        "int main(int c, char **v) { (void)v; volatile long s = 0;"
        " for (long i = 0; i < 100000L * c; i++) s += i; return 0; }\n"
    )
    subprocess.run(["cc", "-O1", "-o", tmp_path / "work", work], check=True)
    counts = [
        run_iteration(CommandWorkload(run=command, value="instructions"), tmp_path)
        for command in ("./work", "./work", "./work more")
    ]
    values = [blast.values["instructions"] for blast in counts]
    assert values[0] == values[1]
    assert 400_000 <= values[2] - values[0] <= 900_000
    assert counts[0].facts["counter"] in {"perf", "valgrind"}


def _wait_until(holds, limit_s=30.0):
    end_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.05)
