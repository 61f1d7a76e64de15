"""A comparison as one page: what its text says, with its pictures in it, and harmless."""

from buildbot_bench.core.compare.model import ComparisonReport, SeriesValues
from buildbot_bench.core.compare.text import explanation, headline, table
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.sample import PPS
from buildbot_bench.render.html import comparison_page
from tests.fakes.compared import comparison_of

FASTER = ((1000.0, 1004.0, 996.0), (1100.0, 1104.0, 1096.0))


def compared(values=FASTER, label: str = "v2") -> ComparisonReport:
    series = SeriesValues(
        testbed="laptop",
        workload="compress",
        metric=PPS,
        values=values,
        item=ItemUnderTest.COMMAND,
    )
    return comparison_of(
        [series], {"v1": "1111111 Begin", label: "2222222 <img src=x>"}, iterations=3
    )


def test_the_page_says_what_the_text_says_and_has_a_picture_for_each_workload():
    report = compared()
    page = comparison_page(report)
    for cell in [*table(report)[0], *table(report)[1], headline(report), *explanation(report)[2:]]:
        assert cell.replace("'", "&#39;").replace("<0", "&lt;0") in page
    assert "Difference at 95.0% confidence" in page
    assert page.count('src="data:image/png;base64,') == 1
    assert "cid:" not in page


def test_what_strangers_wrote_is_text():
    page = comparison_page(compared(label="<script>alert(1)</script>"))
    assert "<script" not in page
    assert "<img src=x>" not in page
    assert "&lt;script&gt;" in page


def test_where_nothing_was_measured_there_is_no_picture():
    page = comparison_page(compared(values=((), ())))
    assert "data:image/png" not in page
