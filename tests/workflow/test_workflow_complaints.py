"""What a person reads who wrote bench.yml wrongly."""

from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.workflow.load import load
from tests.workflow.example import SMALLEST, Complaints, Loader, smallest_with


@pytest.mark.parametrize("written", ["maybe", "1", "'yes'"])
def test_whether_breakages_are_searched_is_true_or_false(
    complaints: Complaints, written: str
) -> None:
    (complaint,) = complaints(SMALLEST + f"on:\n  push:\n  breakage: {written}\n")
    assert complaint.startswith("bench.yml:17: on.breakage: should be true or false, not ")


def test_a_misspelt_key_is_named_with_its_line_and_the_nearest(complaints: Complaints) -> None:
    assert complaints(SMALLEST.replace("matrix", "matrx")) == [
        "bench.yml:14: jobs.bench.strategy.matrx: unknown key; did you mean 'matrix'?"
    ]


def test_a_key_that_resembles_none_is_told_which_there_are(complaints: Complaints) -> None:
    assert complaints(SMALLEST.replace("workload", "xyzzy")) == [
        "bench.yml:14: jobs.bench.strategy.matrix.workload: missing",
        (
            "bench.yml:14: jobs.bench.strategy.matrix.xyzzy: "
            "unknown key; known here: workload, include, exclude"
        ),
    ]


def test_all_problems_are_told_at_once_in_the_files_order(
    located: Complaints, golden: Callable[[str, str], None], data: Path
) -> None:
    text = (data / "workflow" / "everything-wrong.yml").read_text(encoding="utf-8")
    golden("workflow/everything-wrong.txt", "\n".join(located(text)) + "\n")


def test_a_key_that_is_written_twice(complaints: Complaints) -> None:
    assert complaints(SMALLEST + "name: Again\n") == [
        "bench.yml:15: name: written twice, first on line 1"
    ]


def test_a_merged_anchor_is_no_second_key(read: Loader) -> None:
    text = SMALLEST.replace("matrix: {workload", "matrix: &m {workload")
    text += "  again:\n    needs: kernel\n    runs-on: second\n    strategy: {matrix: {<<: *m}}\n"
    assert [job.workloads for job in read(text).bench_jobs] == [("forwarding",)] * 2


@pytest.mark.parametrize(
    ("replaced", "complaint"),
    [
        ({"needs": "needs: kernl"}, "12: jobs.bench.needs: there is no job 'kernl'; did you"),
        ({"needs": "needs: bench"}, "12: jobs.bench.needs: 'bench' builds nothing"),
        ({"runs-on": "runs-on: a b"}, "5: jobs.kernel.runs-on: should be at most 50 letters"),
        ({"- run": "- rum: make"}, "8: jobs.kernel.steps[1].rum: unknown key; did you mean"),
        ({"- run": "- run: ''"}, "8: jobs.kernel.steps[1].run: is empty"),
        ({"with": "with: {}"}, "10: jobs.kernel.steps[2].with.path: missing"),
        ({"- uses": "- uses: check-out"}, "7: jobs.kernel.steps[0].uses: should be 'checkout' or"),
        ({"repository": "repository: https://me:secret@host/src"}, "2: repository: holds a "),
        ({"name": "name: 14.1"}, "1: name: should be text: write '14.1' in quotes"),
        ({"strategy": "strategy: {matrix: {workload: []}}"}, "14: jobs.bench.strategy.matrix."),
        ({"strategy": "strategy: {matrix: {workload: [a, a]}}"}, "14: jobs.bench.strategy."),
    ],
)
def test_one_wrong_line(complaints: Complaints, replaced: dict[str, str], complaint: str) -> None:
    (line,) = complaints(smallest_with(**replaced))
    assert line.startswith(f"bench.yml:{complaint}")


