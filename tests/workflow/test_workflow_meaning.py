"""What bench.yml may say, and what becomes of it."""

from pathlib import Path

import pytest

from buildbot_bench.workflow.jobs import CheckoutStep, RunStep, UploadStep
from buildbot_bench.workflow.load import load
from buildbot_bench.workflow.model import DeclaredTestbed
from buildbot_bench.workflow.repositories import Push
from tests.workflow.example import SMALLEST, Complaints, Loader, smallest_with


def test_the_smallest_workflow_has_sensible_defaults(read: Loader) -> None:
    workflow = read(SMALLEST)
    assert workflow.on.push == Push(branches=("main",))
    assert workflow.on.workflow_dispatch is None
    assert workflow.testbeds == {"embedded": DeclaredTestbed()}
    testbed = workflow.testbeds["embedded"]
    assert (testbed.worker, testbed.boot_s, testbed.run_s) == ("lab", 60.0, 30.0)
    assert workflow.mail is None
    assert workflow.regression.model_dump() == {
        "confidence": 95.0,
        "min_effect": 0.02,
        "error": 0.01,
        "false_alarms": 1.0,
        "improvements": True,
        "max_measurements": 2000,
        "first_parent": False,
        "second_opinion": None,
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [("true", None), ("false", ()), ("embedded", ("embedded",)), ("[embedded]", ("embedded",))],
)
def test_testbeds_are_asked_for_a_second_opinion_unless_the_file_says_no(
    read: Loader, written: str, meant: tuple[str, ...] | None
) -> None:
    workflow = read(f"{SMALLEST}regression: {{second-opinion: {written}}}\n")
    assert workflow.regression.second_opinion == meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[embeded]", "second-opinion: there is no testbed 'embeded'; did you mean 'embedded'?"),
        ("2", "second-opinion: should be text: write '2' in quotes"),
    ],
)
def test_a_second_opinion_is_asked_of_testbeds_that_there_are(
    complaints: Complaints, written: str, said: str
) -> None:
    (told,) = complaints(f"{SMALLEST}regression: {{second-opinion: {written}}}\n")
    assert f"regression.{said}" in told


def test_a_testbed_may_have_a_min_effect_of_its_own(read: Loader) -> None:
    testbeds = "testbeds: {embedded: {min-effect: 0.1%}}\n"
    workflow = read(SMALLEST + testbeds)
    assert workflow.min_effect_on("embedded") == pytest.approx(0.001)
    assert read(SMALLEST).min_effect_on("embedded") == pytest.approx(0.02)
    assert workflow.min_effect_on("one that is gone") == pytest.approx(0.02)


def test_how_many_alarms_may_be_false_is_a_setting(read: Loader) -> None:
    assert read(SMALLEST).regression.false_alarms == 1.0
    workflow = read(SMALLEST + "regression: {false-alarms: 0.25}\n")
    assert workflow.regression.false_alarms == 0.25


def test_jobs_know_their_names_and_what_they_do(read: Loader) -> None:
    workflow = read(SMALLEST)
    build, (bench,) = workflow.build_job, workflow.bench_jobs
    assert (build.name, build.runs_on, build.timeout_minutes) == ("kernel", ("builder",), 120)
    assert (bench.name, bench.testbeds, bench.workloads) == (
        "bench",
        ("embedded",),
        ("forwarding",),
    )
    assert (bench.iterations, bench.timeout_minutes) == (5, 60)


def test_steps_are_of_three_kinds(read: Loader) -> None:
    checkout, run, upload = read(SMALLEST).build_job.steps
    assert isinstance(checkout, CheckoutStep)
    assert isinstance(run, RunStep)
    assert (run.run, run.env, run.working_directory) == ("make", {}, ".")
    assert isinstance(upload, UploadStep)
    assert upload.path == "kernel"


