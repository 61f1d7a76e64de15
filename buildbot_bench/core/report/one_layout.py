"""The reason why a series has one link order, and what each run randomised instead."""

from collections.abc import Iterable

from buildbot_bench.core.metric import Metric, NoiseClass

NOT_HEEDED = "one: the build does not heed BENCH_IMAGE"
"""The link order of builds of which a further one came out as the first."""


def one_layout(metric: Metric, why: str, randomised: Iterable[str | None]) -> str:
    """As `Context.one_layout` has it; `randomised` is what the runs said, `why` of the builds."""
    if metric.noise is NoiseClass.EXACT:
        return "what is counted does not depend on the link order; there is one of each revision"
    each = " or ".join(sorted({said for said in randomised if said})) or "nothing"
    return f"the link order was not varied ({why}); randomised for each run: {each}"
