"""Commits for pages: a commit's images and values, commit times, and the reviews it names."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from buildbot_bench.api.answers import CommitCosts, CostShown
from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.core.json_model import Json, to_json
from buildbot_bench.core.links import Links
from buildbot_bench.core.metric import BOOT, BUILD, SIZE, changed_values
from buildbot_bench.core.report.steps import CommitContrast, against_predecessor, newest_measured
from buildbot_bench.core.revision import SHA_LENGTH, Revision, repository_of
from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow, SeriesName
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, branch_of_image, removal_reason
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS, item_on, span_of
from buildbot_bench.plugin.queries.history import revision_json
from buildbot_bench.plugin.queries.judgements import mark_json, marks_told, verdict_json

_SHA = re.compile(rf"[0-9a-f]{{{SHA_LENGTH}}}")


async def commit(farm: Farm, named: str) -> Json | None:
    """A commit that was built, and what it gave on each series; None when there is none.

    `named` as a person writes it; one that a rewritten branch dropped is known by its whole hash.
    """
    revision = await farm.git(_revision, farm, named)
    warnings = await farm.git(farm.history.oddities, named) if revision else ()
    repository, text = await farm.git(_place, farm, named)
    sha = revision.sha if revision else text
    image = (
        await farm.store.image_of(sha, 0, repository) if revision or _SHA.fullmatch(sha) else None
    )
    if image is None:
        return None
    shown = revision_json(revision) if revision else _of_image(image)
    branch = await branch_of_image(farm, image)
    verdicts = await farm.store.judgements_of_commit(sha, repository)
    measured = await farm.store.measured_by(sha, repository)
    return shown | {
        "warnings": list(warnings),
        "branch": branch,
        "image_state": str(image.state),
        "failure": image.reason or "",
        "costs": to_json(_costs(await farm.store.built_before(image, branch=branch), image)),
        "series": [
            await _on_series(farm, image, branch, series, verdicts.get(series))
            for series in _in_order(farm, {*measured, *verdicts})
        ],
    }


_MOST_MODULES = 20  # what a reader looks through; a compiler's change changes all


def _costs(before: ImageRow | None, image: ImageRow) -> CommitCosts:
    """What an image costs against the one that was built before it."""
    kernel = [
        CostShown(name=name, unit=unit, old=getattr(before, of, None), new=new)
        for name, unit, of in _OF_IMAGE
        if (new := getattr(image, of)) is not None
    ]
    old, new = (one.modules if one and one.modules else {} for one in (before, image))
    sizes = [
        CostShown(name=name, unit=SIZE.unit, old=_bytes(old.get(name)), new=_bytes(new.get(name)))
        for name in (old.keys() | new.keys() if old and new else ())
    ]
    changed = [one for one in sizes if one.old != one.new]
    changed.sort(key=lambda one: (-abs((one.new or 0) - (one.old or 0)), one.name))
    return CommitCosts(old=before.label if before else "", rows=(*kernel, *changed[:_MOST_MODULES]))


_OF_IMAGE = (
    ("text", SIZE.unit, "text_bytes"),
    ("data", SIZE.unit, "data_bytes"),
    ("bss", SIZE.unit, "bss_bytes"),
    (BUILD.name, "s", "build_s"),
)


def _bytes(sizes: Sequence[int] | None) -> int | None:
    """What a module takes in memory, of its text, data and bss."""
    return None if sizes is None else sum(sizes)


async def contrast_of(
    farm: Farm,
    image: ImageRow,
    branch: str,
    series: SeriesName,
    *,
    unit: str | None = None,
) -> CommitContrast | None:
    """The commit of an image against the nearest one before it that was measured likewise.

    None where there is no such, or the commit itself gave no value. Without `unit` in the primary
    one.
    """
    samples, at = farm.store.samples, image.position
    new = await samples(series, (at, at), unit=unit, history_of=branch)
    last = newest_measured(new)
    if last is None:
        return None
    like = last.metric.unit, last.epoch
    span = (at - WINDOW_COMMITS, at)
    before = await farm.store.newest_positions(series, branch, 1, span=span, like=like)
    if not before:
        return None
    old = await samples(series, (before[0],) * 2, unit=like[0], epoch=like[1], history_of=branch)
    confidence = farm.workflow.regression.confidence
    return await calculate(against_predecessor, old, new, confidence=confidence)


def contrast_json(found: CommitContrast | None) -> Json | None:
    """A contrast as the REST interface shows it."""
    if found is None:
        return None
    held = found.contrast
    return {
        "old": {
            "label": held.old.label,
            "values": list(held.old.values),
            "images": found.old_images,
        },
        "new": {
            "label": held.new.label,
            "values": list(held.new.values),
            "images": found.new_images,
        },
        "unit": found.metric.unit,
        "higher_is_better": found.metric.higher_is_better,
        "epoch": found.epoch,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "confidence": held.comparison.confidence if held.comparison else None,
        "p_value": held.comparison.p_value if held.comparison else None,
        "significant": bool(held.comparison and held.comparison.significant),
        "ministat": held.ministat,
        "notes": list(held.notes),
    }


async def _on_series(
    farm: Farm,
    image: ImageRow,
    branch: str,
    series: tuple[str, str],
    verdict: JudgementRow | None,
) -> Json:
    testbed, workload = series
    found = await contrast_of(farm, image, branch, (testbed, workload))
    return {
        "testbed": testbed,
        "workload": workload,
        "branch": branch,
        "nouns": (await item_on(farm, testbed)).nouns,
        "gone": removal_reason(farm, testbed, workload, repository_of(branch)),
        "contrast": contrast_json(found),
        "boot": contrast_json(await contrast_of(farm, image, branch, series, unit=BOOT.unit)),
        "marked": list(await marks_told(farm, (testbed, workload), branch, image.position)),
        "verdict": None if verdict is None else await _verdict(farm, verdict),
        "values": await _named_values(farm, image, branch, series),
    }


_RUNS = 30  # of which those of a commit and of the one before it are shown


async def _named_values(
    farm: Farm, image: ImageRow, branch: str, series: tuple[str, str]
) -> list[Json]:
    """The means of what a commit's runs gave by name, those that differ most first."""
    named = await farm.store.runs_of_values(
        testbed=series[0],
        workload=series[1],
        first_position=max(0, image.position - WINDOW_COMMITS),
        last_position=image.position,
        branch=branch,
        limit=_RUNS,
    )
    new, old = changed_values(named, image.position) if named else ({}, {})
    told = [
        {
            "name": metric.name,
            "unit": metric.unit,
            "higher_is_better": metric.higher_is_better,
            "value": value,
            "difference": value / old[metric] - 1 if metric in old else None,
        }
        for metric, value in new.items()
    ]
    return sorted(told, key=lambda one: -abs(one["difference"] or 0.0))


