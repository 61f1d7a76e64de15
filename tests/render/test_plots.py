"""The pictures: what stands on them, in which colours and units, and that strangers add nothing."""

import struct
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from buildbot_bench.core.report.context import SearchStage
from buildbot_bench.core.sample import PACKETS_PER_CPU_SECOND, PPS
from buildbot_bench.core.search import Suspect
from buildbot_bench.render.html import pictures_of
from buildbot_bench.render.plots.canvas import IMIX_BITS_PER_PACKET, MUTED, NEW, OLD, Format
from buildbot_bench.render.plots.distribution import BoxGroup, MedianGroup, distribution, medians
from buildbot_bench.render.plots.history import (
    HistoryMark,
    HistoryMarkKind,
    HistoryPoint,
    history,
    posterior,
)
from tests.fakes import reports

SVG = "{http://www.w3.org/2000/svg}"
GROUPS = (
    BoxGroup(label="r311848", values=reports.IFLIB[0], side="old"),
    BoxGroup(label="r311849", values=reports.IFLIB[1], side="new"),
    BoxGroup(label="r312904", values=reports.IFLIB[1056]),
)
POINTS = tuple(
    HistoryPoint(
        position=300 + 10 * i,
        label=f"r{300 + 10 * i}",
        values=(level, level * 1.01),
        epoch="2017a" if i < 9 else "2017b",
    )
    for i, level in enumerate([1e6] * 6 + [0.8e6] * 6)
)
MARKS = (
    HistoryMark(position=360, kind=HistoryMarkKind.CULPRIT, text="r360"),
    HistoryMark(position=390, kind=HistoryMarkKind.ALARM),
)
MEDIANS = (
    MedianGroup(workload="forwarding", values=(reports.IFLIB[0], reports.IFLIB[1])),
    MedianGroup(workload="pf-statefull", values=(reports.IFLIB[0], ())),
)
STAGES = (
    SearchStage(at_s=1.0, position=0, left=16),
    SearchStage(
        at_s=2.0,
        position=16,
        left=16,
        suspects=(Suspect(old=0, new=16, probability=0.99, effect=-0.2),),
    ),
    SearchStage(
        at_s=3.0,
        position=8,
        left=8,
        suspects=(Suspect(old=0, new=8, probability=0.98, effect=-0.2),),
    ),
    SearchStage(
        at_s=4.0,
        position=7,
        left=1,
        suspects=(Suspect(old=7, new=8, probability=0.999, effect=-0.2),),
    ),
)


def drawn(kind: str, form: Format = Format.SVG, **changed) -> bytes:
    match kind:
        case "distribution":
            known = {"groups": GROUPS, "metric": PPS, "title": "forwarding on apu2"}
            return distribution(**known | changed, form=form)
        case "history":
            known = {"points": POINTS, "metric": PPS, "title": "pf on apu2", "marks": MARKS}
            return history(**known | {"sigma": 0.01} | changed, form=form)
        case "medians":
            known = {"groups": MEDIANS, "images": ("311848", "311849"), "metric": PPS}
            return medians(**known | {"title": "apu2"} | changed, form=form)
        case _:
            known = {"stages": STAGES, "commits": 16, "title": "The search"}
            ends = {"ends": ("r300", "r316"), "culprits": {8: "r308"}}
            return posterior(**known | ends | changed, form=form)


KINDS = ("distribution", "history", "medians", "posterior")


