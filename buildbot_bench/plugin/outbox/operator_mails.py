"""The mails to a farm's operators, at most one a day for each trouble."""

from pathlib import Path

from buildbot_bench.api.states import SearchState
from buildbot_bench.core.condition import SILENCE_S, Hang
from buildbot_bench.core.health.workload import BrokenWorkload
from buildbot_bench.core.report.harmless import harmless
from buildbot_bench.core.report.operator_mails import (
    BrokenWorkloadReport,
    HangReport,
    SilenceReport,
)
from buildbot_bench.plugin.db.states import ProbeReason, SearchKind
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import held_testbeds, testbed_of
from buildbot_bench.plugin.outbox.farm_mail import farm_envelope, keep_mail, lab_url, owners
from buildbot_bench.plugin.outbox.search_mail import operators
from buildbot_bench.plugin.queries.breakages import Trouble, troubles_of_workloads
from buildbot_bench.plugin.queries.evidence import item_on
from buildbot_bench.plugin.queries.overview import worker
from buildbot_bench.workflow.settings import Mail

# What waited while no master ran is measured now, or this is how long it takes to see that it is
# not.
GRACE_S = 3600.0
_KEY = "silence:"


class SilenceWatch:
    """Writes one mail for each silence of a testbed, from an hour after the farm's start on."""

    def __init__(self) -> None:
        self._first_look_s: float | None = None

    async def write(self, farm: Farm, mail: Mail) -> None:
        """Write the mail of each testbed that fell silent."""
        now = farm.now()
        if self._first_look_s is None:
            self._first_look_s = now
        if now - self._first_look_s < GRACE_S:
            return
        for testbed, (waiting, oldest_s) in (await _overdue(farm, now - SILENCE_S)).items():
            last_s = await farm.store.last_boot_at(testbed)
            if last_s is not None and now - last_s < SILENCE_S:
                continue
            key = f"{_KEY}{testbed}:{'never' if last_s is None else int(last_s)}"
            if await farm.store.mails_like(key):
                continue
            report = await _report(farm, testbed, last_s, waiting, oldest_s)
            about = f"silence.{testbed}"
            envelope = farm_envelope(farm, mail, owners(farm, testbed, mail), about)
            await keep_mail(farm, key, envelope, report)


async def _overdue(farm: Farm, before_s: float) -> dict[str, tuple[int, float]]:
    """How many requests have waited since a time for each testbed, and since when.

    What a quarantine holds up does not count: its owner has a mail about that.
    """
    found: dict[str, tuple[int, float]] = {}
    for testbed, reason, number, oldest_s in await farm.store.overdue(before_s):
        if testbed not in farm.workflow.testbeds:
            continue
        if reason != ProbeReason.CONTROL and await _is_held(farm, testbed):
            continue
        waiting, since_s = found.get(testbed, (0, oldest_s))
        found[testbed] = (waiting + number, min(since_s, oldest_s))
    return found


async def _is_held(farm: Farm, testbed: str) -> bool:
    return any(row.ended_at is None for row in await farm.store.quarantines(testbed))


async def _report(
    farm: Farm, testbed: str, last_s: float | None, waiting: int, oldest_s: float
) -> SilenceReport:
    name = testbed_of(farm, testbed).worker
    troubles = await farm.store.troubles(testbed, last_s or 0.0, limit=1)
    return harmless(
        SilenceReport(
            farm=farm.workflow.name,
            testbed=testbed,
            worker=name,
            connected=bool((await worker(farm, name))["connected"]),
            now_s=farm.now(),
            last_boot_s=last_s,
            waiting=waiting,
            oldest_s=oldest_s,
            trouble=(troubles[0].failure or "") if troubles else "",
            url=lab_url(farm),
            item=await item_on(farm, testbed),
        )
    )


PAUSE_S = 24 * 3600.0


async def write_hang(farm: Farm, hang: Hang) -> None:
    """Write the mail, unless this master's last one is younger than a day."""
    mail = farm.workflow.mail
    series = f"hang:{farm.master.masterid}:"
    if mail is None or any(
        farm.now() - earlier.created_at < PAUSE_S for earlier in await farm.store.mails_like(series)
    ):
        return
    file = Path(hang.path)
    report = harmless(
        HangReport(
            farm=farm.workflow.name,
            what=hang.what,
            at_s=hang.at_s,
            again_s=farm.now(),
            file=f"{file.parent.name}/{file.name}",
            url=lab_url(farm),
        )
    )
    about = f"hang.{farm.master.masterid}.{int(hang.at_s)}"
    envelope = farm_envelope(farm, mail, operators(mail), about)
    await keep_mail(farm, f"{series}{int(hang.at_s)}", envelope, report)


_WORKLOAD_KEY = "workload:"


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
        series = f"{_WORKLOAD_KEY}{trouble.testbed}:{trouble.workload}"
        key = f"{series}:{worked}"
        if key in {row.key for row in await farm.store.mails_like(key)}:
            continue
        report = await _of_broken(farm, trouble, verdict)
        owner = owners(farm, trouble.testbed, mail)
        envelope = farm_envelope(farm, mail, owner, f"workload.{verdict.second.number}")
        await keep_mail(farm, key, envelope, report)


async def _of_broken(farm: Farm, trouble: Trouble, verdict: BrokenWorkload) -> BrokenWorkloadReport:
    searches = await farm.store.searches(states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,))
    series = (trouble.testbed, trouble.workload)
    return harmless(
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
