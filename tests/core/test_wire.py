"""What a lab job prints is read back as it was written, and nothing else is taken for it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import Metric, NoiseClass
from buildbot_bench.core.wire import (
    LINE_LENGTH,
    VERSION,
    Failed,
    FailureKind,
    Finished,
    Measured,
    Phase,
    Profiled,
    Started,
    format_event,
    parse_event,
    parse_events,
    pieces,
)

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
EVENTS = st.one_of(
    st.builds(
        Started,
        job=st.text(),
        testbed=st.text(),
        workload=st.text(),
        digest=st.text(),
        iterations=st.integers(),
        epoch=st.text(),
        facts=st.dictionaries(st.text(), st.text()),
        metrics=st.lists(
            st.builds(
                Metric,
                name=st.text(min_size=1, max_size=100),
                unit=st.text(min_size=1, max_size=100),
                higher_is_better=st.booleans(),
                noise=st.sampled_from(NoiseClass),
            ),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(Phase, text=st.text(), at_s=NUMBERS),
    st.builds(
        Measured,
        ordinal=st.integers(),
        at_s=NUMBERS,
        duration_s=NUMBERS,
        values=st.dictionaries(st.text(), NUMBERS),
        failure=st.none() | st.text(),
        log=st.text(),
        facts=st.dictionaries(st.text(), st.text()),
    ),
    st.builds(
        Profiled,
        at_s=NUMBERS,
        duration_s=NUMBERS,
        counter=st.text(),
        folded=st.text(),
        packets=st.integers(),
        places=st.dictionaries(st.text(), st.text()),
    ),
    st.builds(Failed, kind=st.sampled_from(FailureKind), reason=st.text(), log=st.text()),
    st.builds(Finished, iterations=st.integers()),
)


@given(EVENTS)
def test_every_event_is_one_line_of_ascii_and_comes_back_unchanged(event):
    line = format_event(event)
    assert line.isascii()
    assert line.isprintable()
    assert parse_event(line) == event


def test_an_iteration_without_facts_of_its_own_is_written_as_it_always_was():
    """A master of an earlier release knows no such field."""
    line = format_event(Measured(ordinal=0, at_s=0.0, duration_s=0.0))
    assert set(json.loads(line)) == {
        *("v", "event", "ordinal", "at_s", "duration_s", "values", "failure", "log"),
    }


def test_the_primary_unit_stays_first():
    values = {"packets/CPU-s": 3.0, "pps": 1.0, "a": 2.0}
    line = format_event(Measured(ordinal=0, at_s=0.0, duration_s=0.0, values=values))
    event = parse_event(line)
    assert isinstance(event, Measured)
    assert list(event.values) == list(values)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_other_line_is_an_infrastructure_error(line):
    with pytest.raises(InfraError, match="not an event of a lab job"):
        parse_event(line)


def test_another_version_is_named_with_what_to_do():
    line = format_event(Finished(iterations=5)).replace(f'"v": {VERSION}', '"v": 99')
    with pytest.raises(InfraError, match=r"speaks version 99.*install the same release"):
        parse_event(line)


@pytest.mark.parametrize(
    "fields",
    [
        {"event": "finished"},
        {"event": "finished", "iterations": 5, "surprise": 1},
        {"event": "failed", "kind": "bad luck", "reason": ""},
        {"event": "exploded"},
        {"event": []},
        {},
    ],
)
def test_an_event_with_the_wrong_fields_is_refused(fields):
    with pytest.raises(InfraError):
        parse_event(json.dumps({"v": VERSION, **fields}))


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20_000))
def test_a_line_of_any_length_arrives_whole_in_pieces_that_buildbot_does_not_cut(log: str) -> None:
    event = Measured(ordinal=0, at_s=1.0, duration_s=2.0, values={"pps": 3.0}, log=log)
    lines = [
        piece
        for line in (format_event(event), format_event(Finished(iterations=1)))
        for piece in pieces(line)
    ]
    assert max(map(len, lines)) <= LINE_LENGTH
    assert list(parse_events(lines)) == [event, Finished(iterations=1)]


OLD_CAPTURE = (
    '{"v": 1, "event": "profiled", "at_s": 1.0, "duration_s": 2.0, "counter": "c", "folded": "f 1"}'
)


def test_captures_of_earlier_releases_are_read_and_those_that_say_no_more_are_written_like_them():
    event = parse_event(OLD_CAPTURE)
    assert (event.packets, event.places) == (0, {})
    assert format_event(event) == OLD_CAPTURE


STARTED = Started(job="j", testbed="t", workload="w", digest="", iterations=1)
TOLD = {"name": "time", "unit": "s", "higher_is_better": False, "noise": "sampled"}


def test_a_master_of_an_earlier_release_sees_no_metrics_where_there_are_none():
    assert "metrics" not in json.loads(format_event(STARTED))


@pytest.mark.parametrize(
    "told",
    [
        {},
        {**TOLD, "noise": "loud"},
        {**TOLD, "unit": ""},
        {**TOLD, "unit": "x" * 101},
        {**TOLD, "name": 5},
        {**TOLD, "higher_is_better": "no"},
        {**TOLD, "more": 1},
        "s",
    ],
)
def test_a_metric_that_is_none_is_refused(told):
    event = {**json.loads(format_event(STARTED)), "metrics": [told]}
    with pytest.raises(InfraError):
        parse_event(json.dumps(event))
    sound = {**event, "metrics": [TOLD]}
    assert parse_event(json.dumps(sound)).metrics == (
        Metric(name="time", unit="s", higher_is_better=False),
    )
