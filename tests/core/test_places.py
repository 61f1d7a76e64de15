"""Where functions are: what a lab may tell, and the paths that git has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.profile.model import MOST_PLACES, path_in_git, tidy_packets, tidy_places

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def test_places_of_functions_that_were_executed_are_kept():
    told = {"f": "sys/netinet/ip_input.c:842", "g": "sys/a.c:1"}
    assert tidy_places(told, ["f", "h"]) == {"f": "sys/netinet/ip_input.c:842"}


@pytest.mark.parametrize(
    "place",
    ["", "a.c", ":1", "a.c:0", "a.c:-1", "a.c:x", "a\n.c:1", "\x1b[2J:1", "a.c:12345678", 7, None],
)
def test_what_is_no_place_is_left_out(place):
    assert tidy_places({"f": place}, ["f"]) == {}


def test_places_are_bounded():
    names = [f"f{number}" for number in range(MOST_PLACES + 9)]
    assert len(tidy_places(dict.fromkeys(names, "a.c:1"), names)) == MOST_PLACES
    assert tidy_places({"f": f"{'a' * 201}:1"}, ["f"]) == {}


@given(ANYTHING, st.lists(st.text()))
def test_whatever_a_lab_tells_is_taken_without_complaint(told, names):
    assert isinstance(tidy_places(told, names), dict)
    assert 0 <= tidy_packets(told) < 1 << 31


@pytest.mark.parametrize("told", [True, 0, -1, 1.5, "9", None, 1 << 31])
def test_what_is_no_number_of_packets_is_unknown(told):
    assert tidy_packets(told) == 0
    assert tidy_packets(256) == 256


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/usr/src/sys/netinet/ip_input.c", "sys/netinet/ip_input.c"),
        ("/usr/src/contrib/x/sys/a.c", "contrib/x/sys/a.c"),
        ("/home/me/src/sys/amd64/conf/../../kern/kern_intr.c", "sys/kern/kern_intr.c"),
        ("/usr/obj/usr/src/amd64.amd64/sys/BENCH/vnode_if.c",) * 2,
        ("/home/me/kernel/src/mbuf.c",) * 2,
        ("mbuf.c", "mbuf.c"),
    ],
)
def test_paths_are_those_of_git_where_the_source_tree_is_known(path, known):
    assert path_in_git(path) == known
