"""The parts that the JSON of a report is made of, described; it writes none of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Figure = float | None
"""null where it is infinite or undefined."""


class Json(BaseModel):
    """An object whose keys are all known and all there."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class Revision(Json):
    """One commit of the branch's first-parent history."""

    label: str
    """r311849 in the Subversion era, else n245062."""
    sha: str
    position: int
    """How many first-parent commits there are up to this one."""
    subject: str
    author: str
    committed_at: int
    """Seconds since the epoch."""


class Metric(Json):
    """What was measured."""

    name: str
    unit: str
    higher_is_better: bool


class Summary(Json):
    """ministat's figures of one side."""

    n: Count
    minimum: Figure
    maximum: Figure
    median: Figure
    mean: Figure
    stddev: Figure


class Comparison(Json):
    """Student's t of two sides, as ministat computes it."""

    old: Summary
    new: Summary
    difference: Figure
    error: Figure
    """Half the interval of the difference."""
    difference_percent: Figure
    error_percent: Figure
    pooled_stddev: Figure
    p_value: Figure
    significant: bool


class Side(Json):
    """The values of one side, in the order measured."""

    label: str
    values: list[float]


class Contrast(Json):
    """Two sides held against each other."""

    old: Side
    new: Side
    ministat: str
    """ministat's own block; empty when a side has too few values."""
    notes: list[str]
    """What a reader should doubt."""
    comparison: Comparison | None


class Step(Json):
    """A change of level."""

    old: Revision
    """The last that is known to be on the old level."""
    new: Revision
    """The first on the new one."""
    suspects: list[Revision]
    """Those that may have made it, oldest first; one is the culprit."""
    effect: float
    """A fraction of the old level, as `low` and `high`, its 95 % interval."""
    low: float
    high: float
    probability: Share
    sure: bool
    """Whether the probability reaches what was asked for."""
    regression: bool
    contrast: Contrast


class Unresolved(Json):
    """A part (old, new] in which a step may still lie."""

    old: Revision
    new: Revision
    commits: Count


class Skipped(Json):
    """Neighbours that were not measured for one and the same reason."""

    first: Revision
    last: Revision
    commits: Count
    reason: str


class Candidate(Json):
    """Where else the headline's step may lie."""

    first: Revision
    last: Revision
    commits: Count
    probability: Share


class Check(Json):
    """One thing that was held against the finding."""

    name: str
    outcome: Literal["passed", "failed", "not made"]
    detail: str


class Scope(Json):
    """The change on one workload and testbed."""

    testbed: str
    workload: str
    reach: Literal["changed", "no change", "unclear", "not measured"]
    effect: Figure
    error: Figure
    """Half the interval of the effect; both are fractions."""
    old: str
    """The label of what was measured before."""
    new: str
    commits: Count
    """How many lie between the two."""
    reported: bool
    """Whether this report is about it."""


class Capture(Json):
    """One sampling of where the cycles went."""

    label: str
    samples: Count
    idle: Share
    """The fraction of samples in the idle loop."""
    link: str
    """The flame graph."""


class Symbol(Json):
    """A function's own share of the busy cycles, before and after."""

    name: str
    old: Share
    new: Share
    error: float
    """The standard error of their difference, by sampling alone."""
    sure: bool


class FunctionCost(Json):
    """A function's own instructions per packet, before and after."""

    name: str
    place: str
    """path:line of its beginning; empty when that is not known."""
    old: float
    new: float


class Sum(Json):
    """Instructions per packet of several functions together."""

    functions: Count
    old: float
    new: float


class PerPacket(Json):
    """What functions cost a packet: `functions` and `others` add up to `total`."""

    functions: list[FunctionCost]
    """Those that changed most, the largest change first."""
    others: Sum
    total: Sum
    note: str
    """How far the captures are from what was measured; empty when they agree."""


class Line(Json):
    """A line that the commit changes within a function."""

    function: str
    old: Count | None
    """Its number before the commit; null for one that it adds."""
    new: Count | None
    """Its number after it; null for one that it removes."""
    text: str


class Place(Json):
    """A file of the commit that meets those functions."""

    path: str
    changed: list[str]
    """Functions that the commit changes within."""
    named: list[str]
    """Functions that it but names."""
    lines: list[Line]
    """Those within `changed`, in the order of the diff."""
    unshown: Count
    """How many such lines are left out."""


class Why(Json):
    """Where the cycles went that were not idle."""

    counter: str
    old: Capture | None
    new: Capture | None
    symbols: list[Symbol]
    per_packet: PerPacket | None
    """null unless instructions are counted, and for how many packets is known."""
    places: list[Place] | None
    difference: str
    """The differential flame graph."""
    missing: str
    """Why there is nothing else."""


class Fact(Json):
    """What the lab tells of both sides."""

    name: str
    old: str
    new: str


class Artefact(Json):
    """What was booted next to the step."""

    label: str
    image: Count
    digest: str
    """SHA-256."""
    iterations: Count


class Measured(Json):
    """Every value of one image."""

    label: str
    position: int
    """0 is the old end."""
    image: Count
    level: Literal["old", "new", "other"]
    values: list[Figure]


class Cost(Json):
    """What the search took."""

    boots: Count
    failed: Count
    lab_s: float
    images: Count
    build_s: float


class Probe(Json):
    """One iteration, in the order in which it was asked for."""

    serial: int
    revision: str
    image: Count
    value: Figure
    unit: str
    failure: str | None
    at: float
    """When it ended, in seconds since the epoch."""
    duration_s: float
    note: str
    left: Count | None
    """How many commits were suspected after it."""


class Opinion(Json):
    """The last word that somebody said of the report."""

    kind: Literal["expected", "noise", "fixed", "again"]
    author: str
    at: float
    """Seconds since the epoch."""
    fixed_by: str
    """The label of the commit that mended it, or empty."""


class Record(Json):
    """How often the culprits that this farm named and people judged were real."""

    right: Count
    wrong: Count
    low: Share
    """The 95 % interval of the share of right ones: `low` to `high`."""
    high: Share
