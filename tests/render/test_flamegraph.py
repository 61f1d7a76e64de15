"""Flame graphs: what is drawn, how a difference shows, and that names do no harm."""

from dataclasses import dataclass
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.render.flamegraph import flame_difference, flame_graph
from tests.core.profiles import CAPTURES, MISSED, SIMPLE_TX, folded, recorded

SVG = "{http://www.w3.org/2000/svg}"

OLD = folded(
    "fork_exit;rx_task;ether_input;ip_forward;ring;drain;encap 400000",
    "fork_exit;rx_task;ether_input;ip_forward;lookup 100000",
    "fork_exit;rx_task;refill 100000",
    "fork_exit;sched_ule_idletd;cpu_idle 200000",
)
NEW = folded(
    "fork_exit;rx_task;ether_input;ip_forward;simple;encap 100000",
    "fork_exit;rx_task;ether_input;ip_forward;lookup 100000",
    "fork_exit;rx_task;refill 100200",
    "fork_exit;sched_ule_idletd;cpu_idle 499800",
)


@dataclass
class Box:
    name: str
    about: str
    tone: str
    x: float
    y: float
    width: float
    label: str


def boxes(svg):
    found = []
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        if group.get("class") == "box":
            title, rect, label = group
            name, about = title.text.split("\n")
            place = [float(rect.get(key)) for key in ("x", "y", "width")]
            found.append(Box(name, about, rect.get("class"), *place, label.text or ""))
    return found


