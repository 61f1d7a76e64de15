"""Several repositories in bench.yml: what each is called, what builds it and what measures it."""

import pytest

from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.workflow.model import Workflow
from tests.workflow.example import SMALLEST, Complaints, Loader

TWO = """\
repositories:
  src: {url: https://git.example.org/src}
  ports:
    url: ports.git
    branches: [main, 'stable/*']
    paths: ['net/**']
on: {push: {branches: [main, 'releng/*'], paths-ignore: ['**.md']}}
"""
BUILDS_PORTS = """\
  ports-kernel:
    runs-on: builder
    steps:
      - uses: actions/checkout@v4
        with: {repository: ports}
      - run: make ports
      - uses: upload-artefact
        with: {path: kernel}
"""
MEASURES_PORTS = """\
  ports-bench:
    needs: ports-kernel
    runs-on: second
    strategy: {matrix: {workload: [forwarding, pf]}}
"""


def two(jobs: str = "", head: str = TWO) -> str:
    return SMALLEST.replace("repository: src\n", head) + jobs


def watches(workflow: Workflow) -> list[tuple[str, str]]:
    return [(one.key, one.name) for one in workflow.watches]


def test_the_first_repositorys_branches_keep_their_plain_names(read: Loader) -> None:
    workflow = read(two())
    assert watches(workflow) == [("", "src"), ("ports", "ports")]
    assert workflow.watches[0].url == workflow.repository_url == "https://git.example.org/src"
    assert workflow.watches[1].url == str((workflow.base / "ports.git").resolve())
    there = ["ports:stable/9", "main", "stable/9", "ports:releng/1", "releng/1", "ports:main"]
    assert workflow.watched(there) == ("main", "releng/1", "ports:main", "ports:stable/9")


def test_one_repository_alone_has_no_name(read: Loader) -> None:
    workflow = read(SMALLEST)
    assert watches(workflow) == [("", "")]
    assert workflow.watched(["ports:main", "main"]) == ("main",)


def test_what_a_repository_does_not_say_is_what_on_push_says(read: Loader) -> None:
    src, ports = read(two()).watches
    assert (src.push.branches, src.push.paths) == (("main", "releng/*"), ())
    assert (ports.push.paths, ports.push.paths_ignore) == (("net/**",), ("**.md",))


def test_a_job_without_a_name_builds_what_no_other_job_does(read: Loader) -> None:
    alone = read(two())
    assert [alone.build_job_of(key).name for key in ("", "ports")] == ["kernel", "kernel"]
    apart = read(two(BUILDS_PORTS + MEASURES_PORTS))
    assert [apart.build_job_of(key).name for key in ("", "ports")] == ["kernel", "ports-kernel"]
    assert apart.build_digest_of("ports") != apart.build_digest_of("")
    assert apart.build_digest_of("") == read(SMALLEST).build_digest_of("")


def test_jobs_measure_what_the_job_builds_that_they_need(read: Loader) -> None:
    shared = read(two())
    assert {one.repositories for one in all_series(shared.bench_jobs)} == {("", "ports")}
    apart = read(two(BUILDS_PORTS + MEASURES_PORTS))
    assert {
        (one.testbed, one.workload): one.repositories for one in all_series(apart.bench_jobs)
    } == {
        ("embedded", "forwarding"): ("",),
        ("second", "forwarding"): ("ports",),
        ("second", "pf"): ("ports",),
    }


def test_a_job_behind_a_gate_measures_what_the_gate_does(read: Loader) -> None:
    behind = MEASURES_PORTS.replace("ports-bench", "slow").replace("second", "third")
    behind = behind.replace("needs: ports-kernel", "needs: ports-bench")
    workflow = read(two(BUILDS_PORTS + MEASURES_PORTS + behind))
    assert [
        one.repositories for one in all_series(workflow.bench_jobs) if one.testbed == "third"
    ] == [
        ("ports",),
        ("ports",),
    ]


def test_a_schedule_names_a_branch_of_another_repository(read: Loader) -> None:
    on = "on: {push: , schedule: [{cron: '0 3 * * *', branch: 'ports:stable/9'}]}\n"
    (schedule,) = read(two(head=TWO.partition("on:")[0] + on)).on.schedule
    assert schedule.branch == "ports:stable/9"


SCHEDULED = "on: {push: , schedule: [{cron: '0 3 * * *', branch: 'BRANCH'}]}\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            SMALLEST.replace("repository: src\n", ""),
            "repository: missing",
        ),
        (
            SMALLEST + "repositories: {src: {url: src}}\n",
            "15: repositories: 'repository' names one already: keep one of the two",
        ),
        (two(head="repositories: {}\n"), "2: repositories: is empty"),
        (two(head="repositories: {src: {}}\n"), "2: repositories.src.url: missing"),
        (two(head="repositories: {'a b': {url: x}}\n"), "2: repositories.a b: should be at most"),
        (
            two(head="repositories: {src: {url: 'https://me:pw@host/src'}}\n"),
            "2: repositories.src.url: holds a password",
        ),
        (
            two(head="repositories: {src: {url: x, branches: '!x'}}\n"),
            "2: repositories.src.branches: takes nothing",
        ),
        (
            two(BUILDS_PORTS.replace("ports}", "prots}")),
            "jobs.ports-kernel.steps: there is no repository 'prots'; did you mean 'ports'?",
        ),
        (
            SMALLEST + BUILDS_PORTS,
            "jobs.ports-kernel.steps: there is no repository 'ports': 'repositories' names none",
        ),
        (
            two(BUILDS_PORTS.replace("        with: {repository: ports}\n", "")),
            "jobs.ports-kernel: only one job may build, and 'kernel' does already",
        ),
        (
            two(BUILDS_PORTS + BUILDS_PORTS.replace("ports-kernel", "another")),
            "jobs.another: one builds 'ports', and 'ports-kernel' does already",
        ),
        (
            two().replace(
                "- uses: checkout\n", "- uses: checkout\n        with: {repository: src}\n"
            ),
            "repositories.ports: no job builds 'ports': add one that checks out with",
        ),
        (
            two(
                BUILDS_PORTS
                + BUILDS_PORTS.replace("ports-kernel", "other").replace("ports}", "src}")
            ),
            "jobs.kernel: builds nothing: each repository has a job of its own",
        ),
        (
            two(head=TWO.partition("on:")[0] + SCHEDULED.replace("BRANCH", "docs:main")),
            "'schedule' names 'docs:main', and there is no such repository",
        ),
        (
            two(head=TWO.partition("on:")[0] + SCHEDULED.replace("BRANCH", "ports:x")),
            "'repositories' does not take the branch 'ports:x' of 'schedule'",
        ),
    ],
)
def test_what_is_wrong_with_repositories_is_said_in_words(
    complaints: Complaints, text: str, complaint: str
) -> None:
    assert [said for said in complaints(text) if complaint in said], complaints(text)


def test_a_misspelt_repository_is_one_problem(complaints: Complaints) -> None:
    (complaint,) = complaints(SMALLEST.replace("repository:", "repositry:"))
    assert complaint.endswith("repositry: unknown key; did you mean 'repository'?")
