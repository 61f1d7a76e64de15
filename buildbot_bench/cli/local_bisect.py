"""`bench-bisect --local`: search in a git repository and print the answer."""

import os
import time
from collections.abc import Callable, Sequence

from buildbot_bench.archives.prebuilt import PrebuiltSource, which_are_there
from buildbot_bench.cli.console import ExitStatus, answer, say
from buildbot_bench.cli.live import search_view
from buildbot_bench.cli.local_arguments import LocalOptions, LocalTask
from buildbot_bench.cli.local_view import LocalView, search_expected
from buildbot_bench.cli.local_workflow import task_of
from buildbot_bench.cli.outcomes import check_page, outcome_of, tell_ci, write_page
from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.legible import one_line, several_lines, shorten
from buildbot_bench.core.report.model import Report, ReportKind
from buildbot_bench.core.report.related import commits_to_ask, with_kin
from buildbot_bench.core.report.words import count, named
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.history.kin import kin_of
from buildbot_bench.lab.command.settings import NAME_ONE
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.bisecting import SearchCourse
from buildbot_bench.local.builds import Repository, Workshop, opened
from buildbot_bench.local.campaign import (
    Campaign,
    CommandMeasurer,
    LocalSearch,
    Watcher,
    earlier_than,
    take_over,
)
from buildbot_bench.local.merges import Merges
from buildbot_bench.local.recipe import BuildRecipe
from buildbot_bench.local.reports import SearchIntoMerges, command_line
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git
from buildbot_bench.render.html import report_markdown
from buildbot_bench.render.message import report_text, with_sections

_STATUS = {
    ReportKind.CULPRIT: ExitStatus.ANSWERED,
    ReportKind.SLOPE: ExitStatus.ANSWERED,
    ReportKind.NOT_REPRODUCED: ExitStatus.NO_DIFFERENCE,
    ReportKind.INCONCLUSIVE: ExitStatus.INCONCLUSIVE,
}
NAME = "bench-bisect"
_MOST_COLUMNS = 200  # of a line of a command's output


def run(options: LocalOptions) -> int:
    """Do what the command line says; returns the exit status."""
    return told_in_lines(NAME, lambda: _run(options))


def told_in_lines(name: str, work: Callable[[], int]) -> int:
    """Return the exit status of `work`; print an error with the output behind it line by line."""
    try:
        return work()
    except BenchError as error:
        if "\n" not in error.message:
            raise
        say_with_output(name, error, error.hint or "correct what the last lines say, and try again")
        return ExitStatus.USAGE if isinstance(error, UsageError) else ExitStatus.INFRASTRUCTURE


def say_with_output(name: str, error: BenchError, next_step: str) -> None:
    """An error with the output behind it, each of its lines as long as a person reads."""
    first, _, output = error.message.partition("\n")
    say(several_lines(f"{name}: {first}"))
    for line in output.splitlines():
        say(f"  | {shorten(several_lines(line), _MOST_COLUMNS)}")
    say(f"{name}: {next_step}")


def _run(options: LocalOptions) -> int:
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
    return _tell(options, report)


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


def workshop_of(repository: Repository, campaign: Campaign, timeout_s: float) -> Workshop:
    """Where a campaign's builds are made; what a killed process left there is removed."""
    git, room, store = repository.git, repository.room, repository.store
    workshop = Workshop(git, room, store, campaign.recipe, timeout_s=timeout_s)
    workshop.clear()
    return workshop


def keep_builds(
    options: LocalOptions,
    campaign: Campaign,
    repository: Repository,
    tell: Callable[[str], None],
) -> None:
    """Take over what the last command built that only built otherwise, or tell how to."""
    earlier = earlier_than(campaign, repository)
    if earlier is None:
        return
    what = f"{count(len(earlier.builds), 'build')} and {count(earlier.runs, 'run')}"
    if options.keep_builds:
        campaign_id = repository.store.campaign(campaign.digest, campaign.told, now=time.time())
        take_over(earlier, campaign_id, campaign.recipe.digest, repository)
        tell(f"{what} by another --build or --with are kept")
    elif not repository.store.images(campaign.recipe.digest):
        tell(
            f"{what} by another --build or --with are not used: --keep-builds keeps them, "
            "where it was changed for revisions that failed"
        )


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
        prebuilt=_built_by_others(options, task, between),
        merges=() if options.first_parent else tuple(merges.sizes(between).values()),
    )


def _built_by_others(
    options: LocalOptions, task: LocalTask, between: RevisionRange
) -> frozenset[str]:
    """The hashes of the revisions that somebody else built; fails as the source does."""
    if not task.prebuilt:
        return frozenset()
    if options.fix:
        raise UsageError("what others built has no --with in it", hint="search without --prebuilt")
    if not task.steps:
        raise UsageError(
            "--prebuilt goes with --build: builds of your own prove a step",
            hint="or have --build fetch what others built of $BENCH_SHA, without --prebuilt",
        )
    shas = [one.sha for one in between.revisions]
    source = PrebuiltSource(pattern=task.prebuilt)
    found = which_are_there(source, shas, "")
    if not found:
        raise UsageError(
            f"--prebuilt {task.prebuilt}: nothing is there of {count(len(shas), 'revision')}",
            hint=f"of the newest it would be {source.place(shas[-1], '')}",
        )
    say(f"{len(found)} of {count(len(shas), 'revision')} need not be built")
    return found


def campaign_of(options: LocalOptions, task: LocalTask, revisions: Revisions) -> Campaign:
    """How revisions are built, and what is measured of them; fails as `Revisions.sha` does."""
    return Campaign(
        recipe=BuildRecipe(
            steps=task.steps,
            artefacts=task.artefacts,
            upload=task.upload,
            prebuilt=task.prebuilt,
            fix=options.fix and revisions.sha(options.fix),
        ),
        workload=task.workload,
        name=task.name,
    )


def _tell(options: LocalOptions, report: Report) -> int:
    if options.html is not None:
        write_page(options.html, report)
        say(f"the report is in {options.html}")
    markdown = report_markdown(report)
    text = markdown if options.form == "markdown" else report_text(report)
    answer(text, to_json(report), as_json=options.form == "json")
    tell_ci(outcome_of(report, markdown), os.environ)
    return _STATUS[report.kind]