def words(svg):
    return " ".join(text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text"))


def difference(old, new):
    return flame_difference(old, new, title="t", old_label="old", new_label="new")


def by_name(svg):
    return {box.name: box for box in boxes(svg)}


def test_flame_graph_is_as_agreed_byte_for_byte(golden):
    golden("flamegraph/one.svg", flame_graph(OLD, title="forwarding on apu2"))


def test_difference_is_as_agreed_byte_for_byte(golden):
    svg = flame_difference(OLD, NEW, title="simple", old_label="off", new_label="on")
    golden("flamegraph/difference.svg", svg)


def test_mostly_idle_capture_says_so_byte_for_byte(golden):
    idle = folded("sched_idletd 94", "ip_input 6")
    golden("flamegraph/mostly-idle.svg", flame_graph(idle, title="r311849"))


def test_idle_stacks_are_not_drawn_and_the_picture_tells_how_many_there_were():
    svg = flame_graph(OLD, title="t")
    assert not {"sched_ule_idletd", "cpu_idle"} & by_name(svg).keys()
    assert "25.0% of 800,000 samples, which are idle" in words(svg)


def test_box_is_as_wide_as_its_share_of_the_busy_cycles():
    drawn = by_name(flame_graph(OLD, title="t"))
    whole = drawn["all busy cycles"].width
    assert drawn["refill"].width / whole == pytest.approx(1 / 6, abs=1e-4)
    assert drawn["refill"].about == "16.67% of busy cycles, 100,000 samples"


@pytest.mark.parametrize("name", CAPTURES)
def test_callees_stand_on_their_caller_and_beside_each_other(data, name):
    drawn = boxes(flame_graph(recorded(data, name), title=name))
    levels = {y: [box for box in drawn if box.y == y] for y in {box.y for box in drawn}}
    rounding = 0.02
    for upper, lower in zip(sorted(levels), sorted(levels)[1:], strict=False):
        for left, right in zip(levels[upper], levels[upper][1:], strict=False):
            assert left.x + left.width <= right.x + rounding
        for box in levels[upper]:
            assert any(
                below.x <= box.x + rounding
                and box.x + box.width <= below.x + below.width + rounding
                for below in levels[lower]
            )


@pytest.mark.parametrize("name", MISSED)
def test_recorded_capture_that_missed_the_traffic_is_not_drawn(data, name):
    profile = recorded(data, name)
    for svg in (flame_graph(profile, title=name), difference(profile, OLD)):
        assert not boxes(svg)
        assert "mostly idle: 9" in words(svg)
        assert "nothing is drawn" in words(svg)
        assert "<script" not in svg


def test_difference_names_the_side_that_is_idle():
    svg = difference(OLD, folded("cpu_idle 9", "f 1"))
    assert "new is mostly idle: 90.0% of 10 samples" in words(svg)
    assert "old is mostly idle" not in words(svg)


def test_capture_without_samples_is_a_picture_that_says_so():
    assert "100.0% of 0 samples" in words(flame_graph(Profile(stacks=()), title="t"))


def test_what_vanished_is_blue_what_came_is_red_and_what_stayed_is_grey():
    drawn = by_name(difference(OLD, NEW))
    assert [drawn[name].tone for name in ("ring", "drain")] == ["less3", "less3"]
    assert drawn["simple"].tone == "more3"
    assert drawn["fork_exit"].tone == "same"
    assert drawn["ring"].about == (
        "\N{MINUS SIGN}66.67 points: old 66.67%, new 0.00% of busy cycles"
    )


def test_what_vanished_keeps_half_of_its_width():
    drawn = by_name(difference(OLD, NEW))
    assert drawn["ring"].width / drawn["fork_exit"].width == pytest.approx(1 / 3, abs=1e-4)


def test_difference_that_chance_explains_is_grey_however_large():
    drawn = by_name(difference(folded("f 10", "g 10"), folded("f 14", "g 6")))
    assert drawn["f"].tone == drawn["g"].tone == "same"
    assert drawn["f"].about.endswith("no more than chance explains")


def test_what_costs_a_packet_the_same_is_grey_whatever_else_it_does_more():
    old, new = folded("f 90000", "g 10000"), folded("f 90000", "g 50000")
    assert by_name(difference(old, new))["f"].tone.startswith("less")
    scaled = flame_difference(old, new, title="t", old_label="old", new_label="new", cost=14 / 10)
    drawn = by_name(scaled)
    assert (drawn["f"].tone, drawn["g"].tone) == ("same", "more3")
    assert drawn["g"].about == "+40.00 points: old 10.00%, new 50.00% of old's cycles per packet"
    assert "a packet costs 1.400 times what it cost with old" in words(scaled)
    assert sum(drawn[name].width for name in "fg") == pytest.approx(1180.0)


def test_difference_of_simple_tx_shows_the_path_around_the_ring(data):
    """D58513 lets packets leave by iflib_simple_transmit instead of through iflib's ring."""
    drawn = by_name(difference(*(recorded(data, name) for name in SIMPLE_TX)))
    ring = ["iflib_if_transmit", "ifmp_ring_enqueue", "drain_ring_lockless", "iflib_txq_drain"]
    assert {drawn[name].tone for name in ring} == {"less3"}
    assert drawn["iflib_simple_transmit"].tone == "more3"
    assert drawn["iflib_simple_transmit"].y == drawn["iflib_if_transmit"].y
    assert drawn["fork_exit"].tone == "same"  # without restored callers it would be red


def test_patch_without_effect_leaves_the_picture_grey(data):
    svg = difference(recorded(data, "r320657.inet4"), recorded(data, "r320657D11476.inet4"))
    coloured = sum(box.width for box in boxes(svg) if box.tone != "same")
    assert coloured / sum(box.width for box in boxes(svg)) < 0.01


def test_picture_tells_in_how_many_stacks_callers_were_restored(data):
    old, new = (recorded(data, name) for name in SIMPLE_TX)
    assert "in 37.1% of old, 11.2% of new" in words(difference(old, new))
    assert "filled in" not in words(difference(OLD, NEW))


HOSTILE = (
    "</title></svg><script>alert(1)</script>",
    "]]>{{7*7}}&amp;&lt;",
    '"onload="alert(1)',
    "\u202egnp.exe",
    "\x00\x1b[2J\ud800\ufffe",
    "x" * 100_000,
)


def test_hostile_names_are_text_and_short():
    stacks = tuple(Stack(frames=("main", name), samples=100) for name in HOSTILE)
    profile = Profile(stacks=stacks)
    for svg in (
        flame_graph(profile, title=HOSTILE[0]),
        flame_difference(
            profile, profile, title=HOSTILE[3], old_label=HOSTILE[1], new_label=HOSTILE[5]
        ),
    ):
        assert len(list(ET.fromstring(svg).iter(f"{SVG}script"))) == 1
        assert svg.count("</script>") == 1
        assert "49" not in by_name(svg)
        assert "\u202e" not in svg
        assert max(len(box.name) for box in boxes(svg)) == 120
        assert len(svg) < 40_000
        assert len(boxes(svg)) == len(HOSTILE) + 2


def test_stack_that_proves_idle_when_restored_is_not_drawn():
    deep = ";".join(f"f{depth}" for depth in range(16))
    profile = folded(f"{deep} 10", "cpu_idle;f0 10", "ip_input 10")
    svg = flame_graph(profile, title="t")
    assert by_name(svg).keys() == {"all busy cycles", "ip_input"}
    assert "66.7% of 30 samples, which are idle" in words(svg)
    assert boxes(difference(profile, profile))


def test_order_of_the_stacks_makes_no_difference():
    turned = Profile(stacks=OLD.stacks[::-1])
    assert flame_graph(turned, title="t") == flame_graph(OLD, title="t")


profiles = st.lists(
    st.builds(
        Stack,
        frames=st.lists(st.text(min_size=1), min_size=1, max_size=5).map(tuple),
        samples=st.integers(0, 10**9),
    ),
    max_size=6,
).map(lambda stacks: Profile(stacks=tuple(stacks)))


@given(profiles, profiles, st.text())
def test_any_profile_gives_well_formed_pictures(old, new, title):
    ET.fromstring(flame_graph(new, title=title))
    svg = flame_difference(old, new, title=title, old_label=title, new_label=title)
    for box in boxes(svg):
        assert 9.98 <= box.x <= box.x + box.width <= 1190.02
