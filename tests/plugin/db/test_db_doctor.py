"""`bench-farm doctor` reads a farm as it is, on both databases."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata

import pytest
import sqlalchemy as sa

from buildbot_bench.demo.command import main
from buildbot_bench.demo.verifying import find_troubles
from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db.schema import ITERATION, PROBE
from tests.fakes.whole_farm import WholeFarm
from tests.gitrepo import Commit, git, make_repository

# Of Buildbot's tables, what is read of them.
TABLES = (
    "CREATE TABLE workers (id integer, name text, info text)",
    "CREATE TABLE connected_workers (workerid integer)",
    "CREATE TABLE builders (id integer, name text)",
    "ALTER TABLE buildrequests ADD COLUMN builderid integer",
    "CREATE TABLE buildrequest_claims (brid integer, masterid integer, claimed_at integer)",
    """CREATE TABLE builds (id integer, number integer, builderid integer, buildrequestid integer,
    masterid integer, started_at integer, complete_at integer, results integer)""",
    """CREATE TABLE steps (buildid integer, started_at integer, complete_at integer,
    results integer)""",
)

QUARANTINE = """INSERT INTO bench_quarantine (id, probe_id, testbed, workload, epoch, since_s,
 reason, begun_at, trusted, version) VALUES (1, 1, 'apu', 'x', '', 1, 'too slow', 1, (1 = 2), 0)"""


# Behind others: one that has run out.
GONE = ", (9, 'master:9', 'x', 9, 5, '')"


def leased(*leases: str) -> str:
    """Leases that hold, each with its trouble behind its name."""
    rows = [
        f"({number}, '{name}', 'x', 1, {time.time() + 86400}, '{trouble}')"
        for number, (name, _, trouble) in enumerate(one.partition(" ") for one in leases)
    ]
    columns = "id, name, token, masterid, expires_at, trouble"
    return f"INSERT INTO bench_lease ({columns}) VALUES {', '.join(rows)}"


@pytest.fixture
def farm(whole_farm) -> Iterator[WholeFarm]:
    """It measured just now, on workers that are connected."""
    now_s = time.time()
    info = json.dumps({"version": metadata.version("buildbot")})
    whole_farm.change(
        *TABLES,
        f"UPDATE masters SET last_active = {now_s:.0f}",
        f"INSERT INTO workers VALUES (1, 'lab', '{info}'), (2, 'builder', '{info}')",
        "INSERT INTO connected_workers VALUES (1), (2)",
        f"UPDATE bench_probe SET created_at = {now_s - 60}, issued_at = {now_s - 60},"
        f" ended_at = {now_s}",
        f"UPDATE bench_iteration SET at_s = {now_s - 30}",
    )
    yield whole_farm
    made = [words[2] for words in map(str.split, TABLES) if words[0] == "CREATE"]
    whole_farm.change(*(f"DROP TABLE {name}" for name in made))


def told(farm: WholeFarm) -> list[tuple[str, str]]:
    """What is found, but for the disk, which is the machine's."""
    found = find_troubles(farm.place)
    return [(one.part, one.problem) for one in found if one.part != "disk"]


def test_a_farm_that_is_well_has_no_finding(farm):
    assert told(farm) == []
    farm.add(PROBE, token="", state="done", image_id=1)  # imported, and long past
    farm.add(ITERATION, probe_id=77, image_id=1, at_s=77.0)
    assert told(farm) == []


def test_a_disk_that_is_nearly_full_is_found_and_errors_stand_first(farm, monkeypatch):
    monkeypatch.setattr("buildbot_bench.core.condition.LEAST_FREE_BYTES", 2**80)
    farm.change(QUARANTINE)
    *disks, last = find_troubles(farm.place)
    assert {(one.part, one.severity.value) for one in disks} == {("disk", "error")}
    assert last.part == "testbeds"


