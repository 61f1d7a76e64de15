"""Invariants of a farm after any test, by its tables and the lab's own files."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from buildbot_bench.demo.on_disk import FarmPlace, lab_states
from buildbot_bench.demo.verifying import verify
from tests.asking import ASKED
from tests.contracts.pages.named import RESOURCES, places, programs, targets
from tests.e2e.replay_farm import DEADLINE_S, ReplayFarm

CANCELLED = 6  # as buildbot.process.results has it


def steps_of(report: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """The steps of a report: between which two revisions, and whether down or up."""
    return [
        (step["old"]["label"], step["new"]["label"], 1 if step["effect"] > 0 else -1)
        for step in report["steps"]
    ]


def wait_until_idle(farm: ReplayFarm) -> None:
    """Wait until nothing is asked of the lab."""
    open_probes = "SELECT count(*) FROM bench_probe WHERE state IN ('new', 'issued')"
    farm.wait(lambda: farm.value(open_probes) == 0, "the last probe")


def assert_each_iteration_is_there_once(farm: ReplayFarm) -> None:
    """What the lab measured is what the tables have, nothing was lost and nothing done twice."""
    wait_until_idle(farm)
    measured = Counter(
        (job, event["ordinal"], event["values"].get("pps"))
        for job in farm.job_names()
        for event in farm.events(job)
        if event["event"] == "measured"
    )
    recorded = Counter(
        (row["token"], row["ordinal"], row["value"])
        for row in farm.rows(
            "SELECT token, ordinal, value FROM bench_iteration"
            " JOIN bench_probe ON bench_probe.id = probe_id"
        )
    )
    assert recorded == measured
    assert set(measured.values()) == {1}
    assert farm.boots() == sum(measured.values())
    assert len({(job, ordinal) for job, ordinal, _ in measured}) == sum(measured.values())


def assert_each_probe_got_what_it_asked_for(farm: ReplayFarm) -> None:
    """Every probe is one lab job with as many iterations as were asked for, at the first try."""
    for probe in farm.rows("SELECT * FROM bench_probe"):
        values = farm.value(
            "SELECT count(value) FROM bench_iteration WHERE probe_id = :id", id=probe["id"]
        )
        assert (probe["state"], values) == ("done", probe["iterations"]), probe
        assert (probe["attempt"], probe["failure"], probe["failure_kind"]) == (0, None, None), probe


def assert_nothing_was_cancelled(farm: ReplayFarm) -> None:
    """No request of Buildbot's ended for good because a process ended."""
    ended = "SELECT * FROM buildrequests WHERE results = :cancelled"
    assert farm.rows(ended, cancelled=CANCELLED) == []


def place_of(farm: ReplayFarm) -> FarmPlace:
    """Where the commands that operate a farm find it."""
    return FarmPlace(
        directory=farm.directory,
        master=farm.directory / "master",
        db=farm.database.url,
        workflow=farm.local.plan.workflow,
        states=lab_states(farm.directory),
    )


def assert_whole(farm: ReplayFarm, *, idle: bool = True) -> None:
    """Nothing contradicts itself, as `bench-farm verify` sees it.

    An idle farm may still have to collect what ended last.
    """
    place = place_of(farm)
    deadline = time.monotonic() + DEADLINE_S
    while (verdict := verify(place, idle=idle)).violations and time.monotonic() < deadline:
        time.sleep(1)
    assert verdict.violations == (), verdict.as_text()
    assert verdict.checked["boots"] > 0
    assert verdict.checked["lab jobs"] > 0


def assert_every_page_answers(farm: ReplayFarm) -> None:
    """What Buildbot says that there is of us is named, and all of it is there to be read."""
    spec = farm.get("../application.spec")["specs"]
    assert {one["path"] for one in spec if one["path"].startswith("bench/")} == set(RESOURCES)
    all_series = [(series["testbed"], series["workload"]) for series in farm.get("series")["views"]]
    measured = farm.value("SELECT max(position) FROM bench_image WHERE state = 'built'")
    there = places(farm.database, all_series, positions=[measured])
    pages = [page for pattern in RESOURCES for page in targets(pattern, there)]
    plain = {"Accept-Encoding": "identity"}
    with httpx.Client(base_url=farm.url, **ASKED, headers=plain) as client:
        answers = {
            page: client.get(page) for page in [*pages, *programs(there), *_buildbots(client)]
        }
        assert {page: one.status_code for page, one in answers.items() if one.is_error} == {}
        directory = str(farm.directory)
        assert [page for page, one in answers.items() if directory in one.text] == []
        refused = client.get("/api/v2/bench/searches?limit=-1")
        assert (refused.status_code, "limit=-1" in refused.text) == (400, True)
        for nowhere in ("searches/99999999999", "testbeds/%ED%A0%80"):
            assert client.get(f"/api/v2/bench/{nowhere}").status_code == 404


def _buildbots(client: httpx.Client) -> Iterator[str]:
    """What Buildbot itself tells everybody: of masters and workers, of builds and of their logs."""
    api = "/api/v2"
    for name in ("masters", "workers", "builders", "changesources", "schedulers", "buildrequests"):
        yield f"{api}/{name}"
    yield from ("/", "/config", f"{api}/builds?property=*&limit=20")
    for build in client.get(f"{api}/builds?limit=20").json()["builds"]:
        yield f"{api}/builds/{build['buildid']}/properties"
        steps = client.get(f"{api}/builds/{build['buildid']}/steps").json()["steps"]
        for step in steps:
            for log in client.get(f"{api}/steps/{step['stepid']}/logs").json()["logs"]:
                number = f"{api}/logs/{log['logid']}"
                yield from (f"{number}/contents", f"{number}/raw", f"{number}/raw_inline")
