"""Captures as pmcstat writes them and folded stacks: read exactly, or refused with the line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.profile.formats import format_folded, parse_folded, parse_pmc_graph
from buildbot_bench.core.profile.model import Profile, Stack
from tests.core.profiles import CAPTURES, MISSED, recorded_text

GRAPH = """\
@ CYCLES [10 samples]

60.00%  [6]        lock_delay @ /boot/kernel/kernel
 83.33%  [5]         _mtx_lock_spin_cookie
  100.0%  [5]          pmclog_reserve @ /boot/kernel/hwpmc.ko
 16.67%  [1]         __mtx_lock_sleep

40.00%  [4]        Xtimerint @ /boot/kernel/kernel

@ CYCLES [1 samples]

100.0%  [1]        Xtimerint @ /boot/kernel/kernel
"""


def parse(text):
    return parse_pmc_graph(text.splitlines(), source="x.pmc.graph")


def test_callers_stand_before_what_they_called_and_each_cpu_on_its_own():
    assert format_folded(parse(GRAPH)) == (
        "pmclog_reserve;_mtx_lock_spin_cookie;lock_delay 5\n"
        "__mtx_lock_sleep;lock_delay 1\n"
        "Xtimerint 4\n"
        "Xtimerint 1\n"
    )


@pytest.mark.parametrize("name", CAPTURES)
def test_recorded_captures_fold_as_the_archive_folded_them(data, name):
    profile = parse(recorded_text(data, f"{name}.pmc.graph"))
    assert format_folded(profile) == recorded_text(data, f"{name}.folded")


@pytest.mark.parametrize("name", CAPTURES)
def test_folded_stacks_are_read_back_as_they_were(data, name):
    text = recorded_text(data, f"{name}.folded")
    assert format_folded(parse_folded(text.splitlines(), source=name)) == text


def test_the_event_is_known():
    assert parse(GRAPH).event == "CYCLES"


def test_trailer_of_pmcstat_is_no_stack():
    trailer = "CONVERSION STATISTICS:\n #exec/elf  3\n #samples/total  11\n"
    assert parse(GRAPH + "\n" + trailer) == parse(GRAPH)


def test_a_name_that_would_part_a_folded_stack_is_made_one_word():
    graph = "@ E [1 samples]\n\n100.0%  [1]        operator new(int; x) @ /usr/bin/c++ filt\n"
    assert format_folded(parse(graph)) == "operator_new(int:_x) 1\n"


@pytest.mark.parametrize(
    ("broken", "line", "said"),
    [
        ("40.00%  [4]        Xtimerint\n", 1, "before the first section"),
        (GRAPH.replace("   __mtx_lock_sleep", ""), 6, "no line of pmcstat"),
        (GRAPH.replace("  100.0%  [5]", "     100.0%  [5]"), 5, "indented by 5"),
        (GRAPH.replace("@ CYCLES [1 s", "@ MISSES [1 s"), 10, "counts 'MISSES' after 'CYCLES'"),
        (GRAPH.replace("[4]", "[400]"), 1, "announces 10 samples, of which 406 follow"),
        (GRAPH.replace("[6]", f"[{'6' * 5000}]"), 3, "no line of pmcstat"),
        ("\x00\x1b[2J\n", 1, "no line of pmcstat"),
    ],
)
def test_what_pmcstat_does_not_write_is_refused_with_its_line(broken, line, said):
    with pytest.raises(UsageError) as refused:
        parse(broken)
    assert refused.value.message.startswith(f"x.pmc.graph:{line}: ")
    assert said in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("lines", [6, 7])
def test_a_file_cut_between_two_blocks_is_noticed(lines):
    with pytest.raises(UsageError, match="announces 10 samples, of which 6 follow"):
        parse("\n".join(GRAPH.splitlines()[:lines]))


def test_a_recorded_file_cut_in_the_middle_is_refused(data):
    text = recorded_text(data, f"{MISSED[0]}.pmc.graph")
    with pytest.raises(UsageError):
        parse(text[: len(text) // 2])


def test_a_file_without_a_section_is_no_capture():
    with pytest.raises(UsageError, match="holds no section"):
        parse("\n\n")


def test_a_graph_deeper_than_any_capture_is_refused():
    chain = "".join(f"{' ' * depth}100.0% [1] f\n" for depth in range(600))
    with pytest.raises(UsageError, match="indented by 513"):
        parse("@ E [1 samples]\n" + chain)


@pytest.mark.parametrize(
    "line", ["a;b", "a;;b 3", " 3", "a b 3", "a -3", "a 3 4", "", "a ٣", f"a {'9' * 5000}"]
)
def test_what_is_no_folded_stack_is_refused_with_its_line(line):
    with pytest.raises(UsageError, match=r"^x\.folded:2: "):
        parse_folded(["main 1", line], source="x.folded")


def test_no_folded_stack_at_all_is_refused():
    with pytest.raises(UsageError, match="holds no stack"):
        parse_folded([], source="x.folded")


names = st.text(min_size=1).filter(lambda text: text.strip())
pieces = st.sampled_from(
    ["@ E [1 samples]", "100.0%  [1]  f", " 100.0%  [1]  g @ /k", "%", "[", " ", "9" * 20, "\n"]
)


@given(st.lists(pieces | st.text(max_size=8)).map("".join))
def test_any_text_is_read_or_refused_as_a_graph(text):
    try:
        profile = parse(text)
    except UsageError:
        return
    assert all(stack.frames and all(stack.frames) for stack in profile.stacks)


@given(st.lists(st.text(max_size=20) | st.just("a;b 3")))
def test_any_text_is_read_or_refused_as_folded_stacks(lines):
    try:
        profile = parse_folded(lines, source="x")
    except UsageError:
        return
    assert len(profile.stacks) == len(lines)


@given(st.lists(st.tuples(st.lists(names, min_size=1, max_size=20), st.integers(0, 10**14))))
def test_any_names_survive_pmcstat_and_folding(stacks):
    """Whatever a function is called, what is folded can be read back."""
    graph = f"@ E [{sum(samples for _, samples in stacks)} samples]\n"
    for frames, samples in stacks:
        for depth, name in enumerate(frames):
            one_line = "_".join(name.split())
            graph += f"{' ' * depth}100.0%  [{samples}]  {one_line}\n"
    profile = parse_pmc_graph(graph.split("\n"), source="x")
    assert [len(stack.frames) for stack in profile.stacks] == [len(one) for one, _ in stacks]
    if stacks:
        again = parse_folded(format_folded(profile).split("\n")[:-1], source="x")
        assert again == Profile(
            stacks=tuple(
                Stack(frames=stack.frames, samples=stack.samples) for stack in profile.stacks
            )
        )
