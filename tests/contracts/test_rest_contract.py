"""What bench-bisect relies on in a farm's REST face; real and fake farms are held to it alike."""

import json
import sys
from pathlib import Path

import httpx
import pytest

from tests.contracts.subject import FINAL, SEARCHES, WITH_LOGINS, FarmUnderTest, Json, post
from tests.running import ran

INVALID_PARAMS = -32602
PROBE_STATES = {"new", "issued", "done", "lost", "cancelled"}


def question(farm: FarmUnderTest, **changes: object) -> Json:
    return {"old": farm.old, "new": farm.new, "testbed": farm.testbed, **changes}


def start(farm: FarmUnderTest, client: httpx.Client, **changes: object) -> int:
    answer = post(client, SEARCHES, "start", question(farm, **changes))
    assert answer.status_code == 200, answer.text
    search_id = answer.json()["result"]["searchid"]
    assert isinstance(search_id, int)
    return search_id


def start_a_long_one(farm: FarmUnderTest, client: httpx.Client) -> int:
    """Start a search that what is known already does not answer at once."""
    old, new = farm.unknown
    return start(farm, client, old=old, new=new)


def assert_forecast(farm: FarmUnderTest, forecast: Json) -> None:
    old, new = forecast["old"], forecast["new"]
    for end in (old, new):
        assert {key: type(end[key]) for key in ("label", "sha", "position", "subject")} == {
            "label": str,
            "sha": str,
            "position": int,
            "subject": str,
        }
        assert len(end["sha"]) == 40
    assert forecast["commits"] == new["position"] - old["position"] > 0
    assert (forecast["testbed"], forecast["workload"]) == (farm.testbed, farm.workload)
    for cost in ("images", "iterations", "hours"):
        assert 0 <= forecast[cost]["median"] <= forecast[cost]["p90"]
    assert forecast["known_iterations"] >= 0


def test_forecast_says_what_a_search_costs_and_starts_none(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        before = client.get(SEARCHES).json()["searches"]
        answer = post(client, SEARCHES, "forecast", question(farm, workload=farm.workload))
        assert_forecast(farm, answer.json()["result"])
        assert len(client.get(SEARCHES).json()["searches"]) == len(before)


def test_testbed_and_workload_may_be_left_to_the_farm(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, "forecast", {"old": farm.old, "new": farm.new})
    assert answer.json()["result"]["testbed"]
    assert answer.json()["result"]["workload"]


@pytest.mark.parametrize("method", ["forecast", "start"])
@pytest.mark.parametrize(
    "changes",
    [
        {"old": "nonsense", "new": "r1"},
        {"old": "--upload-pack=touch x"},
        {"old": "r1; reboot"},
        {"old": 311848},
        {"new": ""},
        {"new": None},
        {"testbed": "no-such-testbed"},
        {"workload": "no-such-workload"},
        {"testbed": ["replay"]},
    ],
)
def test_wrong_question_is_refused_in_one_line(
    farm: FarmUnderTest, method: str, changes: Json
) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, method, question(farm, **changes))
    assert 400 <= answer.status_code < 500
    error = answer.json()["error"]
    assert error["code"] == INVALID_PARAMS
    assert error["message"]
    assert "\n" not in error["message"]


@pytest.mark.parametrize("effect", [0, 1.5, -0.02, "2%", True])
def test_smallest_effect_is_a_share(farm: FarmUnderTest, effect: object) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, "start", question(farm, min_effect=effect))
    assert answer.json()["error"]["code"] == INVALID_PARAMS


def test_missing_end_is_named(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, "forecast", {"old": farm.old})
    assert answer.json()["error"]["code"] == INVALID_PARAMS


def test_unknown_revision_is_named_in_the_message(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, "forecast", question(farm, old="nonsense"))
    assert "nonsense" in answer.json()["error"]["message"]


def test_ends_in_the_wrong_order_are_refused(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, "forecast", question(farm, old=farm.new, new=farm.old))
    assert answer.json()["error"]["code"] == INVALID_PARAMS


