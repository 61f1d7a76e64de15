"""How bench.yml becomes workers, builders, a poller and a broker."""

from pathlib import Path

import pytest
from buildbot.config.errors import ConfigErrors, capture_config_errors
from buildbot.config.master import FileLoader
from buildbot.db import enginestrategy
from buildbot.process.properties import Secret
from sqlalchemy.pool import NullPool, QueuePool

from buildbot_bench.plugin.broker.quarantine import may_start
from buildbot_bench.plugin.configurator import BenchConfigurator
from buildbot_bench.plugin.steps.build import Checkout, CheckoutFromMirror, Compile
from buildbot_bench.plugin.steps.measure import Abandon, MeasureProbe
from buildbot_bench.plugin.steps.transfer import Fetch, Upload

BOTH_BEDS = ("runs-on: apu", "runs-on: [apu, xeon]")


@pytest.fixture
def secrets(tmp_path) -> Path:
    (tmp_path / "secrets").mkdir(mode=0o700)
    return tmp_path / "secrets"


@pytest.fixture
def configure(make_farm, secrets):
    """Gives Buildbot's dictionary for bench.yml with some words replaced."""

    def run(*replaced: tuple[str, str], **settings: float) -> dict:
        config: dict = {}
        farm = make_farm(*replaced)
        BenchConfigurator(farm.workflow, secrets=secrets, **settings).configure(config)
        return config

    return run


def builder(config: dict, name: str):
    (found,) = [one for one in config["builders"] if one.name == name]
    return found


def steps(config: dict, name: str) -> list:
    """The steps of a builder as Buildbot would make them for a build."""
    return [factory.buildStep() for factory in builder(config, name).factory.steps]


def compiles(config: dict) -> Compile:
    (step,) = [step for step in steps(config, "kernel") if isinstance(step, Compile)]
    return step


def test_each_worker_of_a_job_or_a_testbed_is_there_once_and_takes_one_build(configure):
    workers = configure(BOTH_BEDS)["workers"]
    assert [worker.workername for worker in workers] == ["builder", "lab", "lab2"]
    assert {worker.max_builds for worker in workers} == {1}


def test_neither_measurements_nor_captures_begin_without_asking_for_a_quarantine(configure):
    config = configure(("apu: {", "apu: {profile: 20m, "))
    asking = {one.name for one in config["builders"] if one.canStartBuild is may_start}
    assert asking == {"bench/apu", "profile/apu"}


def test_passwords_are_secrets_that_stand_in_no_configuration(configure):
    for worker in configure()["workers"]:
        assert isinstance(worker.password, Secret)
        assert worker.password.secret_name == f"{worker.workername}.pass"


def test_the_secrets_directory_is_read_when_it_is_there(make_farm, secrets):
    for directory, count in ((secrets, 1), (secrets / "missing", 0)):
        config: dict = {}
        BenchConfigurator(make_farm().workflow, secrets=directory).configure(config)
        assert len(config["secretsProviders"]) == count


def test_a_password_that_others_may_read_is_refused(configure, secrets):
    (secrets / "lab.pass").write_text("sesame")
    (secrets / "lab.pass").chmod(0o644)
    with pytest.raises(ConfigErrors, match=r"lab\.pass are too open"):
        configure()


def test_there_is_a_builder_of_kernels_and_one_for_each_testbed(configure):
    config = configure(BOTH_BEDS)
    names = [one.name for one in config["builders"]]
    assert names == ["kernel", "bench/apu", "bench/xeon"]
    assert builder(config, "kernel").workernames == ["builder"]
    assert builder(config, "bench/xeon").workernames == ["lab2"]


def test_no_two_requests_are_ever_taken_for_one(configure):
    assert {one.collapseRequests for one in configure()["builders"]} == {False}


def test_a_kernel_is_checked_out_compiled_and_uploaded_as_the_job_says(configure):
    kinds = [type(step) for step in steps(configure(), "kernel")]
    assert sorted((Upload, Compile, Checkout), key=kinds.index) == [Checkout, Compile, Upload]


def test_a_builder_with_a_mirror_of_its_own_makes_a_worktree_of_it(configure):
    of_mirror = "      - uses: checkout\n        with: {mirror: /var/src.git}\n"
    config = configure(("      - uses: checkout\n", of_mirror))
    kinds = [type(step) for step in steps(config, "kernel")]
    assert CheckoutFromMirror in kinds
    assert Checkout not in kinds


def test_a_measurement_fetches_measures_and_cleans_up(configure):
    assert [type(step) for step in steps(configure(), "bench/apu")] == [
        Fetch,
        MeasureProbe,
        Abandon,
    ]


def test_a_script_runs_by_sh_e_and_no_word_of_a_commit_is_part_of_it(configure):
    step = compiles(configure())
    assert (step.name, step.command) == ("Compile", ["sh", "-e", "-c", "make kernel"])


def test_a_script_knows_the_workflows_the_jobs_and_the_revisions_environment(configure):
    env = compiles(configure()).env
    assert (env["CFLAGS"], env["MAKEFLAGS"]) == ("-O2", "-j2")
    assert {"BENCH_REVISION", "BENCH_SHA", "BENCH_IMAGE"} <= set(env)


def test_the_nearer_environment_goes_before_the_farther(configure):
    near = ("env: {MAKEFLAGS: -j2}", "env: {CFLAGS: -O0}")
    assert compiles(configure(near)).env["CFLAGS"] == "-O0"


