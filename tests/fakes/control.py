"""Measured rounds of a testbed's control image: one a day, with a little noise."""

from buildbot_bench.plugin.broker.quarantine import ControlImages
from buildbot_bench.plugin.db.rows import ProbeRow
from tests.fakes.past import Past, boots

DAY_S = 86400.0
PLAIN = "apu: {worker: lab, boot: 60s, run: 30s}"
CONTROLLED = PLAIN.replace(
    "}", ", control: {revision: r4, every: 1d, iterations: 3, owner: lab@example.org}}"
)
WITH_CONTROL = (PLAIN, CONTROLLED)
CONTROL_POSITION = 4


async def answer_control(
    past: Past, level: float | None, *, epoch: str = "", position: int = CONTROL_POSITION
) -> ProbeRow:
    """The lab does what the broker asked of the control image, at the earliest a day later."""
    past.farm.master.reactor.advance(DAY_S)
    (probe,) = [p for p in await past.farm.store.probes(state="new") if p.reason == "control"]
    image = await past.farm.store.image(probe.image_id)
    if image.state == "wanted":
        await past.image(position)
    probe = await past.farm.store.change(probe, epoch=epoch)
    if level is None:
        failed = {"failure": "the DUT does not boot", "failure_kind": "untestable"}
        return await past.farm.store.change(probe, state="done", ended_at=past.farm.now(), **failed)
    for ordinal, value in enumerate(boots(level, probe.iterations, series=probe.id)):
        await past.add(probe, ordinal, value)
    return await past.farm.store.change(probe, state="done", ended_at=past.farm.now())


async def control_rounds(past: Past, *levels: float | None, epoch: str = "") -> None:
    """The lab measures the control image, a round for each level; the broker looks at each."""
    controls = ControlImages(past.farm)
    for level in levels:
        await controls.advance()
        await answer_control(past, level, epoch=epoch)
        await controls.advance()
