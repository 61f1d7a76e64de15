"""Builders and a testbed that act by a given truth on each revision of a broken branch."""

from collections.abc import Callable

from buildbot_bench.plugin.broker.alarms import Recoveries
from buildbot_bench.plugin.broker.breakages import Breakages
from buildbot_bench.plugin.broker.collect import Collector
from tests.fakes.past import Past

ERROR = "sys/net/if.c:12:3: error: use of undeclared identifier 'oops'"
PANIC = "panic: page fault"
Truth = Callable[[int], str]


def broken_since(first: int, how: str = "panic", until: int = 99) -> Truth:
    return lambda position: how if first <= position < until else "well"


class Lab:
    """Builds and boots what the broker asks for; `truth` says well, panic, error or lost."""

    def __init__(self, past: Past, truth: Truth) -> None:
        self.past, self.farm, self.truth = past, past.farm, truth
        self.built: list[int] = []
        self.booted: list[int] = []
        self._parts = (Breakages(past.farm), Recoveries(past.farm))

    async def came(self, *positions: int) -> None:
        """Commits came, and were measured for their own sake, as far as they could be."""
        await self.past.commits(*positions)
        for position in positions:
            if self.truth(position) == "error":
                await self.past.image(position, state="untestable", reason=ERROR)
                continue
            image = await self.past.image(position)
            await self.farm.store.keep_artefact(digest=image.digest, size=9, now=self.farm.now())
            await self._answer(await self.past.probe(image, state="issued", brid=1))

    async def _answer(self, probe) -> None:
        self.past.farm.master.reactor.advance(1)
        image = await self.farm.store.image(probe.image_id)
        now = self.farm.now()
        probe = await self.farm.store.change(probe, brid=7, issued_at=probe.issued_at or now)
        match self.truth(image.position):
            case "panic" | "accident" as how:
                for ordinal in range(2 if how == "panic" else 1):
                    await self.past.add(probe, ordinal, None)
                failed = {"failure": f"{PANIC} {image.position}", "failure_kind": "untestable"}
                await self.farm.store.change(probe, state="done", ended_at=now, **failed)
                await self.farm.store.change(
                    image, changed_at=now, state="untestable", reason=failed["failure"]
                )
            case "lost":
                await self.farm.store.change(probe, state="lost", failure="no power", ended_at=now)
            case _:
                await self.past.add(probe, 0, 1e6)
                await self.farm.store.change(probe, state="done", ended_at=now)

    async def turn(self) -> bool:
        """One cycle of the broker's part, and what the machines make of it; whether they did."""
        for part in self._parts:
            await part.advance()
        self.past.farm.master.reactor.advance(1)
        images = await self.farm.store.images(state="wanted")
        for image in images:
            self.built.append(image.position)
            if self.truth(image.position) == "error":
                await self.farm.store.change(
                    image, changed_at=self.farm.now(), state="untestable", reason=ERROR
                )
            else:
                digest = f"{image.position:x}-{image.ordinal}".ljust(64, "0")
                await self.farm.store.keep_artefact(digest=digest, size=9, now=self.farm.now())
                await self.past.image(image.position, ordinal=image.ordinal)
        await Collector(self.farm, self.farm.master).collect()
        probes = await self.farm.store.probes(state="new")
        for probe in probes:
            image = await self.farm.store.image(probe.image_id)
            self.booted.append(image.position)
            await self._answer(probe)
        return bool(images or probes)

    async def settle(self) -> None:
        for _ in range(40):
            if not await self.turn():
                return
        raise AssertionError("it never ends")
