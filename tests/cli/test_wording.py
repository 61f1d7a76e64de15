"""The words: numbers as a person says them, never surer than they are."""

from dataclasses import replace

import pytest

from buildbot_bench.api.answers import ForecastShown, Nouns, ProbeShown, SearchShown, SearchState
from buildbot_bench.cli.console import exit_status
from buildbot_bench.cli.farm_jobs import understood
from buildbot_bench.cli.live import range_bar
from buildbot_bench.cli.wording import remaining_text, result_text, what_is_searched
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import hours_text, sureness
from buildbot_bench.core.json_model import from_json
from tests.fakes.rehearsal import STORY, FakeSearch, forecast

QUESTION = {"old": "r311848", "new": "r313448"}


def rehearsed(done: int) -> tuple[SearchShown, list[ProbeShown]]:
    fake = FakeSearch(
        search_id=7,
        question=QUESTION,
        story=STORY,
        outcome="found",
        text=None,
        report=None,
        hold_after=None,
        done=done,
    )
    return from_json(SearchShown, fake.as_json()), [
        from_json(ProbeShown, raw) for raw in fake.probes_as_json()
    ]


def test_a_breakage_is_told_as_what_its_testbed_does() -> None:
    search, _ = rehearsed(0)
    broken = replace(search, kind="boot")
    assert what_is_searched(broken).startswith("what does not boot ")
    assert what_is_searched(replace(broken, nouns=Nouns(iteration="run"))).startswith(
        "what does not run "
    )


def probe(**changes: object) -> ProbeShown:
    raw = {"probeid": 1, "serial": 1, "label": "r1", "position": 1, "image": 0, "state": "done"}
    return from_json(ProbeShown, {**raw, "unit": "pps", **changes})


@pytest.mark.parametrize(
    ("share", "text"), [(0.99999, "99 %"), (0.93, "93 %"), (0.29, "29 %"), (1.0, "99 %")]
)
def test_probability_is_rounded_down(share: float, text: str) -> None:
    assert sureness(share) == text


@pytest.mark.parametrize(
    ("hours", "text"),
    [(0.01, "36 s"), (0.5, "30 min"), (1.5, "1.5 h"), (47.9, "47.9 h"), (72, "3.0 days")],
)
def test_time_is_said_in_the_unit_that_fits(hours: float, text: str) -> None:
    assert hours_text(hours) == text


def test_result_is_the_value_or_the_reason_for_none() -> None:
    assert result_text(probe(values=[540123.0])) == "540,123 pps"
    assert result_text(probe(values=[1.0, 9000.0, 8000.0])) == "8,000 pps (median of 3)"
    assert result_text(probe(values=[0.1234567])) == "0.1235 pps"
    assert result_text(probe(failure="does not compile")) == "does not compile"
    assert result_text(probe(state="lost")) == "lost"


def test_remaining_cost_counts_down_and_then_stops_promising() -> None:
    search, _ = rehearsed(done=4)
    assert remaining_text(search).endswith("about 36 iterations and 81 min to go")
    assert "longer than most" in remaining_text(with_iterations(45))
    assert "longer than 9 of 10 searches" in remaining_text(with_iterations(51))


def with_iterations(done: int) -> SearchShown:
    search, _ = rehearsed(done=4)
    raw = {
        "searchid": 7,
        "state": "running",
        "created_at": 0,
        "iterations_done": done,
        **{key: forecast(QUESTION)[key] for key in ("old", "new", "commits")},
    }
    place = {"testbed": search.testbed, "workload": search.workload}
    return from_json(SearchShown, {**raw, **place, "forecast": forecast(QUESTION)})


def test_range_bar_shows_what_was_measured_asked_failed_and_suspected() -> None:
    assert range_bar(*rehearsed(done=1), cells=9) == "●───────○"
    assert range_bar(*rehearsed(done=2), cells=9) == "████○████"
    assert range_bar(*rehearsed(done=4), cells=9) == "○████───●"
    assert range_bar(*rehearsed(done=5), cells=9) == "○─✗─●───●"


def test_every_final_state_has_a_status_and_no_other_has() -> None:
    final = set(SearchState) - {SearchState.RUNNING, SearchState.CANCELLING}
    assert {state: int(exit_status(state)) for state in final} == {
        SearchState.FOUND: 0,
        SearchState.SLOPE: 0,
        SearchState.NOT_REPRODUCED: 1,
        SearchState.INCONCLUSIVE: 3,
        SearchState.CANCELLED: 3,
        SearchState.FAILED: 4,
    }
    with pytest.raises(KeyError):
        exit_status(SearchState.RUNNING)


@pytest.mark.parametrize(
    "change", [{"hours": None}, {"images": {"median": float("nan"), "p90": 1}}, {"old": "r1"}]
)
def test_answer_that_makes_no_sense_is_an_infrastructure_error(change: dict[str, object]) -> None:
    with pytest.raises(InfraError, match="answer about a forecast is not understood"):
        understood(ForecastShown, {**forecast(QUESTION), **change}, "forecast")
