"""What each of several factors does, and whether that depends on the others: a factorial design.

A cell is one combination of levels. Its level is the median of its values, in logs, and where it
has several images the mean of their medians: where factors multiply, they do not interact. The
variance of a median of n values of a normal distribution is pi/2 times that of their mean (Kendall
and Stuart, The Advanced Theory of Statistics, 10.10). Cells that boot the same image share its luck
with layout: it leaves the difference of two such cells, and the interaction of a tunable with a
patch. Of a median over images it would not: that is a value of one or two of them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from statistics import fmean, median

import numpy as np
from scipy.special import stdtrit

from buildbot_bench.core.compare.model import FactorAnswer, Interaction, SeriesValues, SimpleEffect
from buildbot_bench.core.compare.variants import cell_label, cell_of, design_of
from buildbot_bench.core.figures import fine_percent, size
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise

_MEDIAN = math.pi / 2

Cell = tuple[str, ...]  # a level of each factor, in their order


def factors(
    values: SeriesValues, labels: Sequence[str], *, confidence: float
) -> FactorAnswer | None:
    """What the factors do that the labels name, if any; `confidence` of an interval in percent."""
    levels = design_of(labels)
    if not levels:
        return None
    places = {tuple(cell_of(label).values()): n for n, label in enumerate(labels)}
    usable = {
        cell: n for cell, n in places.items() if values.values[n] and min(values.values[n]) > 0
    }
    if not usable:
        return None
    # What history tells of the noise, else what is assumed of any.
    known = values.noise or learn([])
    sigma, df = _noise_of_boots(values, usable.values(), known)
    return _Analysis(
        values=values,
        levels=levels,
        places=usable,
        sigma=sigma,
        luck=known.sigma_build,
        confidence=confidence,
        quantile=float(stdtrit(df, 0.5 + confidence / 200)),
    ).answer()


def _noise_of_boots(
    values: SeriesValues, places: Iterable[int], known: Noise
) -> tuple[float, float]:
    """The deviation of boots of one image in one cell, in logs, and its degrees of freedom."""
    groups = [np.log(own) for place in places for own in values.by_image(place).values()]
    df = sum(len(own) - 1 for own in groups)
    if not df:
        return known.sigma_run, 1.0
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in groups)
    return math.sqrt(squares / df), df


@dataclass(frozen=True, kw_only=True, slots=True)
class _Analysis:
    """`places` are of the cells with values, among the variants.

    `sigma` and `luck` are deviations of boots and of images, in logs; an interval reaches
    `quantile` standard errors to either side.
    """

    values: SeriesValues
    levels: Mapping[str, tuple[str, ...]]
    places: Mapping[Cell, int]
    sigma: float
    luck: float
    confidence: float
    quantile: float

    def answer(self) -> FactorAnswer:
        missing = [cell for cell in product(*self.levels.values()) if cell not in self.places]
        simple, interactions = tuple(self._simple()), tuple(self._interactions())
        sign = 1 if self.values.metric.higher_is_better else -1
        best = max(self.places, key=lambda cell: sign * self._level(cell))
        images = min(len(self._images(cell)) for cell in self.places)
        answer = FactorAnswer(
            factors=self.levels,
            main=tuple(self._main()),
            simple=simple,
            interactions=interactions,
            best=self._named(best),
            missing=tuple(cell_label(self._named(cell)) for cell in missing),
            images=images,
            sentences=(),
            method=" ".join(self._method(images)),
        )
        return replace(answer, sentences=tuple(_sentences(answer, self.values)))

    def _method(self, images: int) -> Iterator[str]:
        yield (
            f"An effect of a factor is a ratio of medians, with a {self.confidence:g} % interval"
            " of its own."
        )
        if len({self._kernel(cell) for cell in self.places}) < len(self.places):
            yield (
                "Combinations that differ in tunables alone boot the same images: luck with layout"
                " is part of what a change of the kernel does. It is not part of what a tunable"
                " does, or of how a change of the kernel depends on a tunable."
            )
        if images == 1:
            yield (
                "Each kernel has one image, which leaves open how much of what a change of the"
                " kernel does is luck with its layout. The intervals take images of unchanged code"
                f" to differ by {size(self.luck)}."
            )

    def _simple(self) -> Iterator[SimpleEffect]:
        for number, (name, levels) in enumerate(self.levels.items()):
            for level, cell in product(levels[1:], self._cells_at_first(number)):
                other = _put(cell, number, level)
                if cell in self.places and other in self.places:
                    at = {key: of for key, of in self._named(cell).items() if key != name}
                    yield self._effect(name, level, at, {other: 1.0, cell: -1.0})

    def _main(self) -> Iterator[SimpleEffect]:
        for number, (name, levels) in enumerate(self.levels.items()):
            for level in levels[1:]:
                pairs = [(_put(c, number, level), c) for c in self._cells_at_first(number)]
                if all(one in self.places for pair in pairs for one in pair):
                    weights = {new: 1 / len(pairs) for new, _ in pairs}
                    weights |= {old: -1 / len(pairs) for _, old in pairs}
                    yield self._effect(name, level, {}, weights)

    def _interactions(self) -> Iterator[Interaction]:
        for (a, one), (b, other) in combinations(enumerate(self.levels), 2):
            for level, beside in product(self.levels[one][1:], self.levels[other][1:]):
                corners = [c for c in self._cells_at_first(a) if c[b] == self.levels[other][0]]
                weights: dict[Cell, float] = {}
                for corner in corners:
                    new, both = _put(corner, a, level), _put(_put(corner, a, level), b, beside)
                    alone = _put(corner, b, beside)
                    part = 1 / len(corners)
                    weights |= {both: part, new: -part, alone: -part, corner: part}
                if all(cell in self.places for cell in weights):
                    effect, low, high = self._estimate(weights)
                    yield Interaction(
                        factors=(one, other),
                        levels=(level, beside),
                        ratio=effect,
                        low=low,
                        high=high,
                    )

    def _effect(
        self, name: str, level: str, at: Mapping[str, str], weights: Mapping[Cell, float]
    ) -> SimpleEffect:
        effect, low, high = self._estimate(weights)
        beside = self.levels[name][0]
        return SimpleEffect(
            factor=name, level=level, beside=beside, at=at, effect=effect, low=low, high=high
        )

    def _estimate(self, weights: Mapping[Cell, float]) -> tuple[float, float, float]:
        """A contrast of cells as a fraction, and the ends of its interval."""
        cells = list(weights)
        by = np.array([weights[cell] for cell in cells])
        estimate = sum(weights[cell] * self._level(cell) for cell in cells)
        boots = _MEDIAN * self.sigma**2
        variance = sum(w * w * boots / self._boots(cell) for cell, w in weights.items())
        luck = float(by @ self._luck(cells) @ by)
        half = self.quantile * math.sqrt(variance + luck)
        low, high = math.expm1(estimate - half), math.expm1(min(estimate + half, 700.0))
        return math.expm1(estimate), low, high

    def _luck(self, cells: Sequence[Cell]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """The covariance of cells by the luck of the images that they share."""
        images = [{(self._kernel(cell), image) for image in self._images(cell)} for cell in cells]
        shared = [[len(own & other) / len(own) / len(other) for other in images] for own in images]
        return self.luck**2 * np.array(shared)

    def _boots(self, cell: Cell) -> float:
        """Of one image, so many boots would tell a cell's level as well as those of its images."""
        images = self._images(cell).values()
        return len(images) ** 2 / sum(1 / len(own) for own in images)

    def _kernel(self, cell: Cell) -> int:
        place = self.places[cell]
        return self.values.kernels[place] if self.values.kernels else place

    def _cells_at_first(self, number: int) -> Iterator[Cell]:
        """The cells in which a factor has its first level."""
        levels = list(self.levels.values())
        levels[number] = levels[number][:1]
        return product(*levels)

    def _named(self, cell: Cell) -> dict[str, str]:
        return dict(zip(self.levels, cell, strict=True))

    def _images(self, cell: Cell) -> Mapping[int, Sequence[float]]:
        return self.values.by_image(self.places[cell])

    def _level(self, cell: Cell) -> float:
        return fmean(math.log(median(own)) for own in self._images(cell).values())


