"""Every query of the broker's cycle and of the pages finds an index, on each database."""

from typing import Any

import pytest

from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.db import findings, pooled
from buildbot_bench.plugin.db.store import BenchStore
from tests.contracts.pages.named import RESOURCES, programs, targets
from tests.contracts.pages.plans import full_scans, recorded

SERIES = {"series": ("apu", "forwarding")}
NAMED = {"testbed": "apu", "workload": "forwarding"}
BRANCH = {"branch": "main"}
# What neither a cycle of this farm nor a page asks, with what it may be asked for: what it asks
# after a day, a week, a failure or a person's request.
ASKED_SELDOM: dict[str, dict[str, Any]] = {
    "branch_of": {"sha": "a" * 40, "repository": ""},
    "boots_since": {"since_s": 0.0, "people": ["ann"]},
    "commit_at": BRANCH | {"position": 5},
    "NoticeRow due": {"now": 1e9},
    "failing_boots": BRANCH | SERIES | {"first_position": 3},
    "first_arrival": BRANCH,
    "first_of_newest_push": BRANCH,
    "images_of_variants": {"variants": ["a" * 40], "repository": ""},
    "incidents_over": BRANCH | {"old_position": 1, "new_position": 9},
    "judgements_of_values": NAMED | {"sha": "a" * 40, "repository": ""},
    "judgement_of_search": SERIES | {"search_id": 1},
    "last_boot_at": {"testbed": "apu"},
    "marks_on_series": SERIES | {"value": None},
    "mails_sent_since": {"since_s": 0.0},
    "newest_attempts": SERIES | {"limit": 200},
    "newest_epoch": {"testbed": "apu"},
    "newest_listed": BRANCH | {"last_position": 9},
    "old_logs": {"before_s": 0.0},
    "outcomes_since": {"since_s": 0.0},
    "overdue": {"before_s": 0.0},
    "patch_bytes": {"requester": "ann"},
    "ProbeRow by key": {"key": "k"},
    "SearchRow by key": {"key": "k"},
    "runs_of_values": NAMED | BRANCH | {"first_position": 1, "last_position": 9, "limit": 9},
    "scheduled_ab_tests": {"requester": "bench.yml", "prefix": "schedule:"},
    "suites": {},
    "value_names": NAMED,
    "unbuilt_commits": BRANCH | {"first_position": 3},
    "searches is_unnoticed": {"ended_since": 0.0},
}
# These read Buildbot's own tables.
ELSEWHERE = {"begun", "busy_masters"}


@pytest.fixture
def asked_names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The reading queries that were asked so far, by name."""
    names: set[str] = set()
    read = pooled.PooledStore.read

    async def noted(store: pooled.PooledStore, query: Any, /, *args: Any, **kwargs: Any) -> Any:
        names.add(query.__name__)
        return await read(store, query, *args, **kwargs)

    monkeypatch.setattr(pooled.PooledStore, "read", noted)
    return names


def reading_queries() -> dict[str, str]:
    """The names of all queries that change nothing, with those of the store's methods."""
    return {
        method.__wrapped__.__name__: name
        for name, method in vars(BenchStore).items()
        if hasattr(method, "__wrapped__") and "read" in method.__code__.co_names
    }


async def test_no_cycle_and_no_page_reads_a_large_table_through(
    served, there, engine, *, farm, master, asked_names
):
    site, cycle = await served(), Cycle(farm=farm, scheduler=master)
    known = there()
    with recorded(engine) as asked:
        for _ in range(2):
            await cycle.run()
        of_cycle = len(asked)
        for path in RESOURCES:
            for target in targets(path, known):
                await site.get(target)
        for target in programs(known):
            await site.get(target)
        of_both = len(asked)
        methods = reading_queries()
        for name, arguments in ASKED_SELDOM.items():
            await getattr(farm.store, methods[name])(**arguments)
    assert min(of_cycle, of_both - of_cycle) > 40
    # A new query is asked by a page or a cycle, or it is to be named above.
    assert methods.keys() - asked_names - ELSEWHERE == set()
    of_overview = {"findings", "findings_over", "last_marks"}
    assert of_overview < {name for name in vars(findings) if name in asked_names}
    assert full_scans(engine, asked) == {}
