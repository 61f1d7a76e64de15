"""`bench-farm verify`: it finds what a test plants, on both databases, and nothing else."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from buildbot_bench.archives.contents import digest_of_files
from buildbot_bench.core.incident.model import Breakage, Ending
from buildbot_bench.core.metric import Metric, pack_names
from buildbot_bench.demo.command import main
from buildbot_bench.demo.verifying import verify
from buildbot_bench.lab.files import take_lock
from buildbot_bench.plugin.db import schema
from buildbot_bench.plugin.db.columns import JsonText
from buildbot_bench.plugin.db.finding_rows import Recovery
from tests.fakes.whole_farm import BOOTS, DIGEST, KERNEL, WholeFarm, boot


@pytest.fixture
def farm(whole_farm) -> WholeFarm:
    return whole_farm


def test_a_whole_farm_has_no_violation(farm):
    assert farm.found() == []
    assert farm.found(idle=True) == []


PROBE = "INSERT INTO bench_probe (id, key, token, image_id, testbed, workload, epoch, iterations,\
 priority, reason, state, attempt, created_at, judged, version, ended_at, brid, issued_at)\
 VALUES (2, 'k', '', 1, 'apu', 'forwarding', '', 1, 0, 'commit', {}, 0, 1, {}, 0, {}, {}, 1)"
IMAGE = "INSERT INTO bench_image (id, sha, variant, ordinal, position, label, state, attempt,\
 created_at, changed_at, version, brid) VALUES (2, 'x', 'x', 0, 1, 'r1', 'building', 0, 1, 1, 0, 5)"
SEARCH = "UPDATE bench_search SET {} WHERE id = 1"
MAIL = "INSERT INTO bench_report (id, key, state, message_id, subject, recipients, message,\
 attempts, next_try_at, created_at, version, sent_at)\
 VALUES (2, 'alive:1', {}, '<1@x>', '', '[]', '', 0, 1, 1, 0, {})"
FALSE = "false"


@pytest.mark.parametrize(
    ("planted", "check", "row"),
    [
        (["UPDATE bench_probe SET ended_at = NULL"], "ends", "probe 1"),
        (["UPDATE bench_iteration SET ordinal = 7 WHERE ordinal = 1"], "boots", "probe 1"),
        (["DELETE FROM bench_iteration WHERE ordinal = 2"], "boots", "probe 1"),
        (["UPDATE bench_iteration SET value = 8 WHERE ordinal = 1"], "boots", "probe 1"),
        ([f"UPDATE bench_iteration SET is_primary = {FALSE}"], "boots", "probe 1"),
        (["UPDATE bench_probe SET iterations = 2"], "boots", "probe 1"),
        ([PROBE.format("'new'", FALSE, "3", "NULL")], "ends", "probe 2"),
        (["DELETE FROM bench_artefact"], "images", "image 1"),
        (["UPDATE bench_artefact SET size = 3"], "images", f"artefact {DIGEST[:12]}"),
        ([SEARCH.format("ended_at = NULL")], "searches", "search 1"),
        ([SEARCH.format("answer = NULL")], "searches", "search 1"),
        ([SEARCH.format("answer = NULL, state = 'failed'")], "searches", "search 1"),
        ([SEARCH.format("state = 'running'")], "searches", "search 1"),
        (["UPDATE bench_report SET sent_at = NULL"], "messages", "mail 1"),
        ([MAIL.format("'sent'", "13")], "messages", "mail 2"),
        (["UPDATE bench_probe SET search_id = 99"], "references", "bench_probe 1"),
        (["UPDATE bench_image SET read_files = 'ab'"], "references", "bench_image 1"),
        (["UPDATE bench_iteration SET image_id = 9 WHERE id = 1"], "references", None),
    ],
)
def test_what_the_tables_contradict_is_found(farm, planted, check, row):
    if farm.engine.dialect.name == "sqlite":
        planted = [one.replace(" false", " 0") for one in planted]
    farm.change(*planted)
    found = farm.found()
    assert (check, row) in found or (row is None and found)
    assert {one for one, _ in found} <= {check, "owners"}


NAMES = "INSERT INTO bench_value_names (id, testbed, workload, digest, body)\
 VALUES (1, 'apu', 'forwarding', '{}', {}'{}')"
NAMED = "INSERT INTO bench_values (id, iteration_id, names_id, body) VALUES (1, 1, 1, {}'{}')"


@pytest.mark.parametrize(
    ("digest", "values", "wrong"),
    [
        ("", 16, []),
        ("", 8, [("values", "bench_values 1")]),
        ("0", 16, [("digests", "bench_value_names 1")]),
    ],
)
def test_named_values_are_one_for_each_name(farm, digest, values, wrong):
    right, body = pack_names([Metric(name=name, unit="ns") for name in "ab"])
    first, mark = ("x", "") if farm.engine.dialect.name == "sqlite" else ("", r"\x")
    farm.change(
        NAMES.format(digest or right, first, mark + body.hex()),
        NAMED.format(first, mark + "00" * values),
    )
    assert farm.found() == wrong


# Each column that is read as more than text or a number: a new one is among them.
READ = [
    column
    for table in schema.METADATA.sorted_tables
    for column in table.columns
    if isinstance(column.type, sa.Enum | JsonText) and column is not schema.ITERATION.c.facts
]


def test_a_word_that_no_release_writes_is_found_in_each_column(farm):
    columns = [*READ, schema.PROBE.c.failure_kind]
    for table in {column.table for column in columns}:
        names = [column.name for column in columns if column.table is table]
        farm.add(table, **dict.fromkeys(names, "no such word"))
    verdict = verify(farm.place, idle=False, wait=lambda _: None)
    found = [one for one in verdict.violations if one.check == "values"]
    told = {
        (one.row, one.problem.partition(" is 'no such word', which is not ")[0]) for one in found
    }
    assert told == {(f"{column.table.name} 77", column.name) for column in columns}
    assert len(told) > 20


IMPORTED = "imported"


def commit(position: int, **values: object) -> dict[str, object]:
    known = {"branch": "main", "sha": f"c{position}", "parent_sha": f"c{position - 1}"}
    return {"id": position, "position": position} | known | values


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([(schema.COMMIT, commit(position)) for position in (7, 8, 9)], None),
        ([(schema.COMMIT, commit(position)) for position in (7, 8, 10, 11)], "bench_commit 10"),
        (
            [(schema.COMMIT, commit(7)), (schema.COMMIT, commit(8, parent_sha="x"))],
            "bench_commit 8",
        ),
        (
            [
                (schema.COMMIT, commit(7)),
                (schema.COMMIT, commit(8)),
                (schema.COMMIT, commit(3, sha=IMPORTED)),
            ],
            None,
        ),
        ([(schema.AB_TEST_VARIANT, {"ab_test_id": 77, "ordinal": 1})], "bench_ab_test_variant 77"),
        ([(schema.READ_FILES, {"body": b"sys/a.c"})], "bench_read_files 77"),
        ([(schema.PATCH, {"body": b"--- a"})], "bench_patch 77"),
        ([(schema.CAPTURE, {"body": gzip.compress(b"main 1")})], "bench_capture 77"),
        ([(schema.CAPTURE, {"body": b"no archive"})], "bench_capture 77"),
    ],
)
def test_a_gap_in_numbers_and_a_wrong_digest_are_found(farm, rows, row):
    if (schema.COMMIT, commit(3, sha=IMPORTED)) in rows:  # alone, as what bench-import adds
        farm.add(schema.IMAGE, sha=IMPORTED, state="failed")
        farm.add(schema.PROBE, image_id=77, token="", reason="backfill", state="done")
    for table, values in rows:
        farm.add(table, **values)
    found = [one for check, one in farm.found() if check in {"sequences", "digests"}]
    assert found == ([] if row is None else [row])


def test_an_image_of_another_kernel_than_its_artefact_is_found(farm):
    farm.change(f"UPDATE bench_image SET kernel_digest = '{'ab' * 32}'")
    assert farm.found() == [("digests", "image 1")]
    farm.change("UPDATE bench_image SET kernel_digest = NULL")  # as those of no builder of ours
    assert farm.found() == []


def test_a_kernel_that_its_builders_manifest_tells_is_not_read_again(farm):
    files = {"boot/kernel/kernel": "12"}
    told = json.dumps({"files": files})
    farm.change(
        f"UPDATE bench_image SET kernel_digest = '{digest_of_files(files.items())}',"
        f" manifest = '{told.replace(':', chr(92) + ':')}'"
    )
    assert farm.found() == []


def test_an_artefact_that_is_not_what_its_name_says_is_found(farm):
    farm.kernel.write_bytes(KERNEL[::-1])
    assert farm.found() == [("digests", f"artefact {DIGEST[:12]}")]


POINT = {"sha": "a", "label": "n1", "position": 1}
LATER = "UPDATE masters SET last_active = 5000"


@pytest.mark.parametrize(
    ("planted", "is_found"),
    [
        ([], False),
        ([LATER], True),
        ([LATER, f"UPDATE bench_probe SET ended_at = {5000 - 60}"], False),
        (["UPDATE masters SET last_active = 90000"], True),
    ],
)
def test_the_mail_of_a_search_is_missed_as_soon_as_nothing_holds_it_up(farm, planted, is_found):
    farm.change("DELETE FROM bench_report", *planted)
    assert farm.found() == ([("searches", "search 1")] if is_found else [])


def test_a_mail_that_waits_for_a_capture_is_missed_after_a_day(farm):
    farm.add(schema.PROFILE, search_id=1, image_id=1, ab_test_id=None, state="new", digest=None)
    farm.change("DELETE FROM bench_report", LATER)
    assert farm.found() == []
    farm.change("UPDATE masters SET last_active = 90000")
    assert farm.found() == [("searches", "search 1")]


@pytest.mark.parametrize(("ending", "found"), [("broken", 1), ("mended", 0)])
def test_the_mail_of_a_breakage_is_missed_unless_it_is_mended(farm, ending, found):
    breakage = Breakage(ending=Ending(ending), old=0, new=1)
    since_s = time.time() - 3600
    farm.change("DELETE FROM bench_report", f"UPDATE masters SET last_active = {since_s + 3000}")
    with farm.engine.begin() as conn:
        told = {"kind": "boot", "breakage": breakage, "ended_at": since_s}
        conn.execute(sa.update(schema.SEARCH).values(**told))
    assert farm.found() == [("searches", "search 1")] * found


def test_the_mail_that_closes_an_incident_is_missed(farm):
    ends = {f"{side}_{name}": value for side in ("old", "new") for name, value in POINT.items()}
    with farm.engine.begin() as conn:
        conn.execute(sa.update(schema.SEARCH).values(recovery=Recovery(at_s=20.0, **ends)))
    farm.change(LATER)
    assert farm.found() == [("searches", "search 1")]
    farm.change("UPDATE bench_report SET key = 'recovery:1' WHERE id = 1")
    assert farm.found() == []


def test_a_mail_that_waits_is_a_violation_of_an_idle_farm_alone(farm):
    farm.change(MAIL.format("'new'", "NULL"))
    assert farm.found() == []
    assert farm.found(idle=True) == [("messages", "mail 2")]


def test_the_same_mail_sent_twice_to_a_server_that_dropped_it_is_no_violation(farm):
    farm.change("UPDATE bench_report SET attempts = 2, last_error = 'the server hung up'")
    assert farm.found() == []


@pytest.mark.parametrize("request_row", [None, "INSERT INTO buildrequests VALUES (5, 1, 50)"])
def test_a_probe_that_nothing_runs_is_found_once_a_master_had_the_time(farm, request_row):
    farm.change(PROBE.format("'issued'", "false", "NULL", "5"), *filter(None, [request_row]))
    assert farm.found() == []  # no master runs: the next one looks at it
    farm.master_runs(time.time() - 60)
    assert farm.found() == []
    farm.master_runs(time.time() - 3600)
    assert farm.found() == [("ends", "probe 2")]


def test_a_probe_whose_build_goes_on_is_no_violation(farm):
    issued = PROBE.format("'issued'", "false", "NULL", "5")
    farm.change(issued, "INSERT INTO buildrequests VALUES (5, 0, NULL)")
    farm.master_runs(time.time() - 3600)
    assert farm.found() == []
    assert farm.found(idle=True) == [("ends", "probe 2")]


def test_an_image_that_nothing_builds_is_found(farm):
    farm.change(IMAGE)
    farm.master_runs(time.time() - 3600)
    assert farm.found() == [("images", "image 2")]


def test_two_rows_with_one_job_are_found(farm):
    farm.change(
        PROBE.format("'lost'", "false", "3", "NULL"),
        f"UPDATE bench_probe SET token = '{farm.token}' WHERE id = 2",
    )
    shutil.rmtree(farm.job)  # as it goes after two weeks: the tables alone tell
    assert farm.found() == [("boots", "probe 2")]


def test_a_boot_that_the_tables_lost_is_found(farm):
    farm.tell(*(boot(ordinal) for ordinal in range(BOOTS + 1)))
    assert farm.found() == [("boots", "probe 1")]


def test_a_boot_that_the_lab_told_of_twice_is_found(farm):
    farm.tell(*(boot(ordinal) for ordinal in range(BOOTS)), boot(1))
    assert ("boots", "probe 1") in farm.found()


def test_what_ends_after_its_probe_was_cancelled_is_no_violation(farm):
    farm.change("UPDATE bench_probe SET state = 'cancelled', iterations = 5")
    farm.tell(*(boot(ordinal) for ordinal in range(BOOTS + 1)))
    assert farm.found() == []


def test_a_job_directory_without_an_owner_is_found(farm):
    stray = farm.job.parent / uuid4().hex
    stray.mkdir()
    (farm.job.parent / "hand-20260101-000000-abcd").mkdir()  # a person's
    assert farm.found() == [("owners", f"job {stray.name} in {farm.job.parent}")]


def test_a_job_that_outlives_its_probe_is_found(farm):
    lock = take_lock(farm.job / "runner.lock")
    try:
        assert farm.found(idle=True) == [("owners", f"job {farm.token} in {farm.job.parent}")]
    finally:
        os.close(lock)


def test_kernels_without_a_row_and_rows_without_a_kernel_are_found(farm):
    stray = farm.kernel.parent.parent / "ab" / ("ab" * 32)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"")
    assert farm.found() == [("owners", f"file artefacts/ab/{stray.name}")]
    stray.unlink()
    farm.kernel.unlink()
    assert farm.found() == [("images", f"artefact {DIGEST[:12]}")]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not tell")
def test_a_process_of_the_farms_that_nothing_owns_is_found(farm):
    environment = os.environ | {"BENCH_LAB_STATE": str(farm.place.directory / "lab" / "state")}
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert farm.found() == [("owners", f"process {process.pid}")]
        process.communicate(b"\n")
    assert farm.found() == []


def test_what_was_only_on_its_way_is_told_to_nobody(farm):
    farm.change("UPDATE bench_probe SET ended_at = NULL")

    def arrives(_seconds: float) -> None:
        farm.change("UPDATE bench_probe SET ended_at = 9")

    assert verify(farm.place, idle=False, wait=arrives).violations == ()


@pytest.fixture
def run(farm, capsys) -> Callable[..., tuple[int, str]]:
    """The command, as somebody at a shell types it."""

    def command(*arguments: str) -> tuple[int, str]:
        url = farm.engine.url.render_as_string(hide_password=False)
        status = main(["verify", f"--dir={farm.place.directory}", f"--db={url}", *arguments])
        out, err = capsys.readouterr()
        return status, out + err

    return command


def test_the_command_says_what_to_do_and_ends_with_1(farm, run):
    assert run()[0] == 0
    farm.change(SEARCH.format("ended_at = NULL"))
    status, text = run()
    assert status == 1
    assert "search 1: is found, but not since when" in text
    assert "next: set ended_at" in text
    assert "1 violation; looked at 1 probes, 3 boots, 1 images" in text


def test_the_command_speaks_json(run):
    status, text = run("--json")
    said = json.loads(text)
    assert (status, said["whole"], said["violations"]) == (0, True, [])
    assert said["checked"]["boots"] == BOOTS


def test_a_farm_that_is_not_there_is_a_mistake_of_the_request(tmp_path, capsys):
    assert main(["verify", f"--dir={tmp_path}"]) == 2
    assert "name the farm by --dir" in capsys.readouterr().err
