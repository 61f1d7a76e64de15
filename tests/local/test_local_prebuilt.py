"""A local search measures what others built, and builds only near what that shows."""

import subprocess
from dataclasses import replace

import pytest

from buildbot_bench.cli.bisect import main
from buildbot_bench.core.report.model import ReportKind
from buildbot_bench.core.search import PREBUILT
from buildbot_bench.local.bisecting import Bisection
from buildbot_bench.local.reports import report_of
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git
from buildbot_bench.render.message import report_text
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher
from tests.local.conftest import COMMITS, SLOWER_FROM

BUILD = "echo $BENCH_IMAGE >> built"


@pytest.fixture
def published(tmp_path, checkout):
    """Lays down what others built of some commits; gives the pattern of where, and their hashes."""

    def publish(numbers) -> tuple[str, frozenset[str]]:
        (tmp_path / "others").mkdir(exist_ok=True)
        revisions = Revisions(git=Git.around(checkout))
        shas = [revisions.sha(f"n{number}", within="main") for number in numbers]
        for sha in shas:
            archive = str(tmp_path / "others" / f"{sha}.tar")
            subprocess.run(["git", "archive", "-o", archive, sha], cwd=checkout, check=True)
        return f"{tmp_path}/others/{{hash}}.tar", frozenset(shas)

    return publish


@pytest.fixture
def search(ask, bench_for, published):
    """A search with what others built of some commits: its report, the bench, what was said."""

    def run(numbers, build: str = BUILD):
        asked = ask(build)
        pattern, shas = published(numbers)
        recipe = replace(asked.campaign.recipe, prebuilt=pattern)
        asked = replace(asked, campaign=replace(asked.campaign, recipe=recipe), prebuilt=shas)
        bench = bench_for(asked, ReadMeasurer())
        watcher = SilentWatcher()
        return report_of(asked, Bisection(asked, bench, watcher).run()), bench, watcher

    return run


def test_own_builds_prove_what_those_of_others_show(search):
    report, bench, _ = search(set(range(1, COMMITS + 1)) - {3})
    assert report.kind is ReportKind.CULPRIT
    assert report.headline.new.subject == f"Change {SLOWER_FROM}"
    own = {one.sha for one in bench.images() if one.ordinal != PREBUILT}
    assert own == {report.headline.old.sha, report.headline.new.sha}
    assert report_text(report).count("+prebuilt") > COMMITS


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("builds/all.tar", "should hold {hash} or {short}"),
        ("https://me:word@host/{hash}.tar", "without a password"),
        ("builds/{branch}/{hash}.tar", "names a {branch}, and a search here has none"),
        ("nowhere/{hash}.tar", "nothing is there of 2 revisions"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(checkout, capsys, pattern, why):
    command = [
        "--local",
        "main~1",
        "main",
        "--repository",
        str(checkout),
        "--run",
        "true",
        "--build",
        "true",
    ]
    assert main([*command, "--prebuilt", pattern]) == 2
    assert why in capsys.readouterr().err


def test_the_command_says_how_many_need_not_be_built(checkout, published, capsys):
    pattern, _ = published({1, 7, 8})
    place = ["--repository", str(checkout), "--prebuilt", pattern]
    command = ["--local", "main~11", "main", *place, "--run", "cat level"]
    assert main([*command, "--build", "false"]) == 2
    assert "3 of 12 revisions need not be built" in capsys.readouterr().err
    assert main(command) == 2
    assert "--prebuilt goes with --build" in capsys.readouterr().err
