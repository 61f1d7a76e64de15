"""What a report says of what its commits touch."""

from math import log2

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.read_files import FileChange, ReadFiles
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import Context
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.touched import CommitPrior, commit_prior
from tests.fakes import reports
from tests.fakes.reports import SETTING, answer, history, samples, step

READ = ReadFiles(names=frozenset({"sys/a.c", "sys/hot.c"}))


def prior(*paths: str, ran: tuple[str, ...] = ()) -> CommitPrior:
    changes = [[FileChange(path=path, edited=True)] for path in paths]
    return commit_prior(changes, READ, ran)


def report(known: CommitPrior | None, *, n: int = 3, culprit: int = 1) -> Report:
    before, after = (1000.0, 1001, 999), (750.0, 751, 749)
    return compose(
        range=history(n),
        answer=answer(step(culprit - 1, culprit, -0.25)),
        samples=samples({culprit - 1: before, culprit: after}),
        setting=SETTING,
        known=Context(prior=known),
    )


def test_the_counts_of_the_whole_range_are_told_with_the_culprits_own() -> None:
    touched = reports.iflib().touched
    assert touched is not None
    assert [(one.touch.value, one.commits) for one in touched.classes] == [
        ("runs", 20),
        ("built", 320),
        ("neither", 1260),
    ]
    assert touched.reasons == (
        (
            "340 of 1,600 commits change files that the kernel is built from."
            " 20 of them change code that forwarding executes."
        ),
        (
            "The search began with this suspicion: 41 % on the 20 commits that change executed"
            " code, 19 % on the 320 commits that change other built files, and 39 % on the 1,260"
            " commits that change neither."
        ),
        "Half of the suspicion is the same for each commit.",
        "r311849 changes code that forwarding executes.",
    )


def test_the_weight_of_each_commit_follows_from_the_json() -> None:
    """Within a class all weigh the same; a wrong prior costs a bit."""
    written = to_json(reports.iflib())["touched"]["classes"]
    for one in written:
        assert log2(one["share"] / one["commits"] * 1600) >= -1


def test_without_captures_nothing_is_said_of_what_runs() -> None:
    touched = report(prior("sys/a.c", "README.md", "bin/cat.c")).touched
    assert touched is not None
    assert touched.reasons == (
        "1 of 3 commits changes files that the kernel is built from.",
        (
            "The search began with this suspicion: 67 % on the one commit that changes built files,"
            " and 33 % on the 2 commits that change neither."
        ),
        "Half of the suspicion is the same for each commit.",
        "r311849 changes files that the kernel is built from.",
    )


def test_a_culprit_that_touches_nothing_of_the_kernel_is_to_be_looked_at_twice() -> None:
    touched = report(prior("sys/a.c", "README.md", "sys/a.c"), culprit=2).touched
    assert touched is not None
    assert touched.reasons[-1] == (
        "r311850 changes none of the files that the kernel is built from. Check it twice."
    )


def test_a_prior_that_tells_no_commits_apart_has_no_shares() -> None:
    touched = report(prior("sys/a.c", "sys/a.c", "sys/a.c")).touched
    assert touched is not None
    assert len(touched.reasons) == 2


def test_a_search_that_knew_nothing_says_nothing() -> None:
    assert report(None).touched is None
    assert report(prior("sys/a.c"), n=1).touched is None
