"""Disturbances of a boot's ln(value), by the hour or by the boot, each with its own draws.

A disturbance by the hour is drawn once for a lab: a function of the clock. One by the boot is drawn
once for a lab too (how often, how far), and then once for each boot.
"""

from collections.abc import Callable

import numpy as np

HOUR_S = 3600.0
# No search that is judged lasts longer; what comes later repeats the last value.
_HORIZON_H = 400
_GRID_H = 0.1

Rng = np.random.Generator
ByHour = Callable[[float], float]
ByBoot = Callable[[Rng], float]


def shift_once(far: float, within_h: float = 6.0) -> Callable[[Rng], ByHour]:
    """All boots after one moment of the first hours lie off by `far`, up or down."""

    def draw(rng: Rng) -> ByHour:
        begins_s = rng.uniform(0, within_h) * HOUR_S
        offset = np.log1p(far * rng.choice([-1, 1]))
        return lambda at_s: float(offset) if at_s >= begins_s else 0.0

    return draw


def bad_hours(least: float, most: float, every_h: float = 4.0) -> Callable[[Rng], ByHour]:
    """Boots are slow in windows of 20 to 90 minutes, each by a loss of its own."""

    def draw(rng: Rng) -> ByHour:
        windows: list[tuple[float, float, float]] = []
        at_s = 0.0
        while at_s < _HORIZON_H * HOUR_S:
            begins_s = at_s + rng.exponential(every_h * HOUR_S)
            at_s = begins_s + rng.uniform(1 / 3, 1.5) * HOUR_S
            windows.append((begins_s, at_s, float(np.log1p(-rng.uniform(least, most)))))
        begins = np.array([window[0] for window in windows])

        def offset(now_s: float) -> float:
            last = int(np.searchsorted(begins, now_s, side="right")) - 1
            return windows[last][2] if last >= 0 and now_s < windows[last][1] else 0.0

        return offset

    return draw


def random_walk(per_hour: float) -> Callable[[Rng], ByHour]:
    """A walk without a home: after h hours it is off by `per_hour` times the root of h."""

    def draw(rng: Rng) -> ByHour:
        count = round(_HORIZON_H / _GRID_H)
        path = np.cumsum(rng.normal(0, per_hour * np.sqrt(_GRID_H), count))
        grid_s = np.arange(count) * _GRID_H * HOUR_S
        return lambda at_s: float(np.interp(at_s, grid_s, path))

    return draw


def daily_cycle(far: float) -> Callable[[Rng], ByHour]:
    """A wave of 24 hours, `far` either way, that begins anywhere: a room that warms and cools."""

    def draw(rng: Rng) -> ByHour:
        phase = rng.uniform(0, 2 * np.pi)
        return lambda at_s: float(far * np.sin(phase + 2 * np.pi * at_s / (24 * HOUR_S)))

    return draw


def slower_mode(share: tuple[float, float], far: tuple[float, float]) -> Callable[[Rng], ByBoot]:
    """A share of the boots is slow; share and loss are drawn for each lab between the limits."""

    def draw(rng: Rng) -> ByBoot:
        slow, offset = rng.uniform(*share), float(np.log1p(-rng.uniform(*far)))
        return lambda boot: offset if boot.random() < slow else 0.0

    return draw


def lost_runs(share: float, least: float, most: float) -> Callable[[Rng], ByBoot]:
    """A share of the runs loses something between the limits, each of its own."""

    def draw(_: Rng) -> ByBoot:
        return lambda boot: (
            float(np.log1p(-boot.uniform(least, most))) if boot.random() < share else 0.0
        )

    return draw
