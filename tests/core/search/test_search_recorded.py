"""A recorded range whose second step stands right behind a larger one, with little history."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

import buildbot_bench.demo
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.sample import Iteration, Sample
from buildbot_bench.core.search import Answer, Costs, Evidence, Measure, Measurement, plan
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.lab.drivers.replay import ReplayDriver, ReplaySettings

FIRST, LAST = 312880, 312930
BIG, SMALL = (312903, 312904), (312904, 312905)
COSTS = Costs(build_s=300, boot_s=65, run_s=30)
SERIES = ReplaySettings(
    series=Path(buildbot_bench.demo.__file__).with_name("data") / "series.jsonl",
    dut="AMD_GX-412TC_4Cores",
    label="fbsd12-head.iflib",
)


class RecordedLab:
    """Boots what a replayed testbed recorded; an image is a file of its own, as in the demo."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._driver = ReplayDriver(SERIES, home)

    def measure(self, position: int, image: int, at_s: float) -> Measurement:
        kernel = self._home / "kernel"
        kernel.write_text(f"r{FIRST + position}\nimage {image}\n", encoding="utf-8")
        self._driver.install(kernel, hashlib.sha256(kernel.read_bytes()).hexdigest())
        value = self._driver.blast("forwarding").values["pps"]
        return Measurement(position=position, image=image, value=value, at_s=at_s)


def learnt(policy: SearchPolicy, evidence: Evidence) -> SearchPolicy:
    """What the values themselves tell of the noise: a testbed without any history."""
    boots: dict[tuple[int, int], list[Iteration]] = {}
    for m in evidence.measurements:
        one = Iteration(value=m.value, at_s=m.at_s)
        boots.setdefault((m.position, m.image), []).append(one)
    noise = learn(
        [
            Sample(label=f"r{FIRST + p}", position=p, image=i, iterations=tuple(iterations))
            for (p, i), iterations in boots.items()
        ]
    )
    return replace(policy, sigma_run=noise.sigma_run, sigma_build=noise.sigma_build)


@pytest.mark.parametrize("sigma_build", [None, 0.007, 0.01, 0.016])
def test_a_step_right_behind_a_larger_one_is_found_or_told(tmp_path, sigma_build):
    lab = RecordedLab(tmp_path)
    policy = SearchPolicy(sigma_run=0.0051, sigma_build=sigma_build)
    evidence = Evidence()
    request: Measure | Answer
    while True:
        told = learnt(policy, evidence) if sigma_build is None else policy
        request = plan(LAST - FIRST, evidence, COSTS, told)
        if isinstance(request, Answer):
            break
        value = lab.measure(request.position, request.image, 95.0 * len(evidence.measurements))
        evidence = replace(
            evidence,
            measurements=(*evidence.measurements, value),
            built=evidence.built | {request.position},
        )
        assert len(evidence.measurements) < 80

    found = {(FIRST + step.old, FIRST + step.new): step.effect for step in request.steps}
    assert found[BIG] == pytest.approx(0.23, abs=0.03)
    open_ends = [(FIRST + old, FIRST + new) for old, new in request.unresolved]
    is_open = any(old < SMALL[1] <= new for old, new in open_ends)
    assert SMALL in found or is_open or request.left_out > policy.error
    assert set(found) <= {BIG, SMALL}