def test_a_job_that_takes_too_long_is_ended(configure):
    config = configure()
    assert compiles(config).maxTime == 30 * 60
    (measures,) = [one for one in steps(config, "bench/apu") if isinstance(one, MeasureProbe)]
    assert measures.maxTime == 20 * 60


def test_the_broker_may_ask_all_builders_and_looks_as_often_as_it_is_told(configure):
    (broker,) = configure(BOTH_BEDS, reconcile_s=7.0)["schedulers"]
    assert (broker.name, broker._config_kwargs["reconcile_s"]) == ("bench", 7.0)
    assert broker._config_kwargs["builderNames"] == ["kernel", "bench/apu", "bench/xeon"]


def test_the_poller_watches_the_branch_at_the_pace_it_is_told(configure, published):
    (poller,) = configure(poll_s=5.0)["change_source"]
    assert poller._config_kwargs["branches"] == ["main"]
    assert poller._config_kwargs["pollInterval"] == 5.0
    assert poller._config_kwargs["usetimestamps"] is False
    assert poller.name == str(published[0])


def test_a_farm_that_watches_no_pushes_polls_nothing(configure):
    push = "  push:\n    branches: [main]\n    paths: [sys/**]\n"
    assert "change_source" not in configure((push, ""))


def test_what_is_there_already_stays(make_farm, secrets):
    config: dict = {"workers": ["mine"], "services": ["mine"]}
    BenchConfigurator(make_farm().workflow, secrets=secrets).configure(config)
    assert (config["workers"][0], config["services"][0]) == ("mine", "mine")
    assert len(config["services"]) == 2


def refused(text: str, tmp_path: Path) -> str:
    path = tmp_path / "bad.yml"
    path.write_text(text)
    with pytest.raises(ConfigErrors) as error:
        BenchConfigurator.from_file(path, secrets=tmp_path)
    return str(error.value)


def test_a_workflow_with_problems_ends_the_configuration_and_names_their_lines(tmp_path):
    told = refused("name: x\nrepositroy: src\n", tmp_path)
    assert "bad.yml:2" in told
    assert "repository" in told


def test_checkconfig_has_each_problem_as_an_error_of_its_own(tmp_path, monkeypatch):
    """Of the farm's own master.cfg; what else it finds is logged with a traceback."""
    (tmp_path / "bad.yml").write_text("namex: x\nrepositroy: src\n")
    monkeypatch.setenv("BENCH_WORKFLOW", str(tmp_path / "bad.yml"))
    master = Path(__file__).parents[3]
    with pytest.raises(ConfigErrors) as error:
        FileLoader(str(master), "master.cfg").loadConfig()
    assert error.value.errors == [
        f"{tmp_path}/bad.yml:1:1: jobs: missing",
        f"{tmp_path}/bad.yml:1:1: namex: unknown key; did you mean 'name'?",
        f"{tmp_path}/bad.yml:2:1: repositroy: unknown key; did you mean 'repository'?",
    ]


def test_the_poller_asks_whether_a_pattern_takes_a_branch(configure):
    patterns = ("branches: [main]", "branches: [main, stable/*, '!stable/9']")
    takes = [configure(patterns)["change_source"][0]._config_kwargs["branches"] for _ in range(2)]
    asked = ("heads/main", "heads/stable/14", "heads/stable/9", "heads/x", "tags/stable/14")
    assert [takes[0](f"refs/{name}") for name in asked] == [True, True, False, False, False]
    assert takes[0] == takes[1]


def test_the_poller_is_given_the_names_of_branches(configure):
    (poller,) = configure(("branches: [main]", "branches: [main, stable/14]"))["change_source"]
    assert poller._config_kwargs["branches"] == ["main", "stable/14"]


@pytest.mark.parametrize(
    ("database", "kept"),
    [
        ({"db_url": "sqlite:///state.sqlite"}, {"poolclass": QueuePool}),
        (
            {"db_url": "sqlite:///x", "engine_kwargs": {"poolclass": NullPool}},
            {"poolclass": NullPool},
        ),
        ({"db_url": "sqlite://"}, None),
        ({"db_url": "postgresql+psycopg://localhost/bench"}, None),
        ({"db_url": Secret("database")}, None),
    ],
)
def test_a_database_in_a_file_stays_open(make_farm, secrets, database, kept):
    BenchConfigurator(make_farm().workflow, secrets=secrets).configure({"db": database})
    assert database.get("engine_kwargs") == kept


def test_a_transaction_does_not_write_the_whole_log_back(make_farm, secrets, tmp_path):
    config = {"db": {"db_url": "sqlite:///state.sqlite"}}
    BenchConfigurator(make_farm().workflow, secrets=secrets).configure(config)
    engine = enginestrategy.create_engine(
        config["db"]["db_url"], basedir=str(tmp_path), **config["db"]["engine_kwargs"]
    )
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE numbers (number INTEGER)")
    assert (tmp_path / "state.sqlite-wal").stat().st_size > 0
    engine.dispose()
    assert not (tmp_path / "state.sqlite-wal").exists()


def test_several_masters_on_a_file_are_refused(make_farm, secrets):
    configurator = BenchConfigurator(make_farm().workflow, secrets=secrets)
    config = {"mq": {"type": "wamp"}, "db": {"db_url": "sqlite:///state.sqlite"}}
    with capture_config_errors() as errors:
        configurator.configure(config)
    assert errors.errors == [
        "several masters (mq: wamp) need PostgreSQL: set BENCH_DB, or unset BENCH_ROUTER"
    ]
