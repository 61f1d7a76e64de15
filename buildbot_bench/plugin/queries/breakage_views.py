"""Breakages and ends of incidents, as reports, pages and REST show them."""

from collections.abc import Iterator

from buildbot_bench.core.incident.breakage import bracket, plan_breakage
from buildbot_bench.core.incident.model import Breakage, Ending, Trial, TrialOutcome
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.report.compose import harmless
from buildbot_bench.core.report.incident_mails import (
    BreakageReport,
    RecoveryReport,
    TriedRevision,
    fails_under_traffic,
)
from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.columns import UNBUILT, SearchKind
from buildbot_bench.plugin.db.finding_rows import Recovery, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import branch_to_name
from buildbot_bench.plugin.queries.breakages import (
    BreakageInputs,
    gather_breakage,
    series_that_broke,
)
from buildbot_bench.plugin.queries.commit_views import reviews_of
from buildbot_bench.plugin.queries.evidence import item_of_search


def search_url(farm: Farm, search_id: int) -> str:
    """Where the page of a search is."""
    return f"{farm.master.config.buildbotURL}#/bench/searches/{search_id}"


async def breakage_report(farm: Farm, search: SearchRow) -> BreakageReport | None:
    """What is to be said of a breakage; None while it is searched, and of one that is fixed.

    Of a search that did not separate the culprit it is what all trials tell of its place.
    """
    answer = search.breakage
    if answer is None or answer.ending is Ending.MENDED:
        return None
    inputs = await gather_breakage(farm, search)
    revisions = inputs.range.revisions
    proved = answer.ending is Ending.BROKEN
    old, new = answer.old, answer.new
    if not proved:
        old, new = bracket(inputs.range.n, inputs.evidence)
    mail, item = farm.workflow.mail, await item_of_search(farm, search)
    links = farm.workflow.pages_of_commits(search.repository)
    return harmless(
        BreakageReport(
            farm=farm.workflow.name,
            search_id=search.id,
            builds=search.kind is SearchKind.BUILD,
            testbed=search.testbed,
            workload=search.workload,
            works=revisions[old],
            broken=revisions[new],
            suspects=revisions[old + 1 : new + 1],
            reason=answer.reason or _said_of(new, inputs),
            also=tuple(
                f"{one.workload} on {one.testbed}" for one in await series_that_broke(farm, search)
            ),
            proved=proved,
            detail=answer.detail,
            tried=tuple(_tried(search, inputs, item)),
            again="" if answer.before is None else revisions[answer.before].label,
            console=await _console(farm, search, revisions[new]),
            url=search_url(farm, search.id),
            operator=(mail.reply_to or "") if mail else "",
            branch=await branch_to_name(farm, search.branch),
            item=item,
            links=links,
            reviews=await reviews_of(farm, links, revisions[old + 1 : new + 1]),
        )
    )


def _said_of(position: int, inputs: BreakageInputs) -> str:
    """What the last trial of a broken position said."""
    failures = [
        trial
        for trial in inputs.evidence.trials
        if trial.position == position and trial.outcome is TrialOutcome.BROKEN
    ]
    return failures[-1].reason if failures else ""


def _tried(
    search: SearchRow, inputs: BreakageInputs, item: ItemUnderTest
) -> Iterator[TriedRevision]:
    """The revisions that were tried, oldest first; one line for what several trials said alike."""
    said: dict[tuple[int, TrialOutcome], list[Trial]] = {}
    for trial in inputs.evidence.trials:
        said.setdefault((trial.position, trial.outcome), []).append(trial)
    for (position, outcome), trials in sorted(said.items()):
        yield TriedRevision(
            label=inputs.range.revisions[position].label,
            outcome=_outcome(search.kind, outcome, item),
            tries=sum(trial.tries for trial in trials),
            reason=trials[-1].reason if outcome is not TrialOutcome.WORKS else "",
        )


def _outcome(kind: SearchKind, outcome: TrialOutcome, item: ItemUnderTest) -> str:
    """What became of a trial."""
    verb = "build" if kind is SearchKind.BUILD else item.iteration
    match outcome:
        case TrialOutcome.WORKS:
            return f"{verb}s"
        case TrialOutcome.BROKEN:
            return f"does not {verb}"
        case TrialOutcome.HIDDEN if kind is SearchKind.BOOT:
            return "does not build"
    return f"was lost to the {item.place}"


async def _console(farm: Farm, search: SearchRow, revision: Revision) -> str:
    """The end of what the DUT said at the last boot that failed; builds keep no log here."""
    if search.kind is SearchKind.BUILD:
        return ""
    images = await farm.store.all_images_between(
        revision.position, revision.position, search.repository
    )
    ids = [image.id for image in images if image.variant == revision.sha]
    probes = await farm.store.probes_of(ids, search.series)
    rows = await farm.store.iterations_of_probes([probe.id for probe in probes])
    return next((row.log for row in reversed(rows) if row.value is None and row.log), "")


