"""A farm's past: commits, images, measurements and searches.

Revision rN is the commit at position N of the repository that the plugin's tests share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import count
from random import Random

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.columns import JudgementState, ProbeReason, SearchReason
from buildbot_bench.plugin.db.finding_rows import (
    IncidentSeriesRow,
    JudgementRow,
    NewIncidentSeries,
    NewJudgement,
    NewSearch,
    QuarantineRow,
    SearchRow,
)
from buildbot_bench.plugin.db.rows import ImageRow, NewCommit, ProbeRequest, ProbeRow
from buildbot_bench.plugin.farm import Farm
from tests.fakes.database import iterated

TESTBED, WORKLOAD = "apu", "forwarding"
RUN_NOISE = 0.004  # what boots of one image differ by, as a fraction


def boots(level: float, iterations: int = 5, *, series: int = 0) -> tuple[float, ...]:
    """What so many boots of one image measure; another series differs, the same one does not."""
    noise = Random(series)
    return tuple(level * (1 + noise.gauss(0, RUN_NOISE)) for _ in range(iterations))


class Past:
    """Writes rows as the broker and the steps would have; everything may be said otherwise.

    `facts` are what its testbeds report of each iteration, `unit` is what they measure in.
    """

    def __init__(self, farm: Farm, shas: Mapping[int, str], *, branch: str = "main") -> None:
        self.facts: Mapping[str, str] = {}
        self.unit = "pps"
        self.farm = farm
        self.shas = shas
        self.branch = branch
        self._serial = count(1)

    async def commits(
        self, *positions: int, important: bool = True, arrived_at: float = 0.0
    ) -> None:
        """These came to the branch."""
        rows = [
            NewCommit(
                sha=self.shas[position],
                position=position,
                parent_sha=self.shas.get(position - 1),
                svn=position,
                subject=f"Change {position}",
                important=important,
                arrived_at=arrived_at,
            )
            for position in positions
        ]
        await self.farm.store.add_commits(self.branch, rows)

    async def image(self, position: int, *, ordinal: int = 0, **columns) -> ImageRow:
        """One build of a revision; by default it is there, with a digest of its own."""
        name = columns.pop("sha", self.shas[position])
        built = {"state": "built", "digest": f"{position:x}-{ordinal}".ljust(64, "0"), "size": 9}
        image = await self.farm.store.ensure_image(
            sha=name,
            variant=name,
            ordinal=ordinal,
            position=position,
            label=f"r{position}",
            branch=self.branch,
            now=self.farm.now(),
        )
        changed = await self.farm.store.change(
            image,
            changed_at=self.farm.now(),
            **(columns if "state" in columns else built | columns),
        )
        assert changed is not None
        return changed

    async def probe(self, image: ImageRow | int, **columns) -> ProbeRow:
        """A request for iterations; by default a commit's, not issued yet."""
        if isinstance(image, int):
            image = await self.image(image)
        serial = next(self._serial)
        asked = {
            "name": f"past:{serial}",
            "testbed": TESTBED,
            "workload": WORKLOAD,
            "iterations": 5,
            "priority": 10,
            "reason": ProbeReason.COMMIT,
        }
        known = {field.name for field in fields(ProbeRequest)}
        given = {name: columns.pop(name) for name in list(columns) if name in known}
        request = ProbeRequest(image_id=image.id, **asked | given)
        token = columns.pop("token", f"job-{serial}")
        probe = await self.farm.store.ensure_probe(request, token=token, now=self.farm.now())
        if not columns:
            return probe
        changed = await self.farm.store.change(probe, **columns)
        assert changed is not None
        return changed

    async def measured(
        self, image: ImageRow | int, values: Sequence[float], *, unit: str = "", **columns
    ) -> ProbeRow:
        """A probe that ended well, with these values, each measured after all that was before."""
        columns = {"state": "done", "iterations": len(values)} | columns
        probe = await self.probe(image, **columns)
        for ordinal, value in enumerate(values):
            await self.add(probe, ordinal, value, unit=unit)
        return probe

    async def add(
        self,
        probe: ProbeRow,
        ordinal: int,
        value: float | None,
        *,
        unit: str = "",
        log: str = "",
    ) -> None:
        """One iteration of a probe, a second after the one before; no value: it failed."""
        self.farm.master.reactor.advance(1)
        await iterated(
            self.farm.store,
            probe,
            "no traffic" if value is None else value,
            at_s=self.farm.now(),
            ordinal=ordinal,
            unit=unit or self.unit,
            duration_s=2.0,
            log=log,
            facts=self.facts,
        )

    async def lab_answers(
        self, level: Callable[[int], float | None], *, states: Sequence[str] = ("new",)
    ) -> int:
        """Build and measure all that is asked for; `level` of a position, None if untestable.

        Says how many probes there were. After a whole turn some of them are `issued`.
        """
        store = self.farm.store
        probes = [probe for state in states for probe in await store.probes(state=state)]
        for probe in probes:
            image = await store.image(probe.image_id)
            value = level(image.position)
            if value is None:
                await store.change(image, changed_at=self.farm.now(), state="untestable")
                failed = {"failure": "panic", "failure_kind": "untestable"}
                await store.change(probe, state="done", **failed)
                continue
            if image.state == "wanted":
                image = await self.image(image.position, ordinal=image.ordinal)
            for ordinal, one in enumerate(boots(value, probe.iterations, series=probe.id)):
                await self.add(probe, ordinal, one)
            await store.change(probe, state="done", ended_at=self.farm.now())
        return len(probes)

    async def quarantine(self, probe_id: int, **columns) -> QuarantineRow:
        """A round of the control image that went wrong."""
        usual = {"testbed": TESTBED, "workload": WORKLOAD, "epoch": "", "since_s": 0.0}
        values = usual | {"shift": None, "now": self.farm.now()} | columns
        return await self.farm.store.begin_quarantine(probe_id=probe_id, **values)

    async def search(self, old: int = 1, new: int = 11, **columns) -> SearchRow:
        """A search that a person started; it runs."""
        asked = {
            "key": None,
            "testbed": TESTBED,
            "unit": "pps",
            "claimed": None,
            "min_effect": 0.02,
            "error": 0.01,
            "reason": SearchReason.PERSON,
            "requester": "ann",
        }
        given = {name: columns.pop(name) for name in list(columns) if name in asked}
        wanted = NewSearch(
            branch=self.branch,
            workload=WORKLOAD,
            old_sha=self.shas[old],
            old_position=old,
            new_sha=self.shas[new],
            new_position=new,
            **asked | given,
        )
        search = await self.farm.store.add_search(wanted, now=self.farm.now())
        if not columns:
            return search
        changed = await self.farm.store.change(search, **columns)
        assert changed is not None
        return changed

    async def answered(self, answer: Answer, state: str = "found", **columns) -> SearchRow:
        """A search that has ended with an answer."""
        ended = {"state": state, "answer": answer, "ended_at": self.farm.now()}
        return await self.search(**ended | columns)

    async def found(self, step: Step, measured: Sequence[int] = (6, 7)) -> SearchRow:
        """A search from r1 to r11 that has found a step at r7."""
        await self.commits(*range(1, 12))
        for position in measured:
            level = 1e6 if position < 7 else 1e6 * (1 + step.effect)
            await self.measured(position, boots(level), reason="search")
        why = "each step is located"
        return await self.answered(
            Answer(steps=(step,), reproduced=True, unresolved=(), reason=why)
        )

    async def joined(self, search_id: int, workload: str, **columns) -> IncidentSeriesRow:
        """A series whose alarm joined the incident of a search; it waits."""
        joining = NewIncidentSeries(
            search_id=search_id,
            testbed=TESTBED,
            workload=workload,
            unit="pps",
            old_sha=self.shas[1],
            old_position=1,
            new_sha=self.shas[11],
            new_position=11,
            claimed=-0.2,
        )
        member = await self.farm.store.join_incident(joining, now=self.farm.now())
        if not columns:
            return member
        changed = await self.farm.store.change(member, **columns)
        assert changed is not None
        return changed

    async def judgement(self, old: int, new: int, **columns) -> JudgementRow:
        """A verdict on a revision, by default that it made things worse."""
        asked = {
            "testbed": TESTBED,
            "workload": WORKLOAD,
            "unit": "pps",
            "state": JudgementState.REGRESSION,
            "branch": self.branch,
        }
        new_one = NewJudgement(
            old_sha=self.shas[old],
            old_position=old,
            new_sha=self.shas[new],
            new_position=new,
            **asked | columns,
        )
        return await self.farm.store.ensure_judgement(new_one, now=self.farm.now())
