"""One commit that slows two workloads is searched once, proved on both, and mailed once."""

import os
from collections.abc import Iterator

import pytest

from buildbot_bench.demo.generated_history import CULPRIT, LABELS, make_embedded_history
from tests.e2e.embedded import embed
from tests.e2e.farms import module_farms
from tests.e2e.inbox import Inbox, plain
from tests.e2e.replay_farm import History, ReplayFarm, Shape
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


@pytest.fixture(scope="module")
def farm(inbox: Inbox, tmp_path_factory) -> Iterator[ReplayFarm]:
    """The farm of `make demo` with a second workload."""
    path = tmp_path_factory.mktemp("history") / "src"
    history = History(path=path, shas=make_embedded_history(path))
    extra = install(tmp_path_factory.mktemp("site"), {"workloads": WORKLOAD}, ENTRY)

    def prepare(farm: ReplayFarm) -> None:
        both = ("workload: [forwarding]", f"workload: [forwarding, {OTHER}]")
        embed(farm, both, smtp_port=inbox.port)

    with pytest.MonkeyPatch.context() as patch:
        known = os.environ.get("PYTHONPATH")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(extra), known))))
        with module_farms(tmp_path_factory) as farms:
            yield farms(Shape(tip=LABELS[0], poll_s=2.0), history, prepare)


@pytest.fixture(scope="module")
def mail(farm: ReplayFarm, inbox: Inbox) -> str:
    """The text of the mail, once nothing is left to do."""
    measured = "SELECT count(*) FROM bench_iteration WHERE is_primary AND value IS NOT NULL"
    farm.wait(lambda: farm.value(measured) >= 10, "both workloads of the first commit", PATIENCE_S)
    farm.history.publish(farm.source, LABELS[-1])
    sent = "SELECT sent_at FROM bench_report"
    farm.wait(lambda: farm.value(sent), "the mail", PATIENCE_S)
    waiting = "SELECT count(*) FROM bench_incident_series WHERE standing = 'waiting'"
    suspected = "SELECT count(*) FROM bench_judgement WHERE state = 'suspicion'"
    farm.wait(lambda: farm.value(waiting) + farm.value(suspected) == 0, "all alarms", PATIENCE_S)
    told = inbox.only()
    return f"{told['Subject']}\n{plain(told)}"


def test_one_search_finds_the_culprit_and_both_workloads_prove_it(farm, mail) -> None:
    (search,) = farm.rows("SELECT id, state FROM bench_search")
    assert search["state"] == "found"
    (shown,) = farm.get(f"searches/{search['id']}")["searches"]
    assert [step["new"]["label"] for step in shown["report"]["steps"]] == [CULPRIT]
    own, other = shown["incident"]
    assert {own["workload"], other["workload"]} == {"forwarding", OTHER}
    assert (own["standing"], other["standing"]) == ("found", "confirmed")
    assert other["low"] <= other["effect"] <= other["high"] < -0.1
    # The lab may have come to the commits in between, and the culprit's own alarm joins as well.
    alarms = farm.rows("SELECT * FROM bench_judgement WHERE state = 'regression'")
    assert {alarm["search_id"] for alarm in alarms} == {search["id"]}
    assert {alarm["workload"] for alarm in alarms} == {"forwarding", OTHER}


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
