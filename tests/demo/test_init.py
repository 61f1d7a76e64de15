"""`bench-farm init`: whole files, each of its mode, that overwrite nothing and tell no secret."""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from buildbot_bench.demo.command import _parser, main
from buildbot_bench.demo.init.answers import LABS
from buildbot_bench.demo.on_disk import place_of
from buildbot_bench.installed import DRIVERS, registered
from buildbot_bench.lab.tables import load_testbeds
from buildbot_bench.worker_connection import worker_connection
from buildbot_bench.workflow.load import load
from tests.fakes.boxes import parts_of_a_box
from tests.running import ran

USAGE = 2
SECRETS = ("*/secrets/*", "*/password", "certificates/*.key")


@pytest.fixture
def init(tmp_path, capsys, monkeypatch):
    """Type `bench-farm init farm OPTIONS`; gives the status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def type_it(*options: str) -> tuple[int, str, str]:
        status = main(["init", "farm", *options])
        return status, *capsys.readouterr()

    return type_it


@pytest.fixture
def farm(tmp_path) -> Path:
    return tmp_path / "farm"


def known_labs() -> list[str]:
    made_later = {"box"}
    drivers = registered(DRIVERS)
    return [
        name for name, kind in LABS.items() if kind.driver in drivers and name not in made_later
    ]


def environment(path: Path) -> dict[str, str]:
    """What sh(1) makes of a part's environment."""
    command = ["env", "-i", "sh", "-c", f"set -a; . {path}; env"]
    told = ran(command, check=True).stdout
    pairs = (line.split("=", 1) for line in told.splitlines())
    return {name: value for name, value in pairs if name.startswith("BENCH_")}