@pytest.mark.parametrize(
    ("change", "part", "words"),
    [
        ("UPDATE masters SET last_active = 1", "master", "no master runs"),
        ("DELETE FROM connected_workers WHERE workerid = 2", "workers", "'builder' is not"),
        ("DELETE FROM workers WHERE id = 1", "workers", "'lab' is not connected"),
        ("""UPDATE workers SET info = '{"version": "3.9"}' WHERE id = 1""", "workers", "3.9"),
        ("UPDATE bench_iteration SET at_s = at_s + 600", "clock", "the lab of apu is off by 5"),
        (
            "UPDATE bench_report SET state = 'new', sent_at = NULL, created_at = 1",
            "outbox",
            "mail 1 waits for",
        ),
        ("UPDATE bench_report SET state = 'refused', sent_at = NULL", "outbox", "refused"),
        (leased("broker", "master:1 no router"), "masters", "'one:/m': no router"),
        (leased("master:1"), "masters", "no master runs the broker"),
        (leased("broker", "master:1") + GONE, "masters", "master 'master:9' has gone"),
        (
            QUARANTINE,
            "testbeds",
            "too slow",
        ),
    ],
)
def test_what_the_tables_tell_is_found(farm, change, part, words):
    farm.change(change)
    ((found, problem),) = told(farm)
    assert found == part
    assert words in problem


# A request that is claimed, its build, which goes on, and the step that it is in.
BEGUN = (
    "INSERT INTO builders VALUES (1, 'kernel')",
    "INSERT INTO buildrequests VALUES (7, 0, NULL, 1)",
    "INSERT INTO buildrequest_claims VALUES (7, 1, {then})",
    "INSERT INTO builds VALUES (9, 3, 1, 7, 1, {then}, NULL, NULL)",
    "INSERT INTO steps VALUES (9, {then}, {then}, 0)",
    "INSERT INTO steps VALUES (9, {then}, NULL, NULL)",
)
REQUEST_ENDS = "UPDATE buildrequests SET complete = 1, complete_at = {then}"
BUILD_ENDS = "UPDATE builds SET complete_at = {then}, results = 0"
STEP_ENDS = "UPDATE steps SET complete_at = {then}, results = 0"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ((), None),
        ((BUILD_ENDS, REQUEST_ENDS), None),
        ((STEP_ENDS,), "build 3 of kernel"),
        (("DELETE FROM steps",), "build 3 of kernel"),
        ((BUILD_ENDS,), "request 7 for kernel"),
        (("DELETE FROM builds",), "request 7 for kernel"),
        (
            (
                BUILD_ENDS,
                REQUEST_ENDS,
                "UPDATE bench_probe SET state = 'issued', brid = 7 WHERE id = 1",
            ),
            "probe 1 (apu forwarding)",
        ),
    ],
)
@pytest.mark.parametrize(("age_s", "is_long"), [(600, True), (100, False)])
def test_what_nobody_works_on_is_named_after_three_minutes(farm, changes, what, age_s, is_long):
    then = int(time.time()) - age_s
    farm.change(*(one.format(then=then) for one in (*BEGUN, *changes)))
    wanted = [("work", f"{what} stands still for 10 min")] if what and is_long else []
    assert [one for one in told(farm) if one[0] == "work"] == wanted


def test_a_database_that_does_not_answer_is_a_finding(farm, tmp_path):
    place = replace(farm.place, db=sa.make_url(f"sqlite:///{tmp_path}/none.sqlite"))
    found = [one for one in find_troubles(place) if one.part == "database"]
    assert [one.problem for one in found] == [f"there is no database {tmp_path}/none.sqlite"]


def test_the_command_ends_with_1_for_an_error(farm, capsys):
    url = farm.engine.url.render_as_string(hide_password=False)
    farm.change("UPDATE masters SET last_active = 1")
    asked = ["doctor", f"--dir={farm.place.directory}", f"--db={url}"]
    assert main(asked) == 1
    said = capsys.readouterr().out
    assert "error: master: no master runs\n    next: start it" in said
    assert main([*asked, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert ("error", "master") in {(one["severity"], one["part"]) for one in found}


def test_an_r_number_that_two_commits_claim_is_found(farm, tmp_path):
    shas = make_repository(tmp_path / "upstream", [Commit(svn=n) for n in (10, 20, 30)])
    note = ["-m", "svn path=/head/; revision=30\n"]
    git(tmp_path / "upstream", "notes", "add", "-f", *note, shas[1])
    MirrorHistory(farm.place.master / "mirror.git", str(tmp_path / "upstream")).fetch()
    ((part, problem),) = told(farm)
    assert part == "repository"
    assert problem.startswith("r30 is claimed by 2 commits of main")
