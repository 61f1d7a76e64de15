"""A row's outcomes as figures with standard errors, beside the targets."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.verdicts import Verdict, of_mean, of_share
from benchmarks.worlds.judging import Outcome
from benchmarks.worlds.row import Row

Json = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Means over the searches of a row, with their standard errors; shares as fractions."""

    row: Row
    outcomes: tuple[Outcome, ...]

    def mean(self, name: str) -> tuple[float, float]:
        """The mean of a figure, and its standard error."""
        values = [float(getattr(one, name)) for one in self.outcomes]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return float(np.mean(values)), spread / len(values) ** 0.5

    def count(self, name: str) -> int:
        """How many searches have it."""
        return sum(bool(getattr(one, name)) for one in self.outcomes)

    @property
    def failed(self) -> int:
        """The most builds that failed in a search."""
        return max(one.failed for one in self.outcomes)

    def verdicts(self, base: Figures | None) -> dict[str, Verdict]:
        """Of each thing wanted; `base` is the row that this one is held against."""
        row, total = self.row, len(self.outcomes)
        told: dict[str, Verdict] = {}
        if row.boots is not None:
            told[f"boots ≤ {row.boots:g}"] = of_mean(*self.mean("boots"), row.boots)
        if base is not None:
            told[f"boots ≤ {base.row.name} + {row.more:g}"] = of_mean(*self.beyond(base), row.more)
        if row.wrong is not None:
            told[f"wrong ≤ {row.wrong:.1%}"] = of_share(self.count("wrong"), total, row.wrong)
        for name in ("named", "proved", "sloped"):
            least = getattr(row, name)
            if least is not None:
                lacking = total - self.count(name)
                told[f"{name} ≥ {least:.0%}"] = of_share(lacking, total, 1 - least)
        if row.failed is not None:
            is_met = self.failed <= row.failed
            told[f"failed ≤ {row.failed}"] = Verdict.REACHED if is_met else Verdict.MISSED
        return told

    def beyond(self, base: Figures) -> tuple[float, float]:
        """How many boots more than another row took in the same labs, and its standard error."""
        pairs = zip(self.outcomes, base.outcomes, strict=True)
        more = [ours.boots - theirs.boots for ours, theirs in pairs]
        spread = float(np.std(more, ddof=1)) if len(more) > 1 else 0.0
        return float(np.mean(more)), spread / len(more) ** 0.5

    def text(self, base: Figures | None) -> str:
        """The row as a line of the table."""
        total = len(self.outcomes)
        boots, builds = self.mean("boots"), self.mean("builds")
        parts = [
            f"{self.row.name}\n  {boots[0]:6.1f} ± {boots[1]:4.1f} boots",
            f"{builds[0]:5.1f} ± {builds[1]:3.1f} builds",
        ]
        if self.failed:
            parts.append(f"{self.mean('failed')[0]:.1f} (most {self.failed}) fail")
        parts.append(_share("wrong", self.count("wrong"), total))
        if self.row.named is not None or any(one.named for one in self.outcomes):
            parts.append(_share("named", self.count("named"), total))
        if self.row.proved is not None:
            parts.append(_share("proved", self.count("proved"), total))
        if self.row.sloped is not None or self.count("sloped"):
            parts.append(_share("slope", self.count("sloped"), total))
        if false := sum(one.false_slope for one in self.outcomes):
            parts.append(_share("false slopes", false, total))
        parts.append(f"{1e3 * self.mean('plan_s')[0]:.0f} ms a plan")
        told = [f"{what}: {verdict}" for what, verdict in self.verdicts(base).items()]
        return ", ".join(parts) + ("\n    wanted " + ", ".join(told) if told else "")

    def as_json(self, base: Figures | None) -> Json:
        """The same for a file, each search with its figures."""
        return {
            "row": self.row.name,
            "boots": self.mean("boots"),
            "builds": self.mean("builds"),
            "failed": self.failed,
            "verdicts": self.verdicts(base),
            "searches": [asdict(one) for one in self.outcomes],
        }


def _share(name: str, count: int, total: int) -> str:
    share = count / total
    error = (share * (1 - share) / total) ** 0.5
    return f"{100 * share:.1f} ± {100 * error:.1f} % {name}"