@pytest.mark.parametrize("lab", known_labs())
def test_its_workflow_and_its_testbeds_belong_together(init, farm, lab):
    status, said, _ = init("--lab", lab, "--repository", "https://example.org/src.git")
    assert status == 0
    workflow = load(farm / "bench.yml")
    assert workflow.repository == "https://example.org/src.git"
    testbeds = load_testbeds(farm / "lab" / "testbeds.toml")
    assert workflow.testbeds.keys() <= testbeds.keys()
    assert LABS[lab].testbed in workflow.testbeds
    assert f"bench-lab check {LABS[lab].testbed}" in said
    done = ran([farm / "run", "lab", Path(sys.executable).parent / "bench-lab", "list"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "see `bench-lab check" not in done.stdout


def test_of_a_lab_in_a_box_the_testbed_is_made_where_the_farm_looks_for_it(tmp_path, capsys):
    with TemporaryDirectory(prefix="b") as short:  # as the paths of sockets have to be
        _has_its_testbed(Path(short).resolve() / "farm", tmp_path, capsys)


def _has_its_testbed(farm, tmp_path, capsys):
    words = ["--lab=box", "--repository=https://example.org/src.git"]
    assert main(["init", str(farm), *words]) == 0
    said = capsys.readouterr().out
    (testbed,) = load(farm / "bench.yml").testbeds
    (world,) = [line for line in said.splitlines() if "box init box" in line]
    made = parts_of_a_box(tmp_path)
    words = world.split()[2:]  # of `run lab`
    words[words.index("WORLD")], words[words.index("box.txz")] = map(str, made)
    bin_ = Path(sys.executable).parent
    for command in ([*words, "--disk-mib=20", "--qemu=true"], ["bench-lab", "list"]):
        done = ran([farm / "run", "lab", bin_ / command[0], *command[1:]])
        assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(testbed)
    kernconf = Path(environment(farm / "builder" / "environment")["BENCH_KERNCONF"])
    assert "device\t\tnetmap" in kernconf.read_text()


def test_it_may_watch_several_repositories(init, farm):
    src, fork = "https://example.org/git?p=src.git", "ssh://example.org/fork.git"
    status, said, _ = init("--repository", f"src={src}", "--repository", f"fork={fork}")
    assert status == 0
    assert f"measures {src}, {fork}" in said
    workflow = load(farm / "bench.yml")
    assert [(one.key, one.name, one.url) for one in workflow.watches] == [
        ("", "src", src),
        ("fork", "fork", fork),
    ]
    assert not (farm / "src").exists()


def test_a_url_with_an_equals_sign_is_no_name(init, farm):
    assert init("--repository", "https://example.org/git?p=src.git")[0] == 0
    assert load(farm / "bench.yml").repository == "https://example.org/git?p=src.git"


def test_without_options_there_is_a_history_to_measure(init, farm):
    status, said, _ = init()
    assert status == 0
    assert f"measures {farm}/src, r311840 to r311853, and mails nobody" in said
    assert (farm / "src" / "HEAD").is_file()
    assert load(farm / "bench.yml").mail is None
    assert (farm / "README").read_text() == said


def test_all_that_it_writes_is_its_owners_alone_and_no_secret_is_told(init, farm, tmp_path):
    (tmp_path / "smtp").write_text("of the mail server\n")
    login = ("--smtp-user=bench", "--smtp-password-file=smtp", "--mail-to=a@example.org")
    status, said, complaints = init("--tls", *login)
    assert status == 0
    source = farm / "src"
    made = [path for path in farm.rglob("*") if not path.is_relative_to(source)]
    assert [path for path in made if path.stat().st_mode & 0o077] == []
    secrets = [path.read_text().strip() for place in SECRETS for path in farm.glob(place)]
    assert len(set(secrets)) == 7  # two workers', a login, of sessions, the server's, two keys
    assert [one for one in secrets if one in said + complaints] == []
    plain = [path for path in made if path.is_file() and path.suffix not in {".key", ".pass"}]
    plain = [path for path in plain if path.parent.name != "secrets" and path.name != "password"]
    assert [(p, one) for p in plain for one in secrets if one in p.read_text()] == []
    assert (farm / "master" / "secrets" / "smtp.password").read_text() == "of the mail server\n"
    mail = load(farm / "bench.yml").mail
    assert (mail.user, mail.password_secret, mail.starttls) == ("bench", "smtp.password", True)


@pytest.mark.parametrize(
    "name", ["bench.yml", "master/secrets/bench.login", "certificates", "lab/testbeds.toml", "src"]
)
def test_what_is_in_the_way_is_named_and_stays(init, farm, name):
    (farm / name).parent.mkdir(parents=True, exist_ok=True)
    (farm / name).write_text("mine")
    status, said, complaint = init("--tls")
    assert (status, said) == (USAGE, "")
    assert f"bench-farm: {farm / name} is in the way" in complaint
    assert [path for path in farm.rglob("*") if path.is_file()] == [farm / name]
    assert (farm / name).read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--masters=2"], "several masters share a PostgreSQL database"),
        (["--masters=0"], "a farm has 1 to 8"),
        (["--masters=2", "--url=http://a/"], "--url is said 1 times for 2 masters"),
        (["--host=a", "--host=b"], "--host is said 2 times for 1 masters"),
        (["--router=ws://localhost:1"], "say --masters 2 as well"),
        (
            ["--masters=2", "--database=postgresql:///bench", "--router=http://localhost"],
            "is no WAMP router's URL",
        ),
        (["--database=mysql://localhost/bench"], "names neither sqlite nor"),
        (["--database=postgresql://bench:secret@localhost/bench"], "into ~/.pgpass"),
        (["--lab=command"], "say --repository"),
        (["--repository=a=/a", "--repository=/b"], "each needs a name"),
        (["--repository=a=/a", "--repository=a=/b"], "two are called a"),
        (["--port=9988", "--pb-port=9989", "--masters=2"], "--port and --pb-port meet"),
        (["--user=a b"], "--user: 'a b' is no user's name"),
        (["--url=http://a'b/"], '--url: "http://a\'b/" has a character'),
        (["--mail-to=nobody"], "what the options say makes no bench.yml: bench.yml:"),
        (["--mail-to=a@b.org", "--smtp-user=a"], "need each other"),
        (
            ["--mail-to=a@b.org", "--smtp-user=a", "--smtp-password-file=nothing"],
            "No such file or directory: 'nothing'",
        ),
    ],
)
def test_what_makes_no_farm_is_refused_before_anything_is_written(init, farm, options, complaint):
    status, said, told = init(*options)
    assert (status, said) == (USAGE, "")
    assert complaint in told
    assert "secret" not in told
    assert not farm.exists()


def test_workers_of_other_machines_connect_by_tls(init, farm):
    assert init("--host=bench.example.org")[0] == 0
    told = environment(farm / "lab" / "environment")
    assert told == {"BENCH_MASTER": "bench.example.org:9989"}
    connection = worker_connection(told, farm / "lab")
    assert connection.string.startswith("tls:host=bench.example.org:port=9989:trustRoots=")
    listens = environment(farm / "master" / "environment")["BENCH_PB"]
    assert listens == (
        f"ssl:9989:privateKey={farm}/certificates/master.key:certKey={farm}/certificates/master.pem"
    )


