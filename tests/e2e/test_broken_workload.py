"""A workload that breaks in mid-search is found out, blames nothing, and the search goes on.

All is real: master, builder, lab, git, the C compiler and the programs that are booted. What breaks
is the embedded testbed's sender: it says from then on that no packet came back.
"""

import json
from pathlib import Path

import pytest

from tests.e2e.embedded import embed
from tests.e2e.histories import edited_history
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.edits import MAIN, SLOWDOWN, Change, Edit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

FIRST, CULPRIT, LAST = 700000, 700013, 700016
PATIENCE_S = 900.0
SETTINGS = """\
driver = "embedded"
duration_s = 0.3
retry_pause_s = 0.1
boot_timeout_s = 60.0
"""
ENDED = "SELECT count(*) FROM bench_probe WHERE state = 'done' AND failure_kind IS NULL"
FAILED = "SELECT count(*) FROM bench_probe WHERE failure_kind = 'untestable'"
UNTESTABLE = "SELECT count(*) FROM bench_image WHERE state = 'untestable'"
NOTHING_CAME = """\
#!/bin/sh
"$0.real" "$@" | sed 's/^Received [0-9]* packets/Received 0 packets/'
"""


def change(svn: int) -> Change:
    old, new = f'puts("step {svn - 1}");\n', f'puts("step {svn}");\n'
    if svn == FIRST + 1:
        old, new = "puts(version);\n", f"puts(version);\n\t{new}"
    edits = (Edit(path=MAIN, old=old, new=new), *(SLOWDOWN if svn == CULPRIT else ()))
    return Change(label=f"r{svn}", author="ivan", message=f"main: step {svn}", edits=edits)


@pytest.fixture(scope="module")
def farm(farms, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    changes = [change(svn) for svn in range(FIRST + 1, LAST + 1)]
    history = edited_history(tmp_path_factory.mktemp("history"), FIRST, changes)

    def prepare(farm: ReplayFarm) -> None:
        embed(farm, settings=SETTINGS)

    return farms(Shape(tip=f"r{LAST}", poll_s=600.0), history, prepare)


def sender(farm: ReplayFarm) -> Path:
    (found,) = farm.lab_state.parent.rglob("tools/*/pktblast")
    return found


def break_sender(farm: ReplayFarm) -> None:
    program = sender(farm)
    program.rename(program.with_name("pktblast.real"))
    unfinished = program.with_name("pktblast.new")
    unfinished.write_text(NOTHING_CAME)
    unfinished.chmod(0o755)
    unfinished.rename(program)


def mend_sender(farm: ReplayFarm) -> None:
    program = sender(farm)
    program.with_name("pktblast.real").rename(program)


def now(farm: ReplayFarm, search_id: int) -> str:
    (search,) = farm.get(f"searches/{search_id}")["searches"]
    return search["now"]


def test_the_search_says_that_it_is_the_workload_and_ends_when_that_works_again(farm) -> None:
    search_id = farm.begin_search(f"r{FIRST}", f"r{LAST}")
    farm.wait(lambda: farm.value(ENDED) >= 4, "both ends are measured", PATIENCE_S)
    break_sender(farm)
    farm.wait(lambda: "is broken" in now(farm, search_id), "the workload is blamed", PATIENCE_S)
    said = now(farm, search_id)
    for word in ("workload forwarding", "testbed embedded", "fail alike", "passes no traffic"):
        assert word in said
    assert "bench-lab check embedded" in said
    assert "the last lines of its output: " in said
    assert farm.value(FAILED) <= 5
    farm.wait(lambda: not farm.value(UNTESTABLE), "no kernel is blamed")
    farm.kill("master")
    farm.resume("master")
    farm.wait(lambda: "is broken" in now(farm, search_id), "a new master knows it, too")
    mend_sender(farm)
    farm.wait(
        lambda: farm.value("SELECT state FROM bench_search") == "found", "an answer", PATIENCE_S
    )
    done = farm.bisect("--follow", str(search_id), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["headline"]["new"]["label"] == f"r{CULPRIT}"
    assert report["skipped"] == []