def _put(cell: Cell, number: int, level: str) -> Cell:
    return (*cell[:number], level, *cell[number + 1 :])


def _sentences(answer: FactorAnswer, values: SeriesValues) -> Iterator[str]:
    """What the factors do, which combination is best, and which is missing."""
    better = values.metric.higher_is_better
    for name, (_, *levels) in answer.factors.items():
        for level in levels:
            own = [one for one in answer.simple if (one.factor, one.level) == (name, level)]
            depends = any(
                one.is_there and (name, level) in zip(one.factors, one.levels, strict=True)
                for one in answer.interactions
            )
            overall = [one for one in answer.main if (one.factor, one.level) == (name, level)]
            told = own if depends or not overall else overall
            if told:
                said = " and ".join(_said(one, higher_is_better=better) for one in told)
                yield f"{name}={level} makes {values.workload} {said}."
    yield f"The best combination is {cell_label(answer.best)}."
    for cell in answer.missing:
        yield f"{cell} is not measured: what needs it is left out."


def _said(one: SimpleEffect, *, higher_is_better: bool) -> str:
    """`45.6 % slower with simple_tx=0 (-47.0 % to -44.1 %)`."""
    word = "slower" if (one.effect < 0) == higher_is_better else "faster"
    where = f" with {cell_label(one.at)}" if one.at else ""
    interval = f"{fine_percent(one.low)} to {fine_percent(one.high)}"
    if one.low <= 0 <= one.high:
        return f"neither slower nor faster beyond chance{where} ({interval})"
    return f"{size(one.effect)} {word}{where} ({interval})"
