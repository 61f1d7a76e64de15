"""A search that can learn no more says why, and what it would take."""

import re

import pytest

from buildbot_bench.core.search import Evidence, SearchPolicy
from buildbot_bench.core.search.inference import infer
from buildbot_bench.core.search.noise_model import read
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.search.structure import why_exhausted
from tests.core.search.simulated_lab import Lab


def said(sigma_run: float, *, min_effect: float = 0.02, boots: int = 4) -> str:
    lab = Lab(n=20, steps={}, sigma_run=sigma_run, seed=3)
    evidence = Evidence(measurements=tuple(lab.boot(at) for _ in range(boots) for at in (0, 20)))
    policy = SearchPolicy(min_effect=min_effect, sigma_run=sigma_run, sigma_build=0.0)
    search_range = build_range(20, evidence, policy)
    return why_exhausted(
        infer(search_range, read(search_range, evidence.measurements), policy), policy
    )


def test_where_values_agree_nothing_is_left():
    assert said(0.001) == "no measurement is left"


def test_where_values_differ_it_says_what_a_change_takes():
    told = said(0.4)
    match = re.fullmatch(
        r"values differ by ([\d.]+) % from one to the next. A change of 2 % takes about "
        r"([\d,]+) values of each side",
        told,
    )
    assert match, told
    # 2 ((2.576 + 1.282) .4 / .0198)²
    assert float(match[1]) == pytest.approx(40, rel=0.2)
    assert int(match[2].replace(",", "")) == pytest.approx(12150, rel=0.4)


def test_a_larger_change_takes_fewer():
    few, many = (
        int(re.search(r"about ([\d,]+)", said(0.4, min_effect=d))[1].replace(",", ""))
        for d in (0.2, 0.02)
    )
    assert few < many / 50
