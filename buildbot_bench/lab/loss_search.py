"""The rates at which a DUT loses nothing, or little, found within one boot by a library."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.metric import NDR, PDR
from buildbot_bench.lab.driver import CheckFinding

GOALS = {NDR.unit: 0.0, PDR.unit: 0.005}
"""The share of packets that may be lost, by unit: FD.io CSIT's two rates (NDR, PDR)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossSettings:
    """How a workload's rates without loss are searched.

    A trial lasts `trial_s`, and a rate is judged by `trials` of them, of which less than half may
    lose more than the goal allows: packets that a host loses now and then say nothing of the DUT.
    A rate is found when both its bounds are within `width`, a fraction. After `most_s` the search
    ends with the bounds that it has. `least_pps` is the lowest rate that is offered.
    """

    trial_s: float = 2.0
    trials: int = 3
    width: float = 0.005
    least_pps: float = 1000.0
    most_s: float = 900.0

    def __post_init__(self) -> None:
        if not 0.01 <= self.trial_s <= 60:  # noqa: PLR2004 - said in the complaint
            raise UsageError(f"trial_s: {self.trial_s:g} is not in 0.01..60")
        if self.trials not in range(1, 22):
            raise UsageError(f"trials: {self.trials} is not in 1..21")
        if not 0.001 <= self.width <= 0.2:  # noqa: PLR2004 - said in the complaint
            raise UsageError(f"width: {self.width:g} is not in 0.001..0.2")
        if not 1 <= self.least_pps < math.inf:
            raise UsageError(f"least_pps: {self.least_pps:g} is no rate")
        if not self.trial_s < self.most_s <= 24 * 3600:
            raise UsageError(f"most_s: {self.most_s:g} is not longer than a trial, or than a day")


@dataclass(frozen=True, kw_only=True, slots=True)
class LossTrial:
    """What one trial gave: packets that were to be sent, were sent, and arrived.

    `counters` are by how much the DUT's counters of drops, errors and interrupts rose.
    """

    rate_pps: float
    duration_s: float
    wanted: int
    sent: int
    received: int
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The trial in a log: `812000 pps for 2 s: sent 1624000, lost 12, igb0 Idrop 12`."""
        said = [f"sent {self.sent}", f"lost {self.sent - self.received}"]
        said += [f"{name} {number}" for name, number in self.counters.items()]
        return f"{self.rate_pps:.0f} pps for {self.duration_s:g} s: {', '.join(said)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRate:
    """A rate in pps: its bounds, None where none was found, and its conditional throughput.

    That is the lower bound less what was lost there (RFC 9971): the metric's value.
    """

    lower_pps: float | None
    upper_pps: float | None
    value_pps: float | None

    def __str__(self) -> str:
        low, high = ("none" if b is None else f"{b:.0f}" for b in (self.lower_pps, self.upper_pps))
        return f"{low} to {high} pps"


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRates:
    """The rate of each goal by its unit, and all trials in their order.

    `narrow` tells whether the bounds came as near to each other as was asked for.
    """

    rates: Mapping[str, FoundRate]
    trials: tuple[LossTrial, ...]
    seconds: float
    narrow: bool

    @property
    def ndr_pps(self) -> float | None:
        """The rate at which nothing is lost; None where there is none."""
        return self.rates[NDR.unit].value_pps

    @property
    def values(self) -> dict[str, float]:
        """What was found, in pps by its unit."""
        found = {unit: rate.value_pps for unit, rate in self.rates.items()}
        return {unit: value for unit, value in found.items() if value is not None}

    @property
    def facts(self) -> dict[str, str]:
        """The bounds of each rate, and what the search took."""
        bounds = {unit: str(rate) for unit, rate in self.rates.items()}
        return bounds | {"trials": f"{len(self.trials)} in {self.seconds:.0f} s"}

    @property
    def log(self) -> str:
        """Each trial, and then what they come to."""
        lines = [one.line for one in self.trials]
        lines += [f"{unit}: {rate}" for unit, rate in self.rates.items()]
        if not self.narrow:
            lines.append("the time was over before the bounds were near each other")
        return "".join(f"{line}\n" for line in lines)


def search_rates(
    offer: Callable[[float, float], LossTrial], settings: LossSettings, *, most_pps: float
) -> FoundRates:
    """Offer rates up to `most_pps`; `offer` takes a rate in pps and a duration in seconds."""
    library = need_library("MLRsearch", "MLRsearch")
    if settings.least_pps >= most_pps:
        raise InfraError(
            f"the rates from {settings.least_pps:.0f} to {most_pps:.0f} pps are none",
            hint="lower least_pps, or say offered_pps",
        )
    goals = {
        unit: library.SearchGoal(
            loss_ratio=lost,
            exceed_ratio=0.5 if settings.trials > 1 else 0.0,
            relative_width=settings.width,
            initial_trial_duration=settings.trial_s,
            final_trial_duration=settings.trial_s,
            duration_sum=settings.trials * settings.trial_s,
            fail_fast=False,
        )
        for unit, lost in GOALS.items()
    }
    config = library.Config(
        goals=goals.values(),
        min_load=settings.least_pps,
        max_load=most_pps,
        search_duration_max=settings.most_s,
        warmup_duration=0.0,
    )
    measured, trials = _measurer(library, offer)
    search = library.MultipleLossRatioSearch(config=config)
    began_s = time.monotonic()
    narrow = True
    try:
        search.search(measured, debug=lambda _: None)
    except RuntimeError as error:
        # It says so, by these words alone, when its time is over: what it knows then is kept.
        if "takes too long" not in str(error):
            raise
        narrow = False
    bounds = {
        unit: search.database.get_relevant_bounds(search.scaling.goal_to_final_target[goal])
        for unit, goal in goals.items()
    }
    return FoundRates(
        rates={unit: _rate(library.GoalResult.from_bounds(own)) for unit, own in bounds.items()},
        trials=tuple(trials),
        seconds=time.monotonic() - began_s,
        narrow=narrow,
    )


def _rate(result: object) -> FoundRate:
    lower, upper, value = (
        None if load is None else float(load)
        for load in (
            getattr(result, name)
            for name in ("relevant_lower_bound", "relevant_upper_bound", "conditional_throughput")
        )
    )
    return FoundRate(lower_pps=lower, upper_pps=upper, value_pps=value)


def _measurer(
    library: ModuleType, offer: Callable[[float, float], LossTrial]
) -> tuple[object, list[LossTrial]]:
    """What MLRsearch calls for a trial, and the list of what it gave."""
    trials: list[LossTrial] = []

    class Measurer(library.AbstractMeasurer):  # type: ignore[misc,name-defined]
        def measure(self, intended_duration: float, intended_load: float) -> object:
            trial = offer(intended_load, intended_duration)
            trials.append(trial)
            return library.MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                intended_count=trial.wanted,
                offered_count=trial.sent,
                # What others send to the receiver would pass for a loss.
                forwarding_count=min(trial.received, trial.sent),
            )

    return Measurer(), trials


def need_library(package: str, module: str) -> ModuleType:
    """The module of a package that is installed by choice; InfraError where it is not."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InfraError(
            f"{package} is not installed here, which a workload with loss or latency takes",
            hint=f"pip install 'buildbot-bench[loss]', or {package}, for the lab worker's Python",
        ) from error


def library_finding(package: str, module: str) -> CheckFinding:
    """Whether a lab has a package that its workloads take."""
    try:
        need_library(package, module)
    except InfraError as error:
        return CheckFinding(subject=package, detail=error.message, remedy=error.hint)
    return CheckFinding(subject=package, detail="is installed")