def test_search_runs_to_its_report(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        search_id = start(farm, client)
        first = farm.wait(
            client, search_id, lambda search: search["forecast"] or search["state"] in FINAL
        )
        assert first["created_at"] > 0
        # A search that ends before its forecast is worked out has none.
        if first["forecast"]:
            assert_forecast(farm, first["forecast"])
        last = farm.wait(client, search_id, lambda search: search["state"] in FINAL)
        probes = client.get(f"{SEARCHES}/{search_id}/probes").json()["probes"]
    assert last["state"] == "found"
    assert last["ended_at"] >= last["created_at"]
    assert last["text"].strip()
    assert last["report"]["kind"] == "culprit"
    assert last["iterations_done"] > 0
    for suspect in last["suspects"]:
        assert 0 <= suspect["probability"] <= 1
        assert suspect["effect"] >= -1
    assert_probes(last, probes)


def assert_probes(search: Json, probes: list[Json]) -> None:
    first, last = search["old"]["position"], search["new"]["position"]
    assert [p["serial"] for p in probes] == list(range(1, len(probes) + 1))
    assert len({p["probeid"] for p in probes}) == len(probes)
    for probe in probes:
        assert probe["state"] in PROBE_STATES
        assert first <= probe["position"] <= last
        assert probe["image"] >= 0
        assert all(isinstance(value, (int, float)) for value in probe["values"])
        if probe["state"] == "done":
            assert probe["at"] > 0
            assert probe["values"] or probe["failure"]
    assert any(p["values"] and p["unit"] for p in probes)


@pytest.mark.parametrize(
    ("testbed", "complaint"),
    [("{}", "{} is not in quarantine"), ("no-such-testbed", "there is no testbed")],
)
def test_a_testbed_that_is_not_held_cannot_be_released(
    farm: FarmUnderTest, testbed: str, complaint: str
) -> None:
    path = f"/api/v2/bench/testbeds/{testbed.format(farm.testbed)}"
    with farm.member() as client:
        answer = post(client, path, "release", {"false_alarm": False})
    assert answer.json()["error"]["code"] == INVALID_PARAMS
    assert complaint.format(farm.testbed) in answer.json()["error"]["message"]


def test_cancelled_search_ends_without_an_answer(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        search_id = start_a_long_one(farm, client)
        answer = post(client, f"{SEARCHES}/{search_id}", "cancel", {})
        assert answer.json()["result"] == {"state": "cancelling"}
        last = farm.wait(client, search_id, lambda search: search["state"] in FINAL)
        assert last["state"] == "cancelled"
        again = post(client, f"{SEARCHES}/{search_id}", "cancel", {})
        assert again.json()["result"] == {"state": "cancelled"}


@pytest.fixture(scope="module")
def cancelled(farm: FarmUnderTest) -> int:
    """A search that was given up, and has a report to be marked."""
    with farm.member() as client:
        search_id = start(farm, client)
        post(client, f"{SEARCHES}/{search_id}", "cancel", {})
        farm.wait(client, search_id, lambda search: search["state"] in FINAL)
    return search_id


def test_report_is_marked_and_the_marks_stay_beside_each_other(
    farm: FarmUnderTest, cancelled: int
) -> None:
    with farm.member() as client:
        path = f"{SEARCHES}/{cancelled}"
        for params in ({"mark": "noise"}, {"mark": "fixed", "revision": farm.new}):
            kept = post(client, path, "mark", params).json()["result"]
            assert kept["kind"] == params["mark"]
            assert kept["author"]
        marks = client.get(path).json()["searches"][0]["marks"]
    assert [(mark["kind"], mark["fixed_by"]) for mark in marks] == [
        ("noise", ""),
        ("fixed", farm.new),
    ]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"mark": 5},
        {"mark": "nonsense"},
        {"mark": "fixed"},
        {"mark": "fixed", "revision": "nonsense"},
        {"mark": "noise", "revision": "r311849"},
    ],
)
def test_mark_that_makes_no_sense_is_refused(
    farm: FarmUnderTest, cancelled: int, params: Json
) -> None:
    with farm.member() as client:
        answer = post(client, f"{SEARCHES}/{cancelled}", "mark", params)
    assert answer.json()["error"]["code"] == INVALID_PARAMS