async def recovery_report(farm: Farm, search: SearchRow, *, found: str) -> RecoveryReport | None:
    """What is to be said of the end of an incident; `found` is the subject of its first mail."""
    recovery = search.recovery
    if recovery is None:
        return None
    return RecoveryReport(
        farm=farm.workflow.name,
        search_id=search.id,
        kind=_what_failed(search, await item_of_search(farm, search)),
        testbed=search.testbed,
        workload=search.workload,
        old=await farm.git(farm.history.resolve, recovery.old_sha),
        new=await farm.git(farm.history.resolve, recovery.new_sha),
        since=await culprit_label(farm, search),
        found=found,
        difference=recovery.difference,
        url=search_url(farm, search.id),
        branch=await branch_to_name(farm, search.branch),
        links=farm.workflow.pages_of_commits(search.repository),
    )


def _what_failed(search: SearchRow, item: ItemUnderTest) -> str:
    """The kind of a search, `run` where commands fail, or `traffic`."""
    if search.kind is SearchKind.BOOT and item is ItemUnderTest.COMMAND:
        return item.iteration
    passes_none = search.breakage is not None and fails_under_traffic(search.breakage.reason)
    return "traffic" if passes_none and search.kind is SearchKind.BOOT else str(search.kind)


async def culprit_label(farm: Farm, search: SearchRow) -> str:
    """The commit that an incident began with."""
    new = search.breakage.new if search.breakage else None
    if new is None and (step := search.headline):
        new = step.new
    span = await farm.git(farm.span, search.old_sha, search.new_sha)
    return span.revisions[span.n if new is None else new].label


def recovery_json(recovery: Recovery | None) -> Json | None:
    """How an incident ended, as REST shows it; None while it is open."""
    if recovery is None:
        return None
    return {
        "old": {"label": recovery.old_label, "position": recovery.old_position},
        "new": {"label": recovery.new_label, "position": recovery.new_position},
        "at": recovery.at_s,
        "difference": recovery.difference,
    }


async def breakage_json(farm: Farm, search: SearchRow) -> Json | None:
    """What a search for a breakage came to, as REST shows it; None while it runs."""
    answer = search.breakage
    if answer is None:
        return None
    span = await farm.git(farm.span, search.old_sha, search.new_sha)
    labels = [revision.label for revision in span.revisions]
    return {
        "ending": str(answer.ending),
        "works": labels[answer.old],
        "broken": labels[answer.new],
        "suspects": labels[answer.old + 1 : answer.new + 1],
        "reason": answer.reason,
        "again": None if answer.before is None else labels[answer.before],
        "detail": answer.detail,
    }


async def breakage_strip(farm: Farm, search: SearchRow) -> Json:
    """A search for a breakage in the fields of a search's strip; `works` are those that do."""
    inputs = await gather_breakage(farm, search)
    evidence, first = inputs.evidence, inputs.range.old.position
    by = {
        outcome: sorted({t.position for t in evidence.trials if t.outcome is outcome})
        for outcome in TrialOutcome
    }
    works = set(by[TrialOutcome.WORKS])
    return {
        "searchid": search.id,
        "state": str(search.state),
        "commits": inputs.range.n,
        "unit": "",
        "higher_is_better": True,
        "measured": [],
        "works": by[TrialOutcome.WORKS],
        "built": sorted(evidence.built),
        "building": sorted({i.position - first for i in inputs.images if i.state in UNBUILT}),
        "untestable": sorted({*by[TrialOutcome.BROKEN], *by[TrialOutcome.HIDDEN]} - works),
        "folded": sorted(evidence.same_as_previous),
        "suspects": [],
        "culprits": _culprits(search, inputs),
        "left": None,
    }


def _culprits(search: SearchRow, inputs: BreakageInputs) -> list[Json]:
    answer = search.breakage
    if answer is None or answer.ending is not Ending.BROKEN:
        return []
    label = inputs.range.revisions[answer.new].label
    return [{"at": answer.new, "label": label, "effect": None}]


async def breakage_suspects(farm: Farm, search: SearchRow) -> list[Json]:
    """Between which revisions a running search knows the breakage to lie; nothing says where."""
    inputs = await gather_breakage(farm, search)
    old, new = bracket(inputs.range.n, inputs.evidence)
    labels = [revision.label for revision in inputs.range.revisions]
    return [{"old": labels[old], "new": labels[new], "probability": 1.0, "effect": None}]


async def next_trial(farm: Farm, search: SearchRow) -> str:
    """What is tried for a running search, in a few words."""
    inputs = await gather_breakage(farm, search)
    wanted = await calculate(plan_breakage, inputs.range.n, inputs.evidence)
    if isinstance(wanted, Breakage):
        return "planning"
    item = await item_of_search(farm, search)
    verb = "building" if search.kind is SearchKind.BUILD else item.iterating
    return f"{verb} {inputs.range.revisions[wanted.position].label}"
