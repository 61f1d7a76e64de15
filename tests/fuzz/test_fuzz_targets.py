"""Each parser refuses what it cannot read by an error of core.errors, as in `make fuzz`."""

import pytest
from hypothesis import given, settings

from buildbot_bench.core.errors import UsageError
from tests.fuzz import target as targets_module
from tests.fuzz.inputs import inputs
from tests.fuzz.target import FuzzTarget, TooSlow, put
from tests.fuzz.targets import TARGETS

EXAMPLES = 25  # `make fuzz` tries as many as a minute has room for
BY_NAME = {target.name: target for target in TARGETS}


@pytest.mark.parametrize("name", BY_NAME)
def test_seeds_and_kept_inputs_are_read_or_refused(name: str) -> None:
    for data in BY_NAME[name].corpus():
        put(BY_NAME[name], data)


@pytest.mark.parametrize("name", BY_NAME)
def test_damaged_inputs_are_read_or_refused(name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(inputs(BY_NAME[name]))
    def tried(data: bytes) -> None:
        put(BY_NAME[name], data)

    tried()


def test_each_name_is_given_once_and_each_parser_has_a_seed() -> None:
    assert len(BY_NAME) == len(TARGETS)
    assert all(target.seeds for target in TARGETS)


def test_another_exception_is_no_refusal() -> None:
    broken = FuzzTarget(name="broken", parse=lambda data: data[9], seeds=(b"a",))
    with pytest.raises(IndexError):
        put(broken, b"a")


def test_an_error_of_core_is_a_refusal() -> None:
    def parse(data: bytes) -> None:
        raise UsageError(f"{data!r} is nothing")

    put(FuzzTarget(name="refuses", parse=parse, seeds=(b"a",)), b"a")


def test_a_parser_that_takes_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets_module, "MOST_S", 0.0)
    with pytest.raises(TooSlow):
        put(FuzzTarget(name="slow", parse=lambda _: sum(range(100_000)), seeds=(b"a",)), b"a")