def test_a_script_of_several_lines_keeps_them(read: Loader) -> None:
    text = SMALLEST.replace(
        "- run: make\n",
        "- name: Compile\n        working-directory: sys\n        env: {JOBS: 4, V: true}\n"
        "        run: |\n          cd sys\n          make kernel\n",
    )
    step = read(text).build_job.steps[1]
    assert isinstance(step, RunStep)
    assert step.run == "cd sys\nmake kernel\n"
    assert step.name == "Compile"
    assert step.env == {"JOBS": "4", "V": "true"}
    assert step.working_directory == "sys"


@pytest.mark.parametrize("written", ["[push, workflow_dispatch]", "{push: , workflow_dispatch: }"])
def test_on_is_a_word_and_may_be_short(read: Loader, written: str) -> None:
    on = read(SMALLEST + f"on: {written}\n").on
    assert on.push == Push()
    assert on.workflow_dispatch is not None


@pytest.mark.parametrize(
    ("written", "searched"),
    [("push", True), ("{push: }", True), ("{push: , breakage: false}", False)],
)
def test_breakages_are_searched_unless_the_file_says_otherwise(
    read: Loader, written: str, searched: bool
) -> None:
    assert read(SMALLEST + f"on: {written}\n").on.breakage is searched


def test_nothing_is_watched_when_only_people_start(read: Loader) -> None:
    workflow = read(SMALLEST + "on: workflow_dispatch\n")
    assert workflow.on.push is None
    assert workflow.branches == ("main",)


def test_branches_may_be_patterns(read: Loader) -> None:
    push = "{branches: [main, 'stable/*', releng/14.*, '!stable/9']}"
    found = read(smallest_with() + f"on: {{push: {push}}}\n").on.push
    assert found is not None
    assert found.named == ("main",)
    assert found.is_of_patterns
    there = ("releng/14.1", "stable/10", "stable/9", "main", "vendor/x")
    assert found.watched(there) == ("main", "stable/10", "releng/14.1")


def test_paths_and_branches_may_be_lists_or_one(read: Loader) -> None:
    push = "{branches: releng/14.1, paths: ['sys/**', '!sys/doc/**'], paths-ignore: '**.md'}"
    workflow = read(SMALLEST + f"on: {{push: {push}}}\n")
    assert workflow.branches == ("releng/14.1",)
    assert workflow.on.push == Push.model_validate(
        {
            "branches": ["releng/14.1"],
            "paths": ["sys/**", "!sys/doc/**"],
            "paths-ignore": ["**.md"],
        }
    )


@pytest.mark.parametrize(
    ("written", "fraction"), [("2%", 0.02), ("0.5 %", 0.005), ("2", 0.02), ("12.5", 0.125)]
)
def test_a_percentage_is_a_fraction(read: Loader, written: str, fraction: float) -> None:
    workflow = read(SMALLEST + f"regression: {{min-effect: {written}}}\n")
    assert workflow.regression.min_effect == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("written", "seconds"), [("500ms", 0.5), ("90s", 90), ("1.5 m", 90), ("1h", 3600)]
)
def test_a_duration_is_in_seconds(read: Loader, written: str, seconds: float) -> None:
    workflow = read(SMALLEST + f"testbeds: {{embedded: {{boot: {written}}}}}\n")
    assert workflow.testbeds["embedded"].boot_s == pytest.approx(seconds)
    assert workflow.testbeds["embedded"].run_s == 30.0


@pytest.mark.parametrize("written", ["99.5", "99.5%", "'99.5'"])
def test_confidence_is_one_of_ministats_levels(read: Loader, written: str) -> None:
    assert read(SMALLEST + f"regression: {{confidence: {written}}}").regression.confidence == 99.5


def test_iterations_may_be_left_to_the_program(read: Loader) -> None:
    assert read(SMALLEST + "    iterations: auto\n").bench_jobs[0].iterations == "auto"


def test_mail_names_the_secret_and_not_the_password(read: Loader) -> None:
    mail = read(
        SMALLEST + "mail: {from: Bench <b@example.org>, to: net@example.org, smtp-host: mx,\n"
        "       smtp-port: 587, starttls: true, user: bench, password-secret: smtp}\n"
    ).mail
    assert mail is not None
    assert (mail.from_, mail.to) == ("Bench <b@example.org>", ("net@example.org",))
    assert (mail.user, mail.password_secret, mail.starttls) == ("bench", "smtp", True)


