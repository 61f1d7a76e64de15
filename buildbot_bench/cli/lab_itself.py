"""`python -m buildbot_bench.cli.lab_itself`: judge what `bench-lab check --aa` measured."""

import json
import sys
from statistics import fmean

from buildbot_bench.cli.local_itself import itself_text
from buildbot_bench.core.compare.sensitivity import sensitivity
from buildbot_bench.core.item import item_of
from buildbot_bench.lab.command.machine import NoiseCause
from buildbot_bench.local.against_itself import AgainstItself


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