def test_several_masters_have_ports_of_their_own_and_one_of_all_else(init, farm):
    status, said, _ = init("--masters=2", "--database=postgresql://bench@db.example.org/bench")
    assert status == 0
    first, second = (environment(farm / name / "environment") for name in ("master", "master2"))
    assert (first["BENCH_URL"], second["BENCH_URL"]) == (
        "http://localhost:8010/",
        "http://localhost:8011/",
    )
    assert second["BENCH_PB"] == "tcp:9990:interface=127.0.0.1"
    for name, value in {
        "BENCH_DB": "postgresql+psycopg://bench@db.example.org/bench",
        "BENCH_ROUTER": "ws://127.0.0.1:8080",
    }.items():
        assert first[name] == second[name] == value
    secrets = [sorted((farm / m / "secrets").iterdir()) for m in ("master", "master2")]
    assert [p.read_text() for p in secrets[0]] == [p.read_text() for p in secrets[1]]
    assert (farm / "master2" / "artefacts").resolve() == farm / "master" / "artefacts"
    workers = environment(farm / "builder" / "environment")
    assert workers == {"BENCH_MASTER": "localhost:9989,localhost:9990"}
    (transport,) = crossbar_of(farm)["workers"][0]["transports"]
    assert transport["endpoint"] == {"type": "tcp", "interface": "127.0.0.1", "port": 8080}
    steps = ["createdb --host=db.example.org", "pip install crossbar", "upgrade-master"]
    assert sorted(steps, key=said.index) == steps


def crossbar_of(farm: Path) -> dict[str, Any]:
    return json.loads((farm / "router" / "config.json").read_text())


def test_masters_of_several_machines_have_the_same_ports_and_a_router_between_them(init, farm):
    status, said, _ = init(
        *("--masters=2", "--host=m1.example.org", "--host=m2.example.org"),
        *("--url=https://m1.example.org", "--url=https://m2.example.org"),
        *("--router=ws://10.0.0.1:8090", "--database=postgresql://bench@db.example.org/bench"),
    )
    assert status == 0
    first, second = (environment(farm / name / "environment") for name in ("master", "master2"))
    assert (first.pop("BENCH_URL"), second.pop("BENCH_URL")) == (
        "https://m1.example.org/",
        "https://m2.example.org/",
    )
    assert first == second
    (transport,) = crossbar_of(farm)["workers"][0]["transports"]
    assert transport["endpoint"] == {"type": "tcp", "interface": "10.0.0.1", "port": 8090}
    workers = environment(farm / "lab" / "environment")["BENCH_MASTER"]
    assert workers == "m1.example.org:9989,m2.example.org:9989"
    assert "run master2 on m2.example.org" in said


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_takes_its_units(init, farm):
    assert init("--masters=2", "--database=postgresql:///bench", "--units=systemd")[0] == 0
    units = sorted((farm / "units").iterdir())
    assert [path.name for path in units] == [
        f"bench-farm-{part}.service" for part in ("builder", "lab", "master", "master2", "router")
    ]
    done = ran(["systemd-analyze", "verify", *units])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_sh_takes_its_rc_d_scripts(init, farm):
    assert init("--units=rc.d")[0] == 0
    scripts = sorted((farm / "units").iterdir())
    assert [path.name for path in scripts] == [
        "bench_farm_builder",
        "bench_farm_lab",
        "bench_farm_master",
    ]
    for script in (*scripts, farm / "run"):
        done = ran(["sh", "-n", script])
        assert (done.returncode, done.stderr) == (0, "")


def test_run_says_which_parts_there_are(init, farm):
    init()
    done = ran([farm / "run"])
    assert (done.returncode, done.stderr) == (
        USAGE,
        "run: say which part: master, builder, lab\n",
    )


@pytest.mark.parametrize("below", ["", "lab", "master/secrets"])
def test_what_is_typed_inside_it_finds_it_and_its_database(init, farm, monkeypatch, below):
    monkeypatch.delenv("BENCH_DB", raising=False)
    init("--database", "postgresql://bench@db.example.org/bench")
    monkeypatch.chdir(farm / below)
    for typed in (["doctor"], ["verify"], ["backup", "copy"]):
        place = place_of(_parser().parse_args(typed))
        assert (place.directory, place.workflow) == (farm, farm / "bench.yml")
        assert place.db.host == "db.example.org"


def test_outside_it_is_named(init, farm, tmp_path, capsys):
    init()
    assert main(["doctor"]) == USAGE
    assert "name the farm by --dir" in capsys.readouterr().err
    assert main(["doctor", "--dir", "farm"]) == 1
    assert f"there is no database {farm}/master/state.sqlite" in capsys.readouterr().out
