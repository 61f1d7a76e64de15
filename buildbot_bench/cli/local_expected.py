"""The forecast of a search or comparison without a farm, for --dry-run."""

from dataclasses import asdict
from statistics import median

from buildbot_bench.cli.console import ExitStatus, answer
from buildbot_bench.cli.local_view import forecast_of
from buildbot_bench.cli.wording import forecast_text, hours_text
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.inside import expected_inside
from buildbot_bench.core.report.words import count
from buildbot_bench.core.search import forecast
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.campaign import LocalSearch
from buildbot_bench.local.comparing import LocalComparison
from buildbot_bench.local.known import ASSUMED_RUN_S, Known
from buildbot_bench.local.measuring import coarse_value

_HOUR_S = 3600.0


def search_expected(search: LocalSearch, known: Known, *, as_json: bool) -> int:
    """Tell what a search still takes, by what is known of it already."""
    assumed = (
        ""
        if any(one.value is not None for one in known.iterations)
        else _assumed(known.costs.build_s, known.costs.run_s)
    )
    workload, min_effect = search.campaign.workload, search.terms.min_effect
    coarse = coarse_value(workload, known.iterations, min_effect)
    inside = expected_inside(search.merges, known.between.n, known.costs, known.policy)
    expected = forecast(known.between.n, known.costs, known.policy, evidence=known.evidence)
    told = forecast_of(
        search,
        known,
        expected,
        known_iterations=len(known.iterations),
        warnings=tuple(said for said in (assumed, coarse, inside) if said),
    )
    item = ItemUnderTest.COMMAND
    value = asdict(told) | {"iteration": item.iteration}
    answer(forecast_text(told, item), value, as_json=as_json)
    return ExitStatus.ANSWERED


def comparison_expected(question: LocalComparison, bench: Bench, *, as_json: bool) -> int:
    """Tell how many runs and builds a comparison still takes, with the first image of each."""
    shas = {one.revision.sha for one in question.variants}
    images = {row.id: row for row in bench.images() if row.sha in shas}
    runs = [one for one in bench.iterations() if one.value is not None and one.image_id in images]
    run_s = median(one.duration_s for one in runs) if runs else ASSUMED_RUN_S
    took = [row.build_s for row in images.values()]
    build_s = median(took) if took else bench.assumed_build_s()
    built = {row.sha for row in images.values() if not row.ordinal and bench.has(row)}
    done = {
        sha: sum(images[one.image_id].sha == sha and one.epoch == EPOCH for one in runs)
        for sha in shas
    }
    left = sum(max(question.limits.boots - number, 0) for number in done.values())
    builds = len(shas - built) if bench.campaign.recipe.steps else 0
    hours = (left * run_s + builds * build_s) / _HOUR_S
    lines = [
        f"{one.label}  {one.revision.short_sha}  {one.revision.subject}"
        for one in question.variants
    ]
    more = f"{count(left, 'run')} and {count(builds, 'build')} more, about {hours_text(hours)}"
    lines.append(f"{more}; {count(len(runs), 'run')} known already")
    if bench.campaign.recipe.steps and question.limits.images > 1:
        lines.append(
            f"where the build heeds BENCH_IMAGE, up to {question.limits.images} images of each"
        )
    if not runs:
        lines.append(_assumed(build_s, run_s))
    if coarse := coarse_value(bench.campaign.workload, runs, question.min_effect):
        lines.append(coarse)
    told = {
        "runs": left,
        "builds": builds,
        "hours": hours,
        "known_runs": len(runs),
        "images": question.limits.images,
        "warnings": [coarse] if coarse else [],
    }
    answer("\n".join(lines), told, as_json=as_json)
    return ExitStatus.ANSWERED


def _assumed(build_s: float, run_s: float) -> str:
    return f"assumed until there is one: a build takes {build_s:.3g} s, a run {run_s:.3g} s"
