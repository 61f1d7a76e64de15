"""The hours that builders and a testbed take for a search's requests."""

from __future__ import annotations

from dataclasses import dataclass, field

from buildbot_bench.core.search.model import Costs

Image = tuple[int, int]


@dataclass(kw_only=True, slots=True)
class Timeline:
    """Builders and a testbed on one clock, in seconds; `made` are the images that are there.

    `builds` counts those that were asked for, not those that were made ahead in vain.

    A build that is demanded displaces the one that would be ready last. While the testbed waits for
    a build it boots what it has; that takes from the boots of such images that are asked for later.
    """

    costs: Costs
    made: set[Image]
    now_s: float = 0.0
    builds: int = 0
    _building: dict[Image, float] = field(default_factory=dict)
    _ahead: set[Image] = field(default_factory=set)
    _idle_s: float = 0.0

    def boot(self, image: Image, ahead: tuple[int, ...]) -> float:
        """Boot an image, built first if it is not there; the time when it began."""
        at_hand = image in self.made and image not in self._ahead
        self.build(image, ahead)
        began_s, takes_s = self.now_s, self.costs.boot_s + self.costs.run_s
        if at_hand:
            saved_s = min(self._idle_s, takes_s)
            self._idle_s -= saved_s
            takes_s = (takes_s - saved_s) / max(self.costs.testbeds, 1)
        self.now_s += takes_s
        return began_s

    def build(self, image: Image, ahead: tuple[int, ...]) -> None:
        """Wait until an image is built; meanwhile free builders build ahead."""
        self._finish()
        builders = max(self.costs.builders, 1)
        if image not in self.made and image not in self._building:
            self.builds += 1
            if len(self._building) >= builders:
                last = max(self._building, key=lambda one: self._building[one])
                del self._building[last]
                self._ahead.discard(last)
            self._building[image] = self.now_s + self.costs.build_s
        elif image in self._ahead:
            self.builds += 1
            self._ahead.remove(image)
        for position in ahead:
            other = (position, 0)
            known = other in self.made or other in self._building
            if len(self._building) < builders and not known:
                self._building[other] = self.now_s + self.costs.build_s
                self._ahead.add(other)
        if image not in self.made:
            ready_s = self._building[image]
            self._idle_s += ready_s - self.now_s
            self.now_s = ready_s
            self._finish()

    def _finish(self) -> None:
        for image in [one for one, ready_s in self._building.items() if ready_s <= self.now_s]:
            del self._building[image]
            self.made.add(image)
