"""Captures with their flame graphs and facts, for reports, pages and links."""

import gzip
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from twisted.internet.threads import deferToThread

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.compare.model import FlameGraphs
from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.profile.formats import parse_folded
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.report.why import Capture, Captures
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import OPEN_PROFILES, ProfileState
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import CaptureRow, ProfileRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import testbed_of

PAGES = "plugins/bench/flamegraph/"


@dataclass(frozen=True, kw_only=True, slots=True)
class TakenCapture:
    """A request for a capture that was met: what it is of, and the capture.

    `level` is the mean of what the image's boots measured on the same series, in the metric's unit,
    None where it was not measured.
    """

    row: ProfileRow
    sha: str
    label: str
    profile: Profile
    metric: Metric = PPS
    level: float | None = None


async def captures_of(farm: Farm, search: SearchRow, between: RevisionRange) -> Captures | None:
    """What the captures of a search tell; None when none was asked for.

    `between` is its range, in which the two sides lie.
    """
    asked = await farm.store.profiles_of_search(search.id)
    if len(asked) < 2:
        return None
    old, new = [await taken(farm, row) for row in asked[:2]]
    if old is None or new is None:
        return Captures(missing=await _missing(farm, asked))
    return Captures(
        counter=old.profile.event,
        old=_known(farm, old),
        new=_known(farm, new),
        difference=address(farm, old.row, new.row),
        diff=await _diff(farm, between, old.sha, new.sha),
    )


async def taken(farm: Farm, row: ProfileRow) -> TakenCapture | None:
    """The capture that a request was met by; None as long as it was not."""
    kept = None if row.digest is None else await farm.store.capture(row.digest)
    image = await farm.store.image(row.image_id)
    if kept is None or image is None:
        return None
    profile = await deferToThread(_read, kept)
    settings = f"+sysctl:{row.tunables}" if row.tunables else ""
    return TakenCapture(row=row, sha=image.sha, label=f"{image.label}{settings}", profile=profile)


async def measured_too(farm: Farm, capture: TakenCapture) -> TakenCapture:
    """The capture with the level of its image on the series that it was taken on."""
    row = capture.row
    found = await farm.store.samples_of_images(
        (row.testbed, row.workload), [row.image_id], tunables=row.tunables
    )
    newest = next((sample for sample in reversed(found) if sample.values), None)
    if newest is None:
        return capture
    return replace(capture, metric=newest.metric, level=fmean(newest.values))


async def flame_graphs_of_search(farm: Farm, search_id: int) -> dict[str, str] | None:
    """Where both sides of a culprit and their difference are seen; None before all are taken."""
    sides = (await farm.store.profiles_of_search(search_id))[:2]
    if [side.state for side in sides] != [ProfileState.DONE] * 2:
        return None
    old, new = sides
    return {
        "old": address(farm, old),
        "new": address(farm, new),
        "difference": address(farm, old, new),
    }


async def flame_graphs_of(
    farm: Farm, ab_test: AbTestRow
) -> dict[tuple[str, str], dict[int, FlameGraphs]]:
    """Where a comparison's flame graphs are seen: by series, of each variant beside the base.

    Those that were sampled, and of which the base was.
    """
    places = {variant.kernel: place for place, variant in enumerate(ab_test.variants)}
    taken_of: dict[tuple[str, str], dict[int, ProfileRow]] = {}
    for row in await farm.store.profiles_of_ab_test(ab_test.id):
        place = places.get((row.image_id, row.tunables))
        if row.state == ProfileState.DONE and place is not None:
            taken_of.setdefault((row.testbed, row.workload), {})[place] = row
    return {
        series: {
            place: FlameGraphs(
                base=address(farm, rows[0]),
                new=address(farm, row),
                difference=address(farm, rows[0], row),
            )
            for place, row in rows.items()
            if place > 0
        }
        for series, rows in taken_of.items()
        if 0 in rows
    }


def address(farm: Farm, *rows: ProfileRow) -> str:
    """Where the flame graph of a capture, or the difference of two, is seen."""
    base = farm.master.config.buildbotURL
    return f"{base}{PAGES}{'-'.join(str(row.id) for row in rows)}.svg"


@lru_cache(maxsize=16)
def _read(kept: CaptureRow) -> Profile:
    text = gzip.decompress(kept.body).decode("utf-8", "surrogatepass")
    profile = parse_folded(text.splitlines(), source=f"capture {kept.digest[:12]}")
    places = json.loads(gzip.decompress(kept.places)) if kept.places else {}
    return replace(profile, event=kept.counter, packets=kept.packets, places=places)


def _known(farm: Farm, side: TakenCapture) -> Capture:
    return Capture(label=side.label, profile=side.profile, link=address(farm, side.row))


async def _missing(farm: Farm, asked: list[ProfileRow]) -> str:
    failed = [row for row in asked if row.state == ProfileState.FAILED]
    if not failed:
        return "it is being sampled"
    image = await farm.store.image(failed[0].image_id)
    return f"{image.label if image else 'its image'}: {failed[0].failure or 'it failed'}"


async def _diff(farm: Farm, between: RevisionRange, old: str, new: str) -> str:
    """The changed lines of the commit between two sides; empty when that is not one commit.

    Also when they cannot be made: a report needs them least.
    """
    for before, after in pairwise(between.revisions):
        if (before.sha, after.sha) == (old, new):
            break
    else:
        return ""
    try:
        return await farm.git(farm.history.changed_lines, after)
    except BenchError:
        return ""


def mail_waits(farm: Farm, search: SearchRow) -> bool:
    """Whether captures that a search's testbed takes may still come in time for its mail."""
    wait_s = testbed_of(farm, search.testbed).profile_s
    if wait_s is None or search.ended_at is None:
        return False
    return search.state == SearchState.FOUND and farm.now() < search.ended_at + wait_s


async def captures_are_awaited(farm: Farm, search: SearchRow) -> bool:
    """Whether the mail of a search is to wait: a capture was asked for and has not come yet."""
    if not mail_waits(farm, search):
        return False
    asked = await farm.store.profiles_of_search(search.id)
    return any(row.state in OPEN_PROFILES for row in asked)