def test_search_that_runs_has_no_report_to_mark(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        search_id = start_a_long_one(farm, client)
        answer = post(client, f"{SEARCHES}/{search_id}", "mark", {"mark": "noise"})
        post(client, f"{SEARCHES}/{search_id}", "cancel", {})
    assert answer.json()["error"]["code"] == INVALID_PARAMS


def test_list_gives_the_newest_first(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        started = [start(farm, client), start(farm, client)]
        listed = [row["searchid"] for row in client.get(SEARCHES).json()["searches"]]
        newest = client.get(SEARCHES, params={"limit": 1}).json()["searches"]
        for search_id in started:
            post(client, f"{SEARCHES}/{search_id}", "cancel", {})
    assert listed == sorted(listed, reverse=True)
    assert [row["searchid"] for row in newest] == [max(started)]


@pytest.mark.parametrize("path", ["/999999999", "/999999999/probes"])
def test_unknown_search_is_not_found(farm: FarmUnderTest, path: str) -> None:
    with farm.member() as client:
        answer = client.get(SEARCHES + path)
    assert answer.status_code == 404
    assert not answer.json()["error"].startswith("Invalid path")


def test_unknown_search_cannot_be_cancelled(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        answer = post(client, f"{SEARCHES}/999999999", "cancel", {})
    assert answer.status_code == 404 or answer.json()["error"]["code"] == INVALID_PARAMS


def test_unknown_method_is_told_from_a_wrong_question(farm: FarmUnderTest) -> None:
    with farm.member() as client:
        answer = post(client, SEARCHES, "frobnicate", {})
    assert answer.status_code == 501


def test_reading_needs_no_login(farm: FarmUnderTest) -> None:
    with farm.stranger() as client:
        assert client.get(SEARCHES).status_code == 200


@pytest.mark.parametrize("farm", WITH_LOGINS, indirect=True, scope="module")
@pytest.mark.parametrize("basic", [False, True])
def test_acting_needs_the_cookie_of_a_login(farm: FarmUnderTest, basic: bool) -> None:
    if farm.user is None:
        pytest.skip("this farm has no logins")
    with farm.stranger() as client:
        client.auth = httpx.BasicAuth(farm.user, farm.password) if basic else None
        answers = [
            post(client, SEARCHES, "start", question(farm)),
            post(client, f"{SEARCHES}/1", "cancel", {}),
            post(client, f"{SEARCHES}/1", "mark", {"mark": "noise"}),
        ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]


@pytest.mark.parametrize("farm", WITH_LOGINS, indirect=True, scope="module")
def test_wrong_password_is_401(farm: FarmUnderTest) -> None:
    if farm.user is None:
        pytest.skip("this farm has no logins")
    with farm.stranger() as client:
        answer = client.get("/auth/login", auth=(farm.user, farm.password + "x"))
    assert answer.status_code == 401


def test_bench_bisect_finds_the_culprit(farm: FarmUnderTest, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(farm.password + "\n")
    login = [] if farm.user is None else ["--user", farm.user, "--password-file", str(password)]
    command = [sys.executable, "-m", "buildbot_bench.cli.bisect", farm.old, farm.new, "--json"]
    options = ["--farm", farm.url, "--testbed", farm.testbed, "--poll", "0.1s", *login]
    done = ran([*command, *options], timeout=farm.deadline_s)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "culprit"
    assert "forecast" in done.stderr
    with farm.stranger() as client:
        (search,) = client.get(SEARCHES, params={"limit": 1}).json()["searches"]
        probes = client.get(f"{SEARCHES}/{search['searchid']}/probes").json()["probes"]
    # A farm that measured the range before asks for nothing again.
    assert ("  probe 1  " in done.stderr) is bool(probes)
