"""Values whose rounding is nothing beside their noise: a search asks on until it is sure."""

from buildbot_bench.core.evidence import policy_of
from buildbot_bench.core.metric import Metric
from buildbot_bench.core.sample import Iteration, Sample
from buildbot_bench.core.search import Costs, Evidence, Measure, Measurement, plan
from buildbot_bench.core.search.model import SearchPolicy

# Of positions 0 to 23: what a program printed, in whole numbers, which is slower from 14 on.
VALUES = tuple(
    zip(
        (0, 23, 11, 17, 14, 12, 13, 13, 13),
        (1005, 947, 1004, 945, 943, 1008, 1005, 1000, 1002),
        strict=True,
    )
)


def test_a_rounding_too_fine_for_figures_ends_no_search():
    samples = [
        Sample(
            label=f"n{position}",
            position=position,
            metric=Metric(name="speed", unit="units"),
            iterations=tuple(Iteration(value=float(v)) for p, v in VALUES if p == position),
        )
        for position in sorted({position for position, _ in VALUES})
    ]
    terms = SearchPolicy(error=0.01, min_effect=0.02)
    policy = policy_of(terms, samples, first=0, images=False, randomised=True)
    assert policy.sigma_build == 0.0
    measured = tuple(
        Measurement(position=position, value=float(value), at_s=2.0 * n)
        for n, (position, value) in enumerate(VALUES)
    )
    wanted = plan(
        23, Evidence(measurements=measured), Costs(build_s=0.1, boot_s=0.0, run_s=0.1), policy
    )
    assert isinstance(wanted, Measure)
    assert wanted.position in {13, 14}
