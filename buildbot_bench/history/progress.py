"""The progress of a fetch or of the reading of a history, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

# `Receiving objects:  43% (129/300), 312.00 MiB | 5.20 MiB/s`; a remote's have `remote: ` before.
_LINE = re.compile(
    r"(?:remote: )?(?P<stage>[A-Z][a-z]+ [a-z]+): +"
    r"(?:(?P<percent>\d{1,3})% \(\d+/\d+\)|(?P<count>\d{1,12}))"
    r"(?:, (?P<amount>\d{1,12}(?:\.\d\d)? (?:bytes|[KMGT]iB)))?",
    re.ASCII,
)
_STAGES = {
    "Enumerating objects": "counted",
    "Counting objects": "counted",
    "Compressing objects": "packed",
    "Receiving objects": "received",
    "Unpacking objects": "received",
    "Resolving deltas": "unpacked",
    "Checking connectivity": "checked",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One look at work that goes on: `stage` is what was done to `percent` or `count` of it.

    `amount` is what came over the wire, with its unit, as git writes it.
    """

    work: str
    stage: str
    percent: int | None = None
    count: int | None = None
    amount: str = ""

    def __str__(self) -> str:
        how_far = f"{self.percent} %" if self.count is None else f"{self.count}"
        text = f"{self.work}: {how_far} {self.stage}"
        return f"{text}; {self.amount}" if self.amount else text


def parse_progress(line: str, work: str) -> Progress | None:
    """What a line of `git fetch --progress` says of some work; None when it says something else."""
    match = _LINE.match(line)
    stage = _STAGES.get(match["stage"]) if match else None
    if match is None or stage is None:
        return None
    percent, count = match["percent"], match["count"]
    return Progress(
        work=work,
        stage=stage if count is None else f"objects {stage}",
        percent=None if percent is None else min(int(percent), 100),
        count=None if count is None else int(count),
        amount=_rounded(match["amount"] or ""),
    )


def _rounded(amount: str) -> str:
    """`312 MiB` of `312.00 MiB`; of a gibibyte the hundredths are worth a look."""
    return re.sub(r"\.\d\d(?= [KM])", "", amount)