async def _verdict(farm: Farm, row: JudgementRow) -> Json:
    """A verdict with the last word on it, or else on the search that it led to."""
    marks = await farm.store.marks_of_judgement(row.id)
    if not marks and row.search_id is not None:
        marks = await farm.store.marks_of_search(row.search_id)
    return verdict_json(row) | {"mark": mark_json(marks[-1]) if marks else None}


def _in_order(farm: Farm, found: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of bench.yml in its order, then by name."""
    known = [series.name for series in all_series(farm.workflow.bench_jobs)]
    return [one for one in known if one in found] + sorted(found.difference(known))


def _place(farm: Farm, named: str) -> tuple[str, str]:
    """The repository and the name in it; the first one, where there is none of that name."""
    try:
        return farm.history.place(named)
    except UsageError:
        return "", named


def _revision(farm: Farm, named: str) -> Revision | None:
    """The revision, unless there is none of that name, or the mirror cannot be read.

    A rewritten branch may have taken it out of the mirror.
    """
    try:
        return farm.history.resolve(named)
    except BenchError:
        return None


def _of_image(image: ImageRow) -> Json:
    name = {"label": image.label, "sha": image.sha, "position": image.position}
    return name | {"subject": "", "author": ""}


async def measured_commit(
    farm: Farm, testbed: str, workload: str, position: int, branch: str
) -> Json | None:
    """The commit that was measured at a position of a branch; None when there is none."""
    images = await farm.store.images_of_history(branch, position, position)
    if not images:
        return None
    revision = await farm.git(_revision, farm, images[-1].sha)
    named = revision_json(revision) if revision else {"label": images[-1].label}
    named |= {"sha": images[-1].sha, "position": position}
    held = await contrast_of(farm, images[-1], branch, (testbed, workload))
    values = await _values(farm, (testbed, workload), images)
    links = farm.workflow.pages_of_commits(repository_of(branch))
    pages = {"commit": links.commit(images[-1].sha), "diff": links.diff(images[-1].sha)}
    return named | values | {"contrast": contrast_json(held), "links": pages}


async def commit_in_search(farm: Farm, search_id: int, offset: int) -> Json | None:
    """The commit so many behind a search's old end; None when there is no such."""
    search = await farm.store.search(search_id)
    if search is None or not 0 <= offset <= search.new_position - search.old_position:
        return None
    span = await farm.git(span_of, farm, search)
    revision = span.revisions[offset]
    found = await farm.store.all_images_between(
        revision.position, revision.position, search.repository
    )
    images = [image for image in found if image.variant == revision.sha]
    values = await _values(farm, search.series, images)
    return revision_json(revision) | values


async def _values(farm: Farm, series: SeriesName, images: Sequence[ImageRow]) -> Json:
    """What the images of one revision gave."""
    samples = await farm.store.samples_of_images(series, [image.id for image in images])
    return {
        "unit": samples[0].metric.unit if samples else "",
        "samples": [
            {"image": sample.image, "epoch": sample.epoch, "values": list(sample.values)}
            for sample in samples
        ],
        "image_state": str(images[0].state) if images else "",
        "failure": next((image.reason for image in images if image.reason), None)
        or next((i.failure for sample in samples for i in sample.iterations if i.failure), None),
    }


# A message may name more reviews than a reader follows.
MOST_REVIEWS = 5


async def reviews_of(farm: Farm, links: Links, suspects: Sequence[Revision]) -> tuple[str, ...]:
    """The reviews of the one commit that is suspected, as `links` takes them; of several none."""
    if len(suspects) != 1:
        return ()
    (culprit,) = suspects
    known = await farm.git(farm.history.particulars, culprit)
    return links.reviews_of(culprit.subject, known.reviews)[:MOST_REVIEWS]


RETRY_S = 60.0
"""So long a missing commit is not asked for again; chosen: as long as between two polls."""


class CommitTimes:
    """Commit times by hash, in seconds since the epoch: those that were found stay known."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._missing: defaultdict[str, set[str]] = defaultdict(set)
        self._again_s: dict[str, float] = {}
        self._late: Counter[str] = Counter()

    async def of(self, farm: Farm, branch: str, points: Sequence[PointRow]) -> list[int]:
        """The time of each point's commit; 0 where neither the tables nor the mirror have it.

        The tables have what came to the branch since the farm watches it, the mirror all.
        """
        missing = self._missing[branch]
        unknown = [p for p in points if p.sha not in self._known and p.sha not in missing]
        if unknown:
            first, last = unknown[0].position, unknown[-1].position
            self._known |= await farm.store.commit_times(branch, first, last)
            older = {point.sha for point in unknown} - self._known.keys()
            if older:
                self._known |= await farm.git(_from_git, farm, branch, older)
                missing |= older - self._known.keys()
                self._again_s[branch] = farm.now() + RETRY_S
        return [self._known.get(point.sha, 0) for point in points]

    async def found_late(self, farm: Farm, branch: str) -> int:
        """How many commits of a branch were missing first, and came; once a minute it looks."""
        missing = self._missing.get(branch)
        if missing and farm.now() >= self._again_s[branch]:
            self._again_s[branch] = farm.now() + RETRY_S
            found = await farm.git(_from_git, farm, branch, frozenset(missing))
            self._known |= found
            missing -= found.keys()
            self._late[branch] += len(found)
        return self._late[branch]


def _from_git(farm: Farm, branch: str, shas: Collection[str]) -> Mapping[str, int]:
    """Those that are there; nothing before the mirror is."""
    try:
        history = farm.history.of(branch)
    except UsageError:  # its repository is watched no more
        return {}
    return dict(_times(history, shas)) if history.is_there else {}


def _times(history: MirrorHistory, shas: Iterable[str]) -> Iterable[tuple[str, int]]:
    for sha in shas:
        try:
            yield sha, history.resolve(sha).committed_at_s
        except UsageError:  # a rewritten branch has left it, or it was not fetched yet
            continue
        except InfraError:
            return
