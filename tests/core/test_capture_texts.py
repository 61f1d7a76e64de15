"""Captures as pmcstat and gprof write them: what is read again is the same capture."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.profile.formats import (
    format_gprof,
    format_pmc_graph,
    parse_folded,
    parse_pmc_graph,
)
from buildbot_bench.core.profile.model import Profile, Stack

NAMES = st.sampled_from(["ip_input", "igb_rxeof", "fork_exit", "a@b", "[4]", "ä"])
STACKS = st.builds(
    Stack,
    frames=st.lists(NAMES, min_size=1, max_size=6).map(tuple),
    samples=st.integers(1, 10**9),
)
PROFILES = st.lists(STACKS, min_size=1, max_size=20).map(
    lambda stacks: Profile(stacks=tuple(stacks), event="cpu_clk_unhalted.thread_p")
)


@given(PROFILES)
def test_pmcstats_text_holds_the_capture(profile):
    text = format_pmc_graph(profile)
    assert parse_pmc_graph(text.splitlines(), source="x").merged() == profile.merged()


@pytest.mark.parametrize("name", ["r320657.inet4", "n311215-D58513.simple_tx_on"])
def test_a_capture_of_the_archive_survives(data, name):
    with gzip.open(data / "pmc" / f"{name}.folded.gz", "rt") as file:
        profile = parse_folded(file, source=name)
    text = format_pmc_graph(profile)
    assert parse_pmc_graph(text.splitlines(), source="x").merged().stacks == profile.merged().stacks


def test_pmcstats_text_is_laid_out_as_pmcstat_does():
    profile = Profile(
        event="INST",
        stacks=(
            Stack(frames=("fork_exit", "ithread", "rx"), samples=6),
            Stack(frames=("softint", "rx"), samples=2),
            Stack(frames=("rx",), samples=1),
            Stack(frames=("idle",), samples=1),
        ),
    )
    assert format_pmc_graph(profile).splitlines() == [
        "@ INST [10 samples]",
        "",
        "80.00%  [8]      rx",
        " 75.00%  [6]      ithread",
        "  100.0%  [6]      fork_exit",
        " 25.00%  [2]      softint",
        "",
        "10.00%  [1]      rx",
        "",
        "10.00%  [1]      idle",
    ]


def test_the_call_graph_has_callers_above_and_called_below():
    profile = Profile(
        event="INST",
        stacks=(
            Stack(frames=("main", "input", "output"), samples=6),
            Stack(frames=("main", "input"), samples=3),
            Stack(frames=("main", "main"), samples=1),
        ),
    )
    text = format_gprof(profile)
    entries = [entry.splitlines() for entry in text.split("-" * 47 + "\n")]
    (main,) = [
        entry for entry in entries if "[1]     100.0          1          9 main [1]" in entry
    ]
    assert [
        line.split()[-2:]
        for line in main[main.index("[1]     100.0          1          9 main [1]") :]
    ] == [
        ["main", "[1]"],
        ["input", "[2]"],
        ["main", "[1]"],
    ]
    (inner,) = [
        entry for entry in entries if "[2]      90.0          3          6 input [2]" in entry
    ]
    assert inner[0].split() == ["3", "6", "main", "[1]"]
    assert inner[2].split() == ["6", "0", "output", "[3]"]


@given(PROFILES)
def test_the_call_graph_names_each_function_once_with_all_its_samples(profile):
    heads = [line for line in format_gprof(profile).splitlines() if line.startswith("[")]
    assert len(heads) == len({name for stack in profile.stacks for name in stack.frames})
    assert sum(int(line.split()[2]) for line in heads) == profile.samples


def test_a_capture_without_callers_is_spontaneous():
    text = format_gprof(Profile(stacks=(Stack(frames=("idle",), samples=2),)))
    assert "<spontaneous>" in text
    assert "an unknown event" in text
