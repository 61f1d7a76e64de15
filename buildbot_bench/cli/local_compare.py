"""`bench-compare --local`: compare revisions of a git repository side by side."""

import os
from shlex import quote

from buildbot_bench.cli.ci import CiOutcome, tell_ci
from buildbot_bench.cli.console import ExitStatus, answer, say
from buildbot_bench.cli.farm_jobs import comparison_csv
from buildbot_bench.cli.live import comparison_view
from buildbot_bench.cli.local_arguments import LocalOptions, LocalTask
from buildbot_bench.cli.local_bisect import (
    campaign_of,
    keep_builds,
    say_with_output,
    told_in_lines,
    workshop_of,
)
from buildbot_bench.cli.local_itself import itself_text
from buildbot_bench.cli.local_page import check_page, write_page
from buildbot_bench.cli.local_view import comparison_expected
from buildbot_bench.cli.local_workflow import task_of
from buildbot_bench.core.compare.model import ComparisonReport, Verdict
from buildbot_bench.core.compare.schedule import MAX_VARIANTS, BootLimits
from buildbot_bench.core.compare.suite import changed
from buildbot_bench.core.compare.text import markdown, outcome, text
from buildbot_bench.core.compare.variants import check_written
from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.core.item import TOOL_FACT
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.revision import Revision
from buildbot_bench.lab.command.settings import NAME_ONE, PRESETS
from buildbot_bench.local.against_itself import MOST_OF_ITSELF, measure_itself
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.builds import opened
from buildbot_bench.local.comparing import Compare, Compared, LocalComparison
from buildbot_bench.local.git import Git
from buildbot_bench.local.measuring import CommandMeasurer
from buildbot_bench.local.revisions import WORKING_TREE, Revisions

NAME = "bench-compare"


def run(options: LocalOptions) -> int:
    """Do what the command line says; returns the exit status."""
    return told_in_lines(NAME, lambda: _run(options))


def _run(options: LocalOptions) -> int:
    git = Git.around(options.repository.absolute())
    revisions = Revisions(git=git)
    task = task_of(options, git)
    asked = (
        _itself(options, task, revisions)
        if options.against_itself
        else _question(options, task, revisions)
    )
    campaign = campaign_of(options, task, revisions)
    if options.html is not None:
        check_page(options.html)
    try:
        with opened(git, most_bytes=options.most_bytes) as repository:
            keep_builds(options, campaign, repository, say)
            workshop = workshop_of(repository, campaign, task.build_timeout_s)
            measurer = CommandMeasurer(campaign.workload, task.min_effect)
            bench = Bench(campaign, repository.store, workshop, measurer)
            try:
                if isinstance(asked, Revision):
                    return _tell_itself(options, asked, bench)
                if options.dry_run:
                    return comparison_expected(asked, bench, as_json=options.form == "json")
                with comparison_view() as view:
                    compare = Compare(asked, bench, view)
                    report = compare.run()
            finally:
                bench.end()
    except UntestableRevision as error:
        say_with_output(NAME, error, "correct --build or --run, or leave the revision out")
        return ExitStatus.INCONCLUSIVE
    except KeyboardInterrupt:
        say("interrupted; the same command goes on where it was")
        return ExitStatus.INTERRUPTED
    return _tell(options, report, is_early=compare.is_early)


def _itself(options: LocalOptions, task: LocalTask, revisions: Revisions) -> Revision:
    if task.workload.is_suite:
        raise UsageError("--aa takes one value, and `all` are many", hint=NAME_ONE)
    others = (options.dry_run, options.html, options.labels, options.fail_on, options.budget_s)
    if len(options.revisions) != 1 or any(others) or options.form in {"csv", "markdown"}:
        raise UsageError(
            "--aa takes one revision, and goes without --dry-run, --csv, --markdown, --html, "
            "--label, --fail-on and --budget",
            hint="as in `bench-compare --local --aa HEAD --build make --run ./bench`",
        )
    return revisions.one(options.revisions[0])


def _tell_itself(options: LocalOptions, revision: Revision, bench: Bench) -> int:
    images = min(options.images, MOST_OF_ITSELF)
    with comparison_view() as view:
        found = measure_itself(revision, bench, view, runs=options.iterations, images=images)
    told = {"values": {str(n): own for n, own in found.values.items()}, "seconds": found.seconds}
    value = to_json(found.found) | told | {"causes": [to_json(one) for one in found.causes]}
    answer(itself_text(found), value, as_json=options.form == "json")
    return ExitStatus.ANSWERED


def _question(options: LocalOptions, task: LocalTask, revisions: Revisions) -> LocalComparison:
    names = options.revisions
    if not 1 < len(names) <= MAX_VARIANTS:
        raise UsageError(
            f"a comparison takes 2 to {MAX_VARIANTS} revisions, {len(names)} given",
            hint="as in `bench-compare --local main my-branch --build make --run ./bench`",
        )
    check_written(names, options.labels)
    found = [revisions.one(name) for name in names]
    for place, one in enumerate(found):
        if one in found[:place]:
            other = names[found.index(one)]
            hint = "nothing differs from HEAD" if WORKING_TREE in names else "name each once"
            raise UsageError(f"{other} and {names[place]} are the same commit", hint=hint)
    labels = {WORKING_TREE: "working tree"} | dict(options.labels)
    return LocalComparison(
        variants=tuple(
            Compared(label=labels.get(name, name), revision=one)
            for name, one in zip(names, found, strict=True)
        ),
        limits=BootLimits(boots=options.iterations, images=options.images),
        min_effect=task.min_effect,
        budget_s=options.budget_s,
    )


def _tell(options: LocalOptions, report: ComparisonReport, *, is_early: bool) -> int:
    if options.html is not None:
        write_page(options.html, report)
        say(f"the report is in {options.html}")
    value = to_json(report)
    forms = {"markdown": lambda: markdown(report), "csv": lambda: comparison_csv(value)}
    said = forms.get(options.form, lambda: text(report))()
    answer(said, value, as_json=options.form == "json")
    verdicts = [change.verdict for series in report.series for change in series.changes]
    if report.left_out is not None:
        verdicts = [verdict for verdict in Verdict if verdict in verdicts]
        _tell_how_to_search(report)
    is_bad = Verdict.WORSE in verdicts
    tell_ci(
        CiOutcome(
            title=report.title,
            message=outcome(report),
            markdown=markdown(report),
            is_bad=is_bad,
            outputs={"verdicts": ", ".join(verdicts)},
        ),
        os.environ,
    )
    if options.fail_on is not None:
        fails = is_bad and options.fail_on == "regression"
        return ExitStatus.NO_DIFFERENCE if fails else ExitStatus.ANSWERED
    undecided = {Verdict.UNDECIDED, Verdict.WITHIN_LUCK} & set(verdicts)
    return ExitStatus.INCONCLUSIVE if is_early and undecided else ExitStatus.ANSWERED


def _tell_how_to_search(report: ComparisonReport) -> None:
    """Say how to give bench-bisect the value that changed the most."""
    found = changed(report)
    tool = found[0][0].facts.get(TOOL_FACT, "") if found else ""
    if tool not in PRESETS:  # none changed, or several tools print
        return
    metric = found[0][0].metric
    unit = "" if PRESETS[tool].unit else f" --unit {quote(metric.unit)}"
    say(f"bench-bisect finds its commit: --value {quote(f'{tool}:{metric.name}')}{unit}")
