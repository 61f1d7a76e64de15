"""What a revision measured against itself shows, in words; a command for `bench-lab check --aa`."""

import json
import sys
from collections.abc import Iterator
from statistics import fmean

from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.figures import count, fine_percent, quantity, size, threshold
from buildbot_bench.core.item import item_of
from buildbot_bench.core.limits import MOST_IMAGES
from buildbot_bench.lab.command.machine import NoiseCause
from buildbot_bench.local.against_itself import AgainstItself, sensitivity

_HOUR_S = 3600


def itself_text(seen: AgainstItself) -> str:
    """The answer of an A/A measurement: the noise, the costs, the causes."""
    blocks = [
        [f"{seen.title}, against itself"],
        list(_noise(seen)),
        list(_costs(seen)),
        list(_causes(seen)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _noise(seen: AgainstItself) -> Iterator[str]:
    found, first = seen.found, seen.values[0]
    spread = "a counted value, which repeats" if not found.run else f"{size(found.run)} (sd)"
    runs = sum(map(len, seen.values.values()))
    between = f"from {seen.noun} to {seen.noun}"
    yield f"{between:<21}{spread}, by {count(runs, seen.noun)} of {seen.seconds:.2g} s"
    if found.build is not None:
        apart = ", ".join(map(fine_percent, found.between))
        yield f"from image to image  {size(found.build)} (sd); seen: {apart} from the first one"
    else:
        yield f"from image to image  {seen.alone}"
    yield f"the first image      {quantity(fmean(first))} {seen.unit} on average"


def _costs(seen: AgainstItself) -> Iterator[str]:
    yield "what a comparison takes here to show a change, on average, of each side:"
    for cost in seen.found.costs:
        change = f"  {threshold(cost.change):>5}  "
        if cost.runs is None or cost.images is None:
            yield f"{change}cannot be shown: {_why(seen)}"
            continue
        images = f" in {count(cost.images, 'image')}" if cost.images > 1 else ""
        hours = hours_text(2 * cost.runs * seen.seconds / _HOUR_S)
        yield f"{change}{count(cost.runs, seen.noun)}{images}, {hours} for both sides"


def _why(seen: AgainstItself) -> str:
    if seen.found.build is not None:
        return f"not by {MOST_IMAGES} images of each"
    if seen.is_built:
        return "with one image it may be luck with layout"
    return f"{seen.noun}s differ by {size(seen.found.run)}"


def _causes(seen: AgainstItself) -> Iterator[str]:
    if not seen.here:
        yield "what makes boots vary on the DUT is not visible from here: see what is MISSING above"
        return
    if not seen.causes:
        yield "this machine shows none of the usual causes of noise"
        return
    yield f"what makes {seen.noun}s vary here, and what to do about it:"
    for cause in seen.causes:
        yield f"  {cause.what}"
        yield f"    {cause.remedy}"


def main() -> None:
    """Read the values as JSON from stdin, and print what they say."""
    told = json.load(sys.stdin)
    values = {place: tuple(own) for place, own in enumerate(told["values"])}
    if (least := min(map(min, values.values()))) <= 0:
        sys.exit(f"a measurement gave {least:g}, of which no change is a share")
    seen = AgainstItself(
        title=told["title"],
        unit=told["unit"],
        values=values,
        seconds=fmean(told["seconds"]),
        is_built=True,
        alone="not known: name a further build of the same revision, linked in another order",
        noun=item_of(told["facts"]).iteration,
        found=sensitivity(values, is_built=True),
        causes=tuple(NoiseCause(**cause) for cause in told["causes"]),
        here=told["here"],
    )
    sys.stdout.write(itself_text(seen))


if __name__ == "__main__":
    main()
