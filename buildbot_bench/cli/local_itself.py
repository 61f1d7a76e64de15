"""What a revision measured against itself shows, in words."""

from collections.abc import Iterator
from statistics import fmean

from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.figures import count, fine_percent, quantity, size, threshold
from buildbot_bench.core.limits import MOST_IMAGES
from buildbot_bench.local.against_itself import AgainstItself

_HOUR_S = 3600


def itself_text(seen: AgainstItself) -> str:
    """The answer of `bench-compare --local --aa`: the noise, the costs, the causes."""
    sha, subject = seen.revision.short_sha, seen.revision.subject
    blocks = [
        [f"{sha} {subject}, against itself"],
        list(_noise(seen)),
        list(_costs(seen)),
        list(_causes(seen)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _noise(seen: AgainstItself) -> Iterator[str]:
    found, first = seen.found, seen.values[0]
    spread = "a counted value, which repeats" if not found.run else f"{size(found.run)} (sd)"
    runs = sum(map(len, seen.values.values()))
    yield f"from run to run      {spread}, by {count(runs, 'run')} of {seen.seconds:.2g} s"
    if found.build is not None:
        apart = ", ".join(map(fine_percent, found.between))
        yield f"from image to image  {size(found.build)} (sd); seen: {apart} from the first one"
    elif seen.alike:
        yield "from image to image  not known: the build does not heed BENCH_IMAGE"
    elif seen.is_built:
        yield "from image to image  not known: --images 1 builds one alone"
    else:
        yield "from image to image  nothing: there is no --build"
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
        yield f"{change}{count(cost.runs, 'run')}{images}, {hours} for both sides"


def _why(seen: AgainstItself) -> str:
    if seen.found.build is not None:
        return f"not by {MOST_IMAGES} images of each"
    if seen.is_built:
        return "with one image it may be luck with layout"
    return f"runs differ by {size(seen.found.run)}"


def _causes(seen: AgainstItself) -> Iterator[str]:
    if not seen.causes:
        yield "this machine shows none of the usual causes of noise"
        return
    yield "what makes runs vary here, and what to do about it:"
    for cause in seen.causes:
        yield f"  {cause.what}"
        yield f"    {cause.remedy}"
