"""`bench-bisect --local` and `bench-compare --local`: one question, from words to exit status."""

import os
from collections.abc import Sequence
from shlex import quote

from buildbot_bench.cli.console import ExitStatus, answer, say
from buildbot_bench.cli.farm_jobs import comparison_csv
from buildbot_bench.cli.live import comparison_view, search_view
from buildbot_bench.cli.local_arguments import LocalOptions, LocalTask
from buildbot_bench.cli.local_view import LocalView, comparison_expected, search_expected
from buildbot_bench.cli.local_workflow import (
    built_by_others,
    campaign_of,
    keep_builds,
    task_of,
    workshop_of,
)
from buildbot_bench.cli.outcomes import (
    CiOutcome,
    check_page,
    outcome_of,
    say_with_output,
    tell_ci,
    told_in_lines,
    write_page,
)
from buildbot_bench.core.compare.model import ComparisonReport, Verdict
from buildbot_bench.core.compare.schedule import BootLimits
from buildbot_bench.core.compare.suite import changed
from buildbot_bench.core.compare.text import markdown, outcome, text
from buildbot_bench.core.compare.variants import check_written
from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.core.item import TOOL_FACT
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.limits import MOST_VARIANTS
from buildbot_bench.core.report.model import Report, ReportKind
from buildbot_bench.core.report.related import commits_to_ask, with_kin
from buildbot_bench.core.report.words import named
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.history.kin import kin_of
from buildbot_bench.lab.command.settings import NAME_ONE, PRESETS
from buildbot_bench.local.against_itself import MOST_OF_ITSELF, itself_text, measure_itself
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.bisecting import SearchCourse
from buildbot_bench.local.builds import Repository, opened
from buildbot_bench.local.campaign import CommandMeasurer, LocalSearch, Watcher
from buildbot_bench.local.comparing import Compare, Compared, LocalComparison
from buildbot_bench.local.merges import Merges
from buildbot_bench.local.reports import SearchIntoMerges, command_line
from buildbot_bench.local.revisions import WORKING_TREE, Revisions
from buildbot_bench.programs import Git
from buildbot_bench.render.html import report_markdown
from buildbot_bench.render.message import report_text, with_sections

_STATUS = {
    ReportKind.CULPRIT: ExitStatus.ANSWERED,
    ReportKind.SLOPE: ExitStatus.ANSWERED,
    ReportKind.NOT_REPRODUCED: ExitStatus.NO_DIFFERENCE,
    ReportKind.INCONCLUSIVE: ExitStatus.INCONCLUSIVE,
}


def run_search(options: LocalOptions) -> int:
    """Do what the command line says; returns the exit status."""
    return told_in_lines("bench-bisect", lambda: _find(options))


def _find(options: LocalOptions) -> int:
    git = Git.around(options.repository.absolute())
    task = task_of(options, git)
    search = _search(options, task, Revisions(git=git))
    if options.html is not None:
        check_page(options.html)
    try:
        if options.dry_run:
            with opened(git, most_bytes=options.most_bytes) as repository:
                return _expect(options, search, repository)
        showing = search_view(beginning="reading what is known")
        with opened(git, most_bytes=options.most_bytes) as repository, showing as shown:
            view = LocalView(shown)
            keep_builds(options, search.campaign, repository, view.notice)
            if search.base:
                view.notice(search.base)
            report = bisect(
                search,
                repository,
                view,
                build_timeout_s=task.build_timeout_s,
                skip=options.skip,
                again=options.again,
            )
    except KeyboardInterrupt:
        say("interrupted; the same command goes on where it was")
        return ExitStatus.INTERRUPTED
    return _tell_report(options, report)


def _expect(options: LocalOptions, search: LocalSearch, repository: Repository) -> int:
    """Tell what the search would take; nothing is built or run."""
    keep_builds(options, search.campaign, repository, say)
    bench = _bench(search, repository, 0.0)
    try:
        known = bench.known(search)
    finally:
        bench.end()
    return search_expected(search, known, as_json=options.form == "json")


