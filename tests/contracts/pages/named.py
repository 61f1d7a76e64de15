"""The names of all of the plugin's resources; a resource without a name fails its suite.

`{}` in a path stands for each existing value; PLACES reads these from the tables.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from urllib.parse import quote

import sqlalchemy as sa

from buildbot_bench.core.metric import COSTS
from buildbot_bench.plugin.db.columns import ProfileState
from buildbot_bench.plugin.db.schema import (
    AB_TEST,
    BRANCH,
    IMAGE,
    JUDGEMENT,
    PROFILE,
    SEARCH,
)
from tests.fakes.served import API, PAGES

# Buildbot's patterns of our REST resources, and what an answer's list is called; "" is a file.
RESOURCES: Mapping[str, str] = {
    "bench/incidents": "incidents",
    "bench/incidents/n:incidentid": "incidents",
    "bench/judgements": "judgements",
    "bench/judgements/n:judgementid": "judgements",
    "bench/calibration": "views",
    "bench/commits/s:revision": "views",
    "bench/gates": "views",
    "bench/history/s:testbed/s:workload/n:position": "views",
    "bench/kernels": "views",
    "bench/lab": "views",
    "bench/series": "views",
    "bench/mirror": "views",
    "bench/overview": "views",
    "bench/noops": "views",
    "bench/probes": "probes",
    "bench/record": "views",
    "bench/reports": "views",
    "bench/samples/s:testbed/s:workload/csv": "",
    "bench/searches": "searches",
    "bench/searches/n:searchid": "searches",
    "bench/searches/n:searchid/commits/n:offset": "views",
    "bench/searches/n:searchid/probes": "probes",
    "bench/searches/n:searchid/report": "views",
    "bench/searches/n:searchid/strip": "views",
    "bench/testbeds/s:testbed": "testbeds",
    "bench/comparisons": "comparisons",
    "bench/comparisons/n:comparisonid": "comparisons",
    "bench/comparisons/n:comparisonid/files": "files",
    "bench/verdicts": "views",
}
# Those whose answer is a list, which may be cut and, by some fields, be sorted and filtered.
COLLECTIONS: Mapping[str, Sequence[str]] = {
    "bench/incidents": ("incidentid", "kind", "branch"),
    "bench/judgements": ("judgementid", "state", "branch"),
    "bench/gates": ("branch",),
    "bench/noops": ("branch",),
    "bench/series": ("branch",),
    "bench/probes": ("probeid", "serial"),
    "bench/reports": ("branch",),
    "bench/searches": ("searchid", "state", "testbed", "workload", "branch"),
    "bench/searches/n:searchid/probes": ("probeid", "serial"),
    "bench/comparisons": ("comparisonid", "state"),
    "bench/comparisons/n:comparisonid/files": ("path",),
    "bench/verdicts": ("branch",),
}
# Those that are of a branch though they are no list: ?branch= names it.
OF_A_BRANCH = (
    "bench/history/s:testbed/s:workload/n:position",
    "bench/samples/s:testbed/s:workload/csv",
)
# What changes something, and parameters that mean nothing.
METHODS: Mapping[str, Sequence[str]] = {
    "bench/searches": ("forecast", "start"),
    "bench/searches/n:searchid": ("cancel", "mark", "measure"),
    "bench/incidents/n:incidentid": ("mark",),
    "bench/judgements/n:judgementid": ("mark",),
    "bench/testbeds/s:testbed": ("release",),
    "bench/comparisons": ("start",),
    "bench/comparisons/n:comparisonid": ("cancel", "extend", "approve", "reject"),
}
# What lies under plugins/bench/ besides the browser's files; a folder's pages have names of theirs.
PROGRAMS: Mapping[str, Sequence[str]] = {
    "badge.svg": ("badge.svg",),
    "flamegraph": (
        "flamegraph/{profile}.svg",
        "flamegraph/{profile}-{profile}.svg",
        "flamegraph/{profile}.folded",
    ),
    "glossary.html": ("glossary.html",),
    "history": (
        "history/{testbed}/{workload}",
        "history/{testbed}/{workload}?branch={branch}",
        *(f"history/{{testbed}}/{{workload}}?cost={cost}" for cost in COSTS),
        "history/{testbed}/{workload}?value=BM_%3Cb%3E",
        "history/{testbed}/{workload}?heat=1",
    ),
    "library": ("library/chart.js",),
    "metrics": ("metrics",),
    "report.schema.json": ("report.schema.json",),
}


def places(
    engine: sa.Engine, all_series: Collection[tuple[str, str]], positions: Collection[int]
) -> dict[str, list[str]]:
    """What there is of each thing that a path names, the newest first.

    Each of the testbeds of `series` runs each of the workloads; `positions` are measured ones.
    """
    taken = sa.select(PROFILE.c.id).where(PROFILE.c.state == ProfileState.DONE)
    found = sa.select(SEARCH.c.id).where(SEARCH.c.ended_at.is_not(None))
    plain = sa.select(IMAGE.c.label).distinct().where(IMAGE.c.variant == IMAGE.c.sha)
    queries = {
        "n:searchid": sa.select(SEARCH.c.id),
        "n:incidentid": found.where(SEARCH.c.state.in_(("found", "slope"))),
        "n:judgementid": sa.select(JUDGEMENT.c.id),
        "n:comparisonid": sa.select(AB_TEST.c.id),
        "{profile}": taken,
        "{branch}": sa.select(BRANCH.c.name),
        "s:revision": plain.where(IMAGE.c.position.in_(positions)),
    }
    with engine.connect() as conn:
        found = {
            name: [str(one) for one in sorted(conn.execute(query).scalars(), reverse=True)]
            for name, query in queries.items()
        }
    names = [sorted({series[part] for series in all_series}) for part in (0, 1)]
    found |= {"s:testbed": names[0], "{testbed}": names[0]}
    found |= {"s:workload": names[1], "{workload}": names[1]}
    found |= {"n:position": [str(position) for position in positions]}
    return found | {"n:offset": ["0", "1"]}


def targets(pattern: str, there: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The targets of requests for all that there is under a pattern of Buildbot's."""
    parts = pattern.split("/")
    unknown = [part for part in parts if ":" in part and part not in there]
    assert not unknown, f"{pattern}: say in `places` what there is of {unknown}"
    for chosen in product(*(there.get(part, [part]) for part in parts)):
        yield API + "/".join(quote(part) for part in chosen)


def programs(there: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The targets of all that programs read under plugins/bench/."""
    for page in (page for pages in PROGRAMS.values() for page in pages):
        yield from _filled(PAGES + page, there)


def _filled(path: str, there: Mapping[str, Sequence[str]]) -> Iterable[str]:
    name = next((name for name in there if name in path), None)
    if name is None:
        return [path]
    return [full for one in there[name] for full in _filled(path.replace(name, one, 1), there)]
