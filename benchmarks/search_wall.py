"""The hours of a search on a farm with a few builders and one lab, with builds made ahead.

A build that is demanded preempts one that is made ahead; the ends' kernels are there from the
start, since an alarm was raised on them.
"""

from dataclasses import dataclass, field

from benchmarks.search_lab import Lab
from buildbot_bench.core.search import (
    Answer,
    Costs,
    Evidence,
    Measure,
    SearchPolicy,
    meanwhile,
    plan,
)


@dataclass
class Farm:
    """Builders and a lab on one clock; `made` are the images that are ready."""

    lab: Lab
    costs: Costs
    policy: SearchPolicy
    made: set[tuple[int, int]]
    now_s: float = 0.0
    evidence: Evidence = field(default_factory=Evidence)
    building: dict[tuple[int, int], float] = field(default_factory=dict)
    demanded: tuple[int, int] | None = None

    def search(self) -> Answer:
        """Run to the answer; `now_s` is then how long it took."""
        while isinstance(request := self._plan(), Measure):
            wanted = (request.position, request.image)
            self._build(wanted, request.prefetch)
            if wanted in self.made:
                self._boot(*wanted, request.prefetch)
            elif not self._fill_in():
                self._wait(min(self.building.values()))
        return request

    def _plan(self) -> Measure | Answer:
        self.evidence = Evidence(
            measurements=self.evidence.measurements,
            untestable=self.evidence.untestable,
            built=frozenset(position for position, image in self.made if image == 0),
        )
        return plan(self.lab.world.n, self.evidence, self.costs, self.policy)

    def _build(self, wanted: tuple[int, int], prefetch: tuple[int, ...]) -> None:
        """Start what is demanded, whatever it displaces; then what is worth building ahead."""
        self.demanded = wanted
        if wanted not in self.made and wanted not in self.building:
            if len(self.building) >= self.costs.builders:
                del self.building[max(self.building, key=lambda key: self.building[key])]
            self.building[wanted] = self.now_s + self.costs.build_s
        for position in prefetch:
            key = (position, 0)
            idle = len(self.building) < self.costs.builders
            if idle and key not in self.made and key not in self.building:
                self.building[key] = self.now_s + self.costs.build_s

    def _boot(self, position: int, image: int, prefetch: tuple[int, ...]) -> None:
        end_s = self.now_s + self.costs.boot_s + self.costs.run_s
        while self.building and min(self.building.values()) <= end_s:
            self._wait(min(self.building.values()))
            self._build((position, image), prefetch)
        self.now_s = end_s
        measured = self.lab.measure(position, image)
        self.evidence = Evidence(
            measurements=(*self.evidence.measurements, measured),
            untestable=self.evidence.untestable,
        )

    def _fill_in(self) -> bool:
        """Boot something useful while the demanded build goes on, if it ends before that."""
        left_s = min(self.building.values()) - self.now_s
        if left_s < self.costs.boot_s + self.costs.run_s:
            return False
        pending = () if self.demanded is None else (self.demanded,)
        extra = meanwhile(self.lab.world.n, self.evidence, self.costs, self.policy, pending)
        if extra is None:
            return False
        self._boot(extra.position, extra.image, ())
        return True

    def _wait(self, until_s: float) -> None:
        self.now_s = until_s
        for key in [key for key, ready_s in self.building.items() if ready_s <= until_s]:
            del self.building[key]
            self.made.add(key)


def hours(lab: Lab, costs: Costs, policy: SearchPolicy, kept_every: int = 0) -> tuple[float, bool]:
    """How long one search takes, and whether it was right; every so many kernels are kept."""
    n = lab.world.n
    made = {(0, 0), (n, 0)}
    made |= {(position, 0) for position in range(0, n, kept_every)} if kept_every else set()
    farm = Farm(lab=lab, costs=costs, policy=policy, made=made)
    answer = farm.search()
    right = {(step.old, step.new) for step in answer.steps} == lab.expected()
    return farm.now_s / 3600, right