def bisect(
    search: LocalSearch,
    repository: Repository,
    onlooker: Watcher[SearchCourse],
    *,
    build_timeout_s: float,
    skip: Sequence[str] = (),
    again: Sequence[str] = (),
) -> Report:
    """Search to the answer, into merges too; fails as `Bisection.run` does."""
    bench = _bench(search, repository, build_timeout_s)
    merges = Merges(revisions=Revisions(git=repository.git))
    try:
        deep = SearchIntoMerges(bench, onlooker, merges, skip=skip, again=again)
        report = deep.run(search)
    finally:
        bench.end()

    kin = {sha: kin_of(repository.git.home, sha) for sha in commits_to_ask(report)}
    report = with_kin(report, search.between, kin)

    def failed(name: str, error: Exception) -> None:
        onlooker.notice(f"the section {name} of another package failed: {one_line(repr(error))}")

    return with_sections(report, failed)


def _bench(search: LocalSearch, repository: Repository, build_timeout_s: float) -> Bench:
    campaign = search.campaign
    workshop = workshop_of(repository, campaign, build_timeout_s)
    measurer = CommandMeasurer(campaign.workload, search.terms.min_effect)
    return Bench(campaign, repository.store, workshop, measurer, ahead=search.ahead)


def _search(options: LocalOptions, task: LocalTask, revisions: Revisions) -> LocalSearch:
    if task.workload.is_suite:
        raise UsageError("a search follows one value, and `all` are many", hint=NAME_ONE)
    old, new = options.revisions
    between = revisions.between(old, new, first_parent=options.first_parent)
    merges = Merges(revisions=revisions)
    ends = [between.old.short_sha, between.new.short_sha]
    base = ""
    if between.old.sha != revisions.sha(old, within=between.new.sha):
        base = f"{old} is not in the history of {new}: measured from {named(between.old)}, in both"
    return LocalSearch(
        campaign=campaign_of(options, task, revisions),
        between=between,
        terms=SearchPolicy(error=task.error, min_effect=task.min_effect),
        skipped=revisions.named_in(between, options.skip),
        again=revisions.named_in(between, options.again),
        ahead=options.ahead,
        commands=(
            command_line("bench-bisect", ends, options.typed),
            command_line("bench-bisect", ends, (*options.typed, "--json")),
        ),
        first_parent=options.first_parent,
        budget_s=options.budget_s,
        base=base,
        prebuilt=built_by_others(options, task, between),
        merges=() if options.first_parent else tuple(merges.sizes(between).values()),
    )


def _tell_report(options: LocalOptions, report: Report) -> int:
    if options.html is not None:
        write_page(options.html, report)
        say(f"the report is in {options.html}")
    markdown = report_markdown(report)
    text = markdown if options.form == "markdown" else report_text(report)
    answer(text, to_json(report), as_json=options.form == "json")
    tell_ci(outcome_of(report, markdown), os.environ)
    return _STATUS[report.kind]


def run_comparison(options: LocalOptions) -> int:
    """Do what the command line says; returns the exit status."""
    return told_in_lines("bench-compare", lambda: _compare(options))


def _compare(options: LocalOptions) -> int:
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
        say_with_output(
            "bench-compare", error, "correct --build or --run, or leave the revision out"
        )
        return ExitStatus.INCONCLUSIVE
    except KeyboardInterrupt:
        say("interrupted; the same command goes on where it was")
        return ExitStatus.INTERRUPTED
    return _tell_comparison(options, report, is_early=compare.is_early)


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
    if not 1 < len(names) <= MOST_VARIANTS:
        raise UsageError(
            f"a comparison takes 2 to {MOST_VARIANTS} revisions, {len(names)} given",
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


def _tell_comparison(options: LocalOptions, report: ComparisonReport, *, is_early: bool) -> int:
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
