"""What reverted a culprit, and where it was picked to, in all forms of a report."""

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.report.related import Kin, Relation, commits_to_ask, with_kin
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.render.html import report_html, report_markdown
from buildbot_bench.render.message import report_text
from tests.fakes import reports


def test_kin_are_named_in_text_html_markdown_and_json_and_are_harmless() -> None:
    report = reports.iflib()
    step = report.headline
    assert step is not None
    assert commits_to_ask(report)[0] == step.new.sha
    between = RevisionRange(revisions=(step.old, step.new))
    picked = Kin(
        relation=Relation.PICKED_AS,
        sha="6f5e4d3c2b1a" + "0" * 28,
        subject="MFC <b>it</b>\n\x1b[31m",
        branch="stable/11",
        by_patch=True,
    )
    undone = Kin(relation=Relation.REVERTS, sha=step.old.sha)
    told = with_kin(report, between, {step.new.sha: (undone, picked)})
    line = f"{step.new.label} was picked as 6f5e4d3c2b1a on stable/11 by its patch: MFC <b>it</b>"
    old = f"{step.new.label} reverts {step.old.label} ({step.old.sha[:12]}) within the range"
    (section,) = [one for one in told.added if one.title == "Reverts and picks"]
    assert section.lines[0] == old
    assert section.lines[1].startswith(line)
    assert "\x1b" not in section.lines[1]
    for whole in (True, False):
        words = " ".join(report_text(told, whole=whole).split())
        assert f"{step.new.label} was picked as 6f5e4d3c2b1a on stable/11" in words
    assert "MFC &lt;b&gt;it&lt;/b&gt;" in report_html(told)
    assert "6f5e4d3c2b1a" in report_markdown(told)
    assert line in str(to_json(told)["added"])


def test_a_report_without_kin_stays_as_it_is() -> None:
    report = reports.iflib()
    assert report.headline is not None
    between = RevisionRange(revisions=(report.headline.old, report.headline.new))
    assert with_kin(report, between, {}) is report