def test_artefacts_may_be_no_more_than_their_place(read: Loader) -> None:
    place = "https://store.example.org/bench"
    alone = read(smallest_with() + f"artefacts: {place}\n").artefacts
    assert alone == read(smallest_with() + f"artefacts: {{place: '{place}'}}\n").artefacts
    assert alone.place == place
    assert alone.retention.keep_days is alone.retention.max_gib is None


def test_a_workflow_cannot_be_changed(read: Loader) -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(SMALLEST).build_job.timeout_minutes = 1


@pytest.mark.parametrize(
    "url",
    ["https://git.freebsd.org/src.git", "ssh://git@host/src", "git@host:src", "file:///src"],
)
def test_a_url_stays_as_it_is(read: Loader, url: str) -> None:
    assert read(smallest_with(repository=f"repository: {url}")).repository_url == url


def test_a_path_counts_from_the_files_directory(tmp_path: Path) -> None:
    place = tmp_path / "etc"
    place.mkdir()
    (place / "bench.yml").write_text(SMALLEST)
    workflow = load(place / "bench.yml")
    assert workflow.base == place
    assert workflow.repository_url == str(place / "src")


@pytest.mark.parametrize(
    ("written", "weekday", "minute"),
    [
        ("{}", 0, 480),
        ("{day: sunday, at: '23:59'}", 6, 1439),
        ("{at: 08:30}", 0, 510),
        ("{at: 9:30}", 0, 570),
        ("{at: 00:00}", 0, 0),
    ],
)
def test_the_digest_has_a_day_and_a_time(
    read: Loader, written: str, weekday: int, minute: int
) -> None:
    digest = read(SMALLEST + f"notify: {{digest: {written}}}\n").notify.digest
    assert digest is not None
    assert (digest.weekday, digest.at) == (weekday, minute)


def test_the_digest_is_no_site(read: Loader) -> None:
    notify = read(SMALLEST + "notify: {digest: {day: friday}}\n").notify
    assert notify.sites == {}
    assert read(SMALLEST).notify.digest is None


def test_a_schedule_follows_the_first_branch_or_the_one_it_names(read: Loader) -> None:
    on = read(SMALLEST + "on: {schedule: [{cron: '0 3 * * *'}]}\n").on
    assert (on.push, on.followed.branches) == (None, ("main",))
    named = "[{cron: '0 3 * * *', branch: stable/14}, {cron: '0 4 * * *'}]"
    workflow = read(SMALLEST + f"on: {{schedule: {named}}}\n")
    assert workflow.branches == ("stable/14", "main")
    push = "push: {branches: [dev, 'stable/*']}"
    workflow = read(SMALLEST + f"on: {{{push}, schedule: {named}}}\n")
    assert workflow.branches == ("dev", "stable/*")


def test_later_pushes_drop_what_waits_only_where_the_file_says_so(read: Loader) -> None:
    assert not read(SMALLEST).concurrency.cancel_in_progress
    said = "concurrency: {cancel-in-progress: true}\n"
    assert read(SMALLEST + said).concurrency.cancel_in_progress


def test_links_are_stated_or_follow_from_the_repositorys_url(read: Loader) -> None:
    at_github = SMALLEST.replace("repository: src", "repository: https://github.com/acme/src.git")
    links = read(at_github + "links: {commit: 'https://git.example.org/c/{commit}'}\n")
    assert links.pages_of_commits().commit("a1b2") == "https://git.example.org/c/a1b2"
    assert links.pages_of_commits().review("#12") == "https://github.com/acme/src/pull/12"


def test_a_workflow_equals_its_twin_whatever_was_asked_of_one(data: Path) -> None:
    asked, twin = (load(data.parents[1] / "bench.yml") for _ in range(2))
    assert asked.bench_jobs[0].cells
    assert asked.watches
    assert asked == twin
