"""A report on a metric without spread is drawn and mailed as any other, and says what it is."""

from dataclasses import replace

from buildbot_bench.core.model.noise import counted
from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import Context
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.report.why import Capture, Captures
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET
from buildbot_bench.render.html import history_picture, pictures_of, report_html, report_markdown
from buildbot_bench.render.message import report_text
from buildbot_bench.render.plots.history import HistoryPoint
from tests.fakes import reports

BEFORE, AFTER = 792.453125, 796.453125


def capture(label: str, ip_forward: int) -> Capture:
    counts = {"route_lookup": 99_584, "memcpy": 26_624, "ip_forward": ip_forward}
    stacks = tuple(Stack(frames=(name,), samples=count) for name, count in counts.items())
    return Capture(label=label, profile=Profile(stacks=stacks, event=EXECUTED))


def exact() -> Report:
    values = {0: [BEFORE] * 3, 1: [AFTER] * 3, 2: [AFTER] * 3}
    samples = [replace(s, metric=INSTRUCTIONS_PER_PACKET) for s in reports.samples(values)]
    old, new = capture("r311848", 5_888), capture("r311849", 6_912)
    return compose(
        range=reports.history(2),
        answer=reports.answer(reports.step(0, 1, AFTER / BEFORE - 1)),
        samples=samples,
        setting=replace(
            reports.SETTING, testbed="vm-exact", metric=INSTRUCTIONS_PER_PACKET, min_effect=0.001
        ),
        known=Context(captures=Captures(counter=EXECUTED, old=old, new=new)),
    )


def test_values_that_are_all_the_same_can_be_drawn():
    pictures = pictures_of(exact())
    assert pictures
    assert all(picture.png.startswith(b"\x89PNG") for picture in pictures)


def test_a_level_without_noise_can_be_drawn():
    points = [HistoryPoint(position=n, label=f"r{n}", values=(BEFORE,)) for n in range(3)]
    picture = history_picture(exact(), points, [], sigma=counted().sigma_build)
    assert picture.png.startswith(b"\x89PNG")


def test_every_form_says_what_a_count_cannot_see():
    for written in (report_text(exact()), report_html(exact()), report_markdown(exact())):
        told = " ".join(written.split())
        assert "a count, not a time" in told
        assert "cache misses" in told


def test_only_the_function_that_executes_more_is_named():
    symbols = exact().why.symbols
    assert [(one.name, one.sure) for one in symbols] == [("ip_forward", True)]
    assert "route_lookup" not in report_text(exact())
