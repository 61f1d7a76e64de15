"""The reviews that the message of a suspected commit names."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.links import Links
from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.farm import Farm

# A message may name more reviews than a reader follows.
MOST_REVIEWS = 5


async def reviews_of(farm: Farm, links: Links, suspects: Sequence[Revision]) -> tuple[str, ...]:
    """The reviews of the one commit that is suspected, as `links` takes them; of several none."""
    if len(suspects) != 1:
        return ()
    (culprit,) = suspects
    known = await farm.git(farm.history.particulars, culprit)
    return links.reviews_of(culprit.subject, known.reviews)[:MOST_REVIEWS]
