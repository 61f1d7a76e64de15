"""The mail to the lab's owner on a workload that is broken on a testbed."""

from __future__ import annotations

from buildbot_bench.core.health import BrokenWorkload
from buildbot_bench.core.report.broken_workload import (
    BrokenWorkloadReport,
    harmless_broken_workload,
)
from buildbot_bench.plugin.db.states import SearchKind, SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import held_testbeds
from buildbot_bench.plugin.outbox.farm_mail import farm_envelope, keep_mail, lab_url, owners
from buildbot_bench.plugin.queries.workloads import Trouble, troubles_of_workloads
from buildbot_bench.render.farm_mails import compose_broken_workload
from buildbot_bench.workflow import Mail

_KEY = "workload:"


async def write_broken_workloads(farm: Farm, mail: Mail) -> None:
    """Write the mail of each outage that has none.

    The owner of a testbed in quarantine has a mail about that.
    """
    held = await held_testbeds(farm)
    for trouble in (await troubles_of_workloads(farm)).values():
        verdict = trouble.verdict
        if not isinstance(verdict, BrokenWorkload) or trouble.testbed in held:
            continue
        worked = "never" if verdict.worked is None else verdict.worked.number
        series = f"{_KEY}{trouble.testbed}:{trouble.workload}"
        key = f"{series}:{worked}"
        if key in {row.key for row in await farm.store.mails_like(key)}:
            continue
        report = await _report(farm, trouble, verdict)
        owner = owners(farm, trouble.testbed, mail)
        envelope = farm_envelope(farm, mail, owner, f"workload.{verdict.second.number}")
        await keep_mail(farm, key, envelope, compose_broken_workload(report, envelope))


async def _report(farm: Farm, trouble: Trouble, verdict: BrokenWorkload) -> BrokenWorkloadReport:
    searches = await farm.store.searches(states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,))
    series = (trouble.testbed, trouble.workload)
    return harmless_broken_workload(
        BrokenWorkloadReport(
            farm=farm.workflow.name,
            testbed=trouble.testbed,
            workload=trouble.workload,
            first=verdict.first.label,
            second=verdict.second.label,
            stood_well=verdict.stood_well,
            reason=verdict.second.reason,
            worked_s=None if verdict.worked is None else verdict.worked.at_s,
            fails_since_s=verdict.since[0].at_s,
            output=trouble.output,
            searches=tuple(
                sorted(one.id for one in searches if (one.testbed, one.workload) == series)
            ),
            url=lab_url(farm),
        )
    )
