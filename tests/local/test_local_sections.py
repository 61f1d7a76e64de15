"""What other packages add to a report stands in a local one, too."""

from dataclasses import replace

from buildbot_bench.cli.local_run import bisect
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.render.message import report_text
from tests.fakes.local_bench import SilentWatcher
from tests.fakes.other_package import import_from, install
from tests.readme import blocks

SECTIONS = """\
from buildbot_bench.core.report.model import AddedSection


def weather(report):
    return AddedSection(title="Weather", lines=(f"{report.headline.new.subject}: rain",))


def broken(report):
    raise ValueError("no barometer")
"""
POINTS = """\
[buildbot_bench.report_sections]
weather = extra.sections:weather
broken = extra.sections:broken
subsystem = extra.shown:subsystem
"""
(SHOWN,) = blocks("python", "docs/how-to/extend.md", name="section")


def test_sections_of_another_package_are_in_a_local_report_and_one_that_fails_is_said(
    ask, repository, tmp_path, monkeypatch
):
    import_from(
        install(tmp_path / "site", {"sections": SECTIONS, "shown": SHOWN}, POINTS), monkeypatch
    )
    search = ask()
    workload = CommandWorkload(run="cat level", value="last-number", unit="units")
    search = replace(search, campaign=replace(search.campaign, workload=workload))
    watcher = SilentWatcher()
    report = bisect(search, repository, watcher, build_timeout_s=60.0)
    assert "  Change 8: rain\n" in report_text(report)
    assert [one.lines for one in report.added if one.title == "Subsystem"] == [("Change 8",)]
    (said,) = (told for told in watcher.notices if "section" in told)
    assert said.startswith("the section broken of another package failed: ValueError")