def texts(svg: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", Format)
def test_the_same_data_give_the_same_picture(kind, form):
    assert drawn(kind, form) == drawn(kind, form)


@pytest.mark.parametrize("kind", KINDS)
def test_a_png_is_as_wide_as_a_mail_is_read(kind):
    png = drawn(kind, Format.PNG)
    width, height = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG\r\n")
    assert width == 836
    assert 200 <= height <= 800
    assert len(png) < 80_000


@pytest.mark.parametrize("kind", KINDS)
def test_an_svg_loads_nothing_and_runs_nothing(kind):
    root = ET.fromstring(drawn(kind))
    assert not {f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject"} & {e.tag for e in root.iter()}
    hrefs = [v for e in root.iter() for name, v in e.attrib.items() if name.endswith("href")]
    assert all(href.startswith("#") for href in hrefs)


def test_every_revision_stands_under_its_box_and_a_change_above_it():
    told = texts(drawn("distribution"))
    assert {"r311848", "r311849", "r312904", "-25.6 %", "forwarding on apu2"} <= set(told)


def test_medians_are_told_from_zero_for_both_images_and_each_workload():
    told = texts(drawn("medians"))
    assert {"311848", "311849", "forwarding", "pf-statefull", "as IMIX throughput"} <= set(told)
    assert {"0", "0 b/s"} <= set(told)


def test_medians_of_thirty_two_images_are_all_named_and_told_apart():
    groups = [MedianGroup(workload="pf", values=tuple((n + 1.0,) for n in range(32)))]
    svg = drawn("medians", groups=groups, images=[f"image{n}" for n in range(32)])
    assert {f"image{n}" for n in range(32)} <= set(texts(svg))
    assert svg.count(b"<pattern") >= 3  # all eights but the first are hatched


def test_the_two_sides_of_a_step_and_the_rest_have_colours_of_their_own():
    svg = drawn("distribution").decode()
    assert all(colour in svg for colour in (OLD, NEW, MUTED))


def test_packets_are_also_told_as_imix_throughput():
    bytes_per_packet = (7 * 40 + 4 * 576 + 1500) / 12 + 14
    assert pytest.approx(8 * bytes_per_packet, rel=1e-5) == IMIX_BITS_PER_PACKET
    told = texts(drawn("distribution"))
    assert {"as IMIX throughput", "throughput, pps"} <= set(told)
    assert any(text.endswith("Gb/s") for text in told)
    other = texts(drawn("distribution", metric=PACKETS_PER_CPU_SECOND))
    assert "efficiency, packets/CPU-s" in other
    assert not any("b/s" in text for text in other)


def test_many_boxes_have_turned_names():
    many = tuple(BoxGroup(label=f"r{i}", values=(float(i), i + 1.0)) for i in range(12))
    assert "rotate(-60)" in drawn("distribution", groups=many).decode()
    assert "rotate(-60)" not in drawn("distribution").decode()


def test_equal_values_are_drawn_too():
    flat = (BoxGroup(label="r1", values=(5.0, 5.0)), BoxGroup(label="r2", values=(0.0,)))
    assert texts(drawn("distribution", groups=flat[:1]))
    assert texts(drawn("distribution", groups=flat))


def test_a_history_names_its_culprits_alarms_and_epochs():
    told = texts(drawn("history"))
    assert {"r360", "alarm", "epoch 2017b", "r300", "r410"} <= set(told)


def test_a_history_without_anything_but_points_is_drawn():
    assert "r300" in texts(drawn("history", points=POINTS[:1], marks=(), sigma=0.0))


def test_a_search_names_its_ends_and_its_culprit():
    told = texts(drawn("posterior"))
    assert {"r300", "r308", "r316", "measurement", "The search"} <= set(told)


def test_a_name_that_would_cover_a_culprits_is_left_out():
    told = texts(drawn("posterior", culprits={8: "r308", 9: "r309", 1: "r301"}))
    assert {"r308", "r301", "r316"} <= set(told)
    assert not {"r309", "r300"} & set(told)


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_stranger_becomes_markup_or_a_formula(kind):
    hostile = reports.HOSTILE + " $\\frac{1}{0}$ \\unknown{"
    changed = {
        "distribution": {"groups": (BoxGroup(label="$x_" + hostile, values=(1.0, 2.0)),)},
        "history": {
            "marks": (HistoryMark(position=360, kind=HistoryMarkKind.CULPRIT, text=hostile),)
        },
        "medians": {"images": (hostile, "$x_" + hostile)},
        "posterior": {"ends": (hostile, hostile), "culprits": {}},
    }[kind]
    root = ET.fromstring(drawn(kind, title=hostile, **changed))
    tame = ET.fromstring(drawn(kind))
    assert {e.tag for e in root.iter()} <= {e.tag for e in tame.iter()}
    assert all(text.isprintable() for text in texts(ET.tostring(root)))
    drawn(kind, Format.PNG, title="日本語 $", **changed)


def test_dollar_signs_are_no_formula():
    assert "$x$ or $y$" in texts(drawn("posterior", title="$x$ or $y$"))


def test_a_culprits_mail_has_the_boots_and_the_search_in_pictures_and_in_words():
    boots, search = pictures_of(reports.iflib())
    assert (boots.name, search.name) == ("distribution.png", "search.png")
    assert "r311848 median 624,596; r311849 median 465,402" in boots.alternative
    assert search.alternative == (
        "The search of r311848 to r313448: 25 measurements left 4 commits of 1600 under suspicion"
    )


def test_a_short_course_and_a_report_without_culprit_have_no_picture_of_it():
    assert [picture.name for picture in pictures_of(reports.proven())] == ["distribution.png"]
    assert pictures_of(reports.inconclusive()) == ()


def test_who_draws_nothing_does_not_load_the_drawing_library():
    module = "buildbot_bench.plugin.outbox.mail_outbox"
    code = f"import sys, {module}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
