"""What the broker asks of turns, workloads, comparisons and several repositories finds an index.

Each query is asked by itself: a cycle asks some of them only where there is something to share, or
a repository that went.
"""

from buildbot_bench.plugin.broker.removed import RemovedTestbeds
from buildbot_bench.plugin.db.watch import marks
from buildbot_bench.plugin.queries.breakages import troubles_of_workloads
from buildbot_bench.plugin.queries.turns import build_turns, lab_turns
from tests.contracts.pages.plans import full_scans, recorded

REPOSITORIES = ("", "fork")
SERIES = ("apu", "forwarding")


async def test_no_query_of_sharing_or_repositories_reads_a_large_table_through(
    served, engine, farm
):
    await served()
    store = farm.store
    ask = (
        store.claims,
        store.capture_claims,
        store.shares,
        lambda: store.boots_since(0.0, ["ann"]),
        lambda: lab_turns(farm),
        lambda: build_turns(farm),
        store.series_that_fail,
        lambda: store.newest_attempts(SERIES, 200),
        lambda: troubles_of_workloads(farm),
        store.versions_of_ranges,
        store.versions_of_ab_tests,
        lambda: store.ab_tests_elsewhere(REPOSITORIES),
        lambda: store.open_probes_elsewhere(REPOSITORIES),
        lambda: store.unbuilt_elsewhere(REPOSITORIES),
        store.measured_series,
        lambda: store.measured_series("fork"),
        lambda: store.last_untestable(REPOSITORIES),
        lambda: store.asked_since(0),
        lambda: store.undone_commits(0.0),
        lambda: store.have_commits([("main", "a"), ("fork:main", "a")]),
        lambda: store.newest_commits(["main", "fork:main"]),
        lambda: store.versions_since({"main": 3, "fork:main": 3}),
        lambda: store.series_that_failed({"main": 3, "fork:main": 3}),
        lambda: store.branch_of("a", "fork"),
        lambda: store.image_of("a", 0, "fork"),
        lambda: RemovedTestbeds(farm).advance(),
        lambda: store.run(_marks),
    )
    with recorded(engine) as asked:
        for question in ask:
            await question()
    assert len(asked) >= len(ask)
    assert full_scans(engine, asked) == {}


def _marks(conn) -> object:
    with conn.begin():
        return marks(conn)
