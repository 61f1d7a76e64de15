"""One commit that slows two workloads is searched once, proved on both, and mailed once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from buildbot_bench.demo.embedded_history import CULPRIT, LABELS, make_embedded_history
from buildbot_bench.demo.farm import CHECKOUT, LocalFarm
from buildbot_bench.demo.processes import free_port
from buildbot_bench.demo.smtp import sink
from tests.databases import DATABASES, new_database, postgresql_server
from tests.e2e.checks import assert_every_page_answers
from tests.e2e.replay_farm import History, ReplayFarm, Shape, end_processes_in
from tests.fakes.other_package import install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

OTHER = "few-flows"
WORKLOAD = """\
from buildbot_bench.lab.drivers.embedded import EmbeddedWorkload

FEW = EmbeddedWorkload(flows=8)
"""
ENTRY = f"[buildbot_bench.embedded_workloads]\n{OTHER} = extra.workloads:FEW\n"
PATIENCE_S = 900.0
MOST_TIMES = 1.9  # the boots of the search alone


class EmbeddedFarm(ReplayFarm):
    """The farm of `make demo` with a second workload."""

    def __init__(self, directory: Path, history: History, shape: Shape) -> None:
        super().__init__(directory, history, shape)
        testbeds = CHECKOUT / "workers" / "lab" / "testbeds.toml"
        self.local = LocalFarm(replace(self.local.plan, testbeds=testbeds))
        text = (CHECKOUT / "bench.yml").read_text()
        for old, new in (
            ("repository: .farm/src", "repository: src"),
            ("workload: [forwarding]", f"workload: [forwarding, {OTHER}]"),
            (", profile: 2m", ""),
            ("smtp-port: 2525", f"smtp-port: {shape.smtp_port}"),
        ):
            assert old in text
            text = text.replace(old, new)
        self.local.plan.workflow.write_text(text)


@pytest.fixture(scope="module", params=DATABASES)
def database(request) -> Iterator[str | None]:
    """The URL of a database on PostgreSQL; None: the farm's own SQLite."""
    if request.param == "sqlite":
        yield None
        return
    with new_database(postgresql_server()) as url:
        yield url


@pytest.fixture(scope="module")
def farm(database, tmp_path_factory) -> Iterator[EmbeddedFarm]:
    directory = tmp_path_factory.mktemp("incident").resolve()
    path = tmp_path_factory.mktemp("history") / "src"
    history = History(path=path, shas=make_embedded_history(path))
    extra = install(tmp_path_factory.mktemp("site"), {"workloads": WORKLOAD}, ENTRY)
    port = free_port()
    shape = Shape(tip=LABELS[0], poll_s=2.0, smtp_port=port, db_url=database)
    server = sink(directory / "mails", port=port, log=directory / "smtp.log")
    with pytest.MonkeyPatch.context() as patch:
        known = os.environ.get("PYTHONPATH")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(extra), known))))
        farm = EmbeddedFarm(directory, history, shape)
        try:
            server.start()
            farm.start()
            yield farm
        finally:
            farm.end()
            server.stop()
            end_processes_in(directory)


@pytest.fixture(scope="module")
def mail(farm: EmbeddedFarm) -> str:
    """The text of the mail, once nothing is left to do."""
    measured = "SELECT count(*) FROM bench_iteration WHERE is_primary AND value IS NOT NULL"
    farm.wait(lambda: farm.value(measured) >= 10, "both workloads of the first commit", PATIENCE_S)
    farm.history.publish(farm.source, LABELS[-1])
    sent = "SELECT sent_at FROM bench_report"
    farm.wait(lambda: farm.value(sent), "the mail", PATIENCE_S)
    waiting = "SELECT count(*) FROM bench_incident_series WHERE standing = 'waiting'"
    suspected = "SELECT count(*) FROM bench_judgement WHERE state = 'suspicion'"
    farm.wait(lambda: farm.value(waiting) + farm.value(suspected) == 0, "all alarms", PATIENCE_S)
    (path,) = (farm.directory / "mails").glob("*.eml")
    told = message_from_bytes(path.read_bytes(), policy=policy.default)
    return f"{told['Subject']}\n{told.get_body(('plain',)).get_content()}"


def test_one_search_finds_the_culprit_and_both_workloads_prove_it(farm, mail) -> None:
    (search,) = farm.rows("SELECT id, state FROM bench_search")
    assert search["state"] == "found"
    (shown,) = farm.get(f"searches/{search['id']}")["searches"]
    assert [step["new"]["label"] for step in shown["report"]["steps"]] == [CULPRIT]
    own, other = shown["incident"]
    assert {own["workload"], other["workload"]} == {"forwarding", OTHER}
    assert (own["standing"], other["standing"]) == ("found", "confirmed")
    assert other["low"] <= other["effect"] <= other["high"] < -0.1
    alarms = farm.rows("SELECT search_id FROM bench_judgement WHERE state = 'regression'")
    assert [alarm["search_id"] for alarm in alarms] == [search["id"]] * 2


def test_one_mail_shows_both(farm, mail) -> None:
    assert farm.value("SELECT count(*) FROM bench_report") == 1
    assert CULPRIT in mail.splitlines()[0]
    assert "this report" in mail
    rows = [line for line in mail.splitlines() if line.startswith("  embedded  ")]
    assert any(OTHER in row or "forwarding" in row for row in rows)
    assert any("changed, confirmed" in row for row in rows)


def test_the_second_workload_costs_less_than_a_second_search(farm, mail) -> None:
    (search,) = farm.rows("SELECT id FROM bench_search")
    (shown,) = farm.get(f"searches/{search['id']}")["searches"]
    own, other = shown["incident"]
    assert own["boots"] + other["boots"] <= MOST_TIMES * own["boots"], shown["incident"]


def test_every_page_answers(farm, mail) -> None:
    assert_every_page_answers(farm)