GATE = """\
  gate:
    needs: kernel
    runs-on: vm
    strategy: {matrix: {workload: [forwarding, ipfw]}}
  last:
    needs: gate
    runs-on: apu2
    strategy: {matrix: {workload: forwarding}}
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("needs: gate", "needs: gat", "20: jobs.last.needs: there is no job 'gat'; did you"),
        ("needs: gate", "needs: last", "20: jobs.last.needs: 'last' builds nothing"),
        (
            "workload: forwarding}}\n",
            "workload: pf}}\n",
            "20: jobs.last.needs: the gate 'gate' measures no workload of this job",
        ),
    ],
)
def test_a_gate_that_cannot_be_one(
    complaints: Complaints, old: str, new: str, complaint: str
) -> None:
    (line,) = complaints(SMALLEST + GATE.replace(old, new))
    assert line.startswith(f"bench.yml:{complaint}")


def test_gates_stand_in_no_row(complaints: Complaints) -> None:
    (line,) = complaints(SMALLEST + GATE.replace("needs: kernel", "needs: bench"))
    assert line == (
        "bench.yml:20: jobs.last.needs: 'gate' is no gate: "
        "a gate needs the job that builds, and no other gate"
    )


@pytest.mark.parametrize(
    ("added", "complaint"),
    [
        ("    iterations: 2", "15: jobs.bench.iterations: should be a number from 3"),
        ("    timeout-minutes: -1", "15: jobs.bench.timeout-minutes: should be greater than 0"),
        ("env: {V: 1.10}", "15: env.V: should be text"),
        ("env: {A-B: x}", "15: env.A-B: should be the name of an environment variable"),
        ("regression: {min-effect: 0.02}", "15: regression.min-effect: should be a percentage"),
        ("regression: {false-alarms: 0}", "15: regression.false-alarms: should be greater than 0"),
        ("regression: {false-alarms: 1%}", "15: regression.false-alarms: should be a valid number"),
        ("regression: {error: 100%}", "15: regression.error: should be less than 1"),
        ("artefacts: ftp://store/bench", "15: artefacts.place: should be https://HOST/PATH or"),
        ("artefacts: https://me:pw@store/", "15: artefacts.place: should be https://HOST/PATH"),
        ("artefacts: s3+https://s3.example.org/b", "15: artefacts: S3 needs 'token-secret'"),
        ("artefacts: {token-secret: t}", "15: artefacts: 'token-secret' needs 'place'"),
        (
            "artefacts: {retention: {keep-day: 9}}",
            "15: artefacts.retention.keep-day: unknown key; di",
        ),
        ("regression: {confidence: 97}", "15: regression.confidence: should be one of min"),
        (
            "testbeds: {embeded: {}}",
            "13: jobs.bench.runs-on: 'testbeds' has no 'embedded'; did",
        ),
        (
            "testbeds: {embedded: {}, other: {labels: embedded}}",
            "15: testbeds.other.labels: 'embedded' is the name of a testbed",
        ),
        ("testbeds: {embedded: {boot: 1}}", "15: testbeds.embedded.boot: should be a duration"),
        ("on: {push: {paths: /sys}}", "15: on.push.paths: should name files from the"),
        ("on: {push: {paths: '[z-a]'}}", "15: on.push.paths: '[z-a]' is not a path pattern"),
        ("on: {push: {paths: '!x'}}", "15: on.push.paths: takes nothing: a pattern without"),
        ("on: {push: {branches: '-x'}}", "15: on.push.branches: should be a branch or a pattern"),
        ("on: {push: {branches: 'a b'}}", "15: on.push.branches: should be a branch or a pattern"),
        ("on: {push: {branches: 'stable/[9-1]'}}", "15: on.push.branches: 'stable/[9-1]' is not a"),
        ("on: {push: {branches: '!stable/9'}}", "15: on.push.branches: takes nothing: a pattern"),
        ("on: pull_request", "15: on.pull_request: measure a change before it is in by"),
        ("mail: {from: b@x, to: 'a@b\\nBcc: c@d'}", "15: mail.to: should be a mail address"),
        ("mail: {from: b@x, to: c@x, password: x}", "15: mail.password: unknown key; did you"),
        ("mail: {from: b@x, to: c@x, user: me}", "15: mail: 'user' and 'password-secret' need"),
        (
            "on: {push: {branches: main}, schedule: [{cron: '0 3 * * *', branch: dev}]}",
            "15: on: 'push' does not take the branch 'dev' of 'schedule'",
        ),
        (
            "on: {schedule: [{cron: '0 3 * * *', branch: 'a*'}]}",
            "15: on.schedule[0].branch: should be the name of one branch",
        ),
        ("on: {schedule: '0 3 * * *'}", "15: on.schedule: should be a list, not"),
        (
            "on: {schedule: [{cron: '0 3 * * *', factors: {a: D1, b: 'x.y:0,1'}}]}",
            "15: on.schedule: 'factors' name a review: say 'reviews', its site's URL",
        ),
        (
            "on: {schedule: [{cron: '0 3 * * *', factors: {a: VIMAGE}}]}",
            "15: on.schedule[0]: 'factors': 1 factor given, 2 to 4 make a comparison",
        ),
        (
            "on: {schedule: [{cron: '0 3 * * *', factors: {a: vimage, b: 'x.y:0,1'}}]}",
            "15: on.schedule[0]: 'factors': 'vimage' is no change of a kernel",
        ),
        (
            "on: {schedule: [{cron: '0 3 * * *', factors: {a: 'file:x', b: 'x.y:0,1'}}]}",
            "15: on.schedule[0]: 'factors': file:x is a file of a person who asks",
        ),
        ("on: schedule", "15: on.schedule: should be a list, not"),
        ("concurrency: ci", "15: concurrency: should be a mapping of keys to values, not 'ci'"),
        ("concurrency: {cancel-in-progress: 1}", "15: concurrency.cancel-in-progress: should be"),
        ("mail: yes", "15: mail: should be a mapping of keys to values"),
    ],
)
def test_one_wrong_addition(complaints: Complaints, added: str, complaint: str) -> None:
    (line,) = complaints(f"{SMALLEST}{added}\n")
    assert line.startswith(f"bench.yml:{complaint}")


def test_a_password_is_not_repeated(complaints: Complaints) -> None:
    text = smallest_with(repository="repository: https://me:hunter2@host/src")
    text += "mail: {from: b@x, to: c@x, password: hunter2}\n"
    assert "hunter2" not in "".join(complaints(text))


def test_a_farm_without_a_build_job(complaints: Complaints) -> None:
    kernel, bench = SMALLEST.index("  kernel:"), SMALLEST.index("  bench:")
    assert complaints(SMALLEST[:kernel] + SMALLEST[bench:]) == [
        "bench.yml:3: jobs: no job builds: one must have 'steps'",
        "bench.yml:5: jobs.bench.needs: there is no job 'kernel'",
    ]


def test_a_farm_that_measures_nothing(complaints: Complaints) -> None:
    assert complaints(SMALLEST[: SMALLEST.index("  bench:")]) == [
        "bench.yml:3: jobs: no job measures: one must have 'needs', 'runs-on' and 'strategy'"
    ]


def test_two_build_jobs(complaints: Complaints) -> None:
    second = SMALLEST[SMALLEST.index("  kernel:") : SMALLEST.index("  bench:")]
    assert complaints(SMALLEST + second.replace("kernel:", "world:")) == [
        "bench.yml:15: jobs.world: only one job may build, and 'kernel' does already"
    ]


def test_a_build_that_keeps_nothing(complaints: Complaints) -> None:
    upload = "      - uses: upload-artefact\n        with: {path: kernel}\n"
    (nothing,) = complaints(SMALLEST.replace(upload, ""))
    assert nothing.startswith("bench.yml:6: jobs.kernel.steps: no step keeps the artefact")
    (twice,) = complaints(SMALLEST.replace(upload, upload * 2))
    assert twice.startswith("bench.yml:11: jobs.kernel.steps[3]: a build has one artefact")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: [\n", "bench.yml:2: is not YAML: "),
        ("name: a\n\tjobs: b\n", "bench.yml:2: is not YAML: "),
        ("name: *nowhere\n", "bench.yml:1: is not YAML: "),
        ("", "bench.yml: is empty"),
        ("# only a comment\n", "bench.yml: is empty"),
        ("- a\n- b\n", "bench.yml:1: should be a mapping"),
        ("just text\n", "bench.yml:1: should be a mapping"),
        ("name: a\x00b\n", "bench.yml: is not YAML: "),
        ("a: 1\n---\nb: 2\n", "bench.yml:2: is not YAML: "),
        ("? [a, b]\n: c\n", "bench.yml:"),
        ("name: !!python/object:os.system x\n", "bench.yml:1: is not YAML"),
        ("jobs: &a {x: *a}\n", "bench.yml:"),
        ("name: 2026-13-45\n", "bench.yml:"),
    ],
)
def test_a_file_that_is_no_workflow_at_all(
    complaints: Complaints, text: str, complaint: str
) -> None:
    assert complaints(text)[0].startswith(complaint)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.yml: cannot be read: No such file"):
        load(tmp_path / "absent.yml")
    (tmp_path / "latin.yml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(UsageError, match=r"latin\.yml: is not UTF-8"):
        load(tmp_path / "latin.yml")


@pytest.mark.parametrize("written", ["24:00", "'8 o clock'", "-1", "true", "1440"])
def test_a_digests_time_is_one_of_the_day(complaints: Complaints, written: str) -> None:
    (complaint,) = complaints(SMALLEST + f"notify:\n  digest:\n    at: {written}\n")
    assert complaint.startswith("bench.yml:17: notify.digest.at: should be a time of day such as ")


def test_a_digests_day_is_one_of_the_week(complaints: Complaints) -> None:
    (complaint,) = complaints(SMALLEST + "notify:\n  digest:\n    day: noday\n")
    assert complaint.startswith("bench.yml:17: notify.digest.day: ")


def test_a_link_that_runs_a_script_is_refused_with_its_line(complaints: Complaints) -> None:
    (complaint,) = complaints(SMALLEST + "links:\n  commit: javascript:x('{commit}')\n")
    assert complaint == (
        "bench.yml:16: links.commit: should be a URL that begins with http:// or https://, "
        "not \"javascript:x('{commit}')\""
    )
