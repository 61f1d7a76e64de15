"""A farm measures a C project by a command: the commit that costs more is mailed, in its unit.

Of a merge it is the commit inside, of a vendor as well. Another workload prints 300 values, of
which a later commit slows 37: one more mail has them all.

All is real: master, builder, lab worker, git, make, a compiler, SMTP, and what counts instructions.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from buildbot_bench.plugin.db.columns import ALARMS
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import History, ReplayFarm, Shape
from tests.gitrepo import Commit, add_commits, git

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not shutil.which("valgrind"), reason="there is no valgrind"),
]

PATIENCE_S = 240.0
_VERDICTS = "SELECT verdict FROM bench_judgement WHERE verdict IS NOT NULL"
FIRST, CULPRIT, BEFORE, SLOWS_MANY, LAST = 700000, 700002, 700005, 700006, 700007
VALUES, MANY = 300, 37
UNIT = "instructions"
VENDORS = "contrib/words"
OF_KERNELS = re.compile(r"\b(boot(s|ed)?|kernels?|packets?)\b", re.IGNORECASE)
MAKEFILE = """\
all: bench
\tmkdir -p pack && cp bench words.txt suite.sh factor pack && tar -C pack -cf bench.tar .
bench: main.o sum.o
\tcc -o bench main.o sum.o
"""
MAIN_C = """\
#include <stdio.h>
long sum(const char *, long);
int main(int count, char **words) {
    static char text[65536];
    FILE *file = fopen(words[1], "r");
    if (count < 2 || !file) return 2;
    long size = (long)fread(text, 1, sizeof(text), file);
    printf("sum %ld of %ld bytes\\n", sum(text, size), size);
    return 0;
}
"""
SUM_C = """\
/* change {number} */
long sum(const char *text, long size) {{
    volatile long total = 0;
    for (int round = 0; round < {rounds}; round++)
        for (long at = 0; at < size; at++) total += text[at];
    return total;
}}
"""
SUITE_SH = r"""# As google-benchmark prints it: each time varies by half a percent.
awk -v seed=$$ -v factor=$(cat factor) 'BEGIN {
    srand(seed)
    printf "{\"context\": {\"executable\": \"suite\"}, \"benchmarks\": ["
    for (n = 0; n < 300; n++) {
        time = (100 + n) * (1 + 0.01 * (rand() - 0.5)) * (n < 37 ? factor : 1)
        printf "%s{\"name\": \"BM_parse<%d>/512\", \"run_type\": \"iteration\"", n ? "," : "", n
        printf ", \"real_time\": %.9g, \"time_unit\": \"ns\"}", time
    }
    print "]}"
}'
"""
TESTBED = """\
[testbeds.runner]
driver = "command"
[testbeds.runner.workloads.count]
run = "./bench words.txt"
value = "instructions"
counter = "valgrind"
[testbeds.runner.workloads.suite]
run = "sh suite.sh"
value = "all"
"""
WORKFLOW = """\
name: Sums
repository: {source}
on:
  push:
    branches: [main]
  workflow_dispatch:
testbeds:
  runner: {{worker: lab, boot: 1s, run: 2s}}
jobs:
  library:
    runs-on: builder
    timeout-minutes: 5
    steps:
      - uses: checkout
      - run: make -j4
      - uses: upload-artefact
        with: {{path: bench.tar}}
  bench:
    needs: library
    runs-on: runner
    strategy:
      matrix:
        workload: [count, suite]
    iterations: 3
    timeout-minutes: 5
regression:
  min-effect: 2%
mail:
  from: Bench <bench@example.org>
  to: [sums@example.org]
  smtp-host: localhost
  smtp-port: {port}
"""


def history(home) -> History:
    """Sums over a text: from the culprit on, one round of ten more."""
    commits = []
    for svn in range(FIRST, LAST + 1):
        rounds = 20 if svn < CULPRIT else 21
        factor = "1" if svn < SLOWS_MANY else "1.15"
        files = {"sum.c": SUM_C.format(number=svn, rounds=rounds), "factor": factor}
        files["suite.sh"] = f"# As of {svn}.\n{SUITE_SH}"
        if svn == FIRST:
            files |= {"Makefile": MAKEFILE, "main.c": MAIN_C, "words.txt": "words\n" * 1000}
        message = f"sum: change {svn}\n"
        commits.append(GeneratedCommit(svn=svn, author="ivan", message=message, files=files))
    return History(path=home / "src", shas=write_history(home / "src", commits))


@dataclass(frozen=True, kw_only=True)
class Scene:
    farm: ReplayFarm
    inbox: Inbox


@pytest.fixture(scope="module")
def scene(farms, inbox: Inbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    def prepare(farm: ReplayFarm) -> None:
        plan = farm.local.plan
        plan.workflow.write_text(WORKFLOW.format(source=farm.source, port=inbox.port))
        plan.testbeds.write_text(TESTBED)

    farm = farms(
        Shape(tip=f"r{FIRST}", poll_s=2.0), history(tmp_path_factory.mktemp("sums")), prepare
    )
    measured = "SELECT count(*) FROM bench_iteration WHERE value IS NOT NULL"
    farm.wait(lambda: farm.value(measured) >= 3, "the first commit's runs", PATIENCE_S)
    farm.history.publish(farm.source, f"r{BEFORE}")
    return Scene(farm=farm, inbox=inbox)


def test_the_culprit_is_mailed_in_the_unit_of_the_command(scene: Scene) -> None:
    farm = scene.farm
    mail = scene.inbox.wait_for(farm, f"r{CULPRIT}", PATIENCE_S)
    assert f"r{CULPRIT} (" in str(mail["Subject"])
    assert "count +" in str(mail["Subject"])
    text = flowing(mail)
    assert f"r{CULPRIT} raised the instruction count of count on runner by " in text
    assert f" {UNIT}). The 95 % interval is" in text
    assert "Lower is better." in text
    assert "counter" in text
    assert "'s build differs from" in text
    assert re.search(r"\d+ runs .*took .* of machine time", text)
    told = " ".join(
        part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"
    )
    assert not OF_KERNELS.search(told)
    (search,) = farm.rows("SELECT unit, higher_is_better FROM bench_search WHERE value = ''")
    assert (search["unit"], bool(search["higher_is_better"])) == (UNIT, False)
    (metric,) = farm.rows("SELECT * FROM bench_metric WHERE workload = 'count'")
    assert (metric["unit"], bool(metric["exact"])) == (UNIT, True)


def test_the_verdict_and_the_search_are_told_of_runs(scene: Scene) -> None:
    farm = scene.farm
    scene.inbox.wait_for(farm, f"r{CULPRIT}", PATIENCE_S)
    reasons = [row["verdict"] for row in farm.rows(_VERDICTS)]
    assert any("Fresh runs of both sides show it" in reason for reason in reasons)
    assert not any(OF_KERNELS.search(reason) for reason in reasons)
    for search in farm.get("searches")["searches"]:
        assert search["nouns"] == {"iteration": "run", "built": "build", "place": "machine"}


def test_a_commit_that_slows_37_of_300_values_leaves_as_one_mail(scene: Scene) -> None:
    farm = scene.farm
    kept = "SELECT count(DISTINCT image_id) FROM bench_values JOIN bench_iteration i"
    kept += " ON i.id = iteration_id WHERE workload = 'suite'"
    farm.wait(lambda: farm.value(kept) >= 5, "the values of five commits", PATIENCE_S)
    farm.history.publish(farm.source, f"r{LAST}")
    mail = scene.inbox.wait_for(farm, f"r{SLOWS_MANY} (", PATIENCE_S)
    assert re.search(r"suite \+1[3-6]\.", str(mail["Subject"]))
    body = mail.get_body(("plain",))
    assert body is not None
    text = " ".join(body.get_content().split())
    told = re.findall(r"value BM_parse<([0-9]+)>/512 of suite \+([0-9.]+) %", text)
    assert {int(number) for number, _ in told} == set(range(MANY))
    sizes = [float(size) for _, size in told[1:]]
    assert sizes == sorted(sizes, reverse=True)  # the first is what was searched
    assert all(13 < size < 17 for size in sizes)
    # What stands for all of them, their mean, hardly moved; and their values take little room.
    verdicts = "SELECT state FROM bench_judgement WHERE workload = 'suite' AND value = ''"
    assert not {row["state"] for row in farm.rows(verdicts)} & set(ALARMS)
    assert farm.value("SELECT max(length(body)) FROM bench_values") == 8 * VALUES
    assert farm.value("SELECT count(*) FROM bench_search WHERE value != ''") == 1
    number = farm.value("SELECT id FROM bench_search WHERE value != ''")
    probes = farm.get(f"searches/{number}/probes")["probes"]
    assert {probe["unit"] for probe in probes if probe["values"]} == {"ns"}


def test_a_person_searches_one_of_the_values(scene: Scene) -> None:
    ends = [f"r{FIRST}", f"r{LAST}", "--workload", "suite"]
    wrong = scene.farm.bisect(*ends, "--value", "BM_parse<370>/512")
    assert wrong.returncode == 2
    assert f"there are {VALUES}, such as" in wrong.stderr
    asked = scene.farm.bisect(*ends, "--value", "BM_parse<36>/512", "--json")
    assert asked.returncode == 0, asked.stderr
    (step,) = json.loads(asked.stdout)["steps"]
    assert [one["label"] for one in step["suspects"]] == [f"r{SLOWS_MANY}"]
    assert step["effect"] == pytest.approx(0.15, abs=0.01)


def merged(source: Path) -> tuple[str, str]:
    """Have main merge a branch of which the second commit costs more: the merge's hash and its."""
    tip = git(source, "rev-parse", "main")
    dear = {"sum.c": SUM_C.format(number="dear", rounds=24)}
    changes: tuple[dict[str, str], ...] = ({"a": "1\n"}, dear, {"b": "1\n"})
    commits = [Commit(files=files, subject=f"side {n}") for n, files in enumerate(changes, 1)]
    _, culprit, side = add_commits(source, commits, branch="side", on=tip)
    (main,) = add_commits(source, [Commit(files={"c": "1\n"})], branch="other", on=tip)
    tree = git(source, "merge-tree", "--write-tree", main, side)
    merge = git(source, "commit-tree", tree, "-p", main, "-p", side, "-m", "Merge side")
    git(source, "update-ref", "refs/heads/main", merge)
    return merge, culprit


def test_the_commit_inside_a_merge_is_mailed_and_told(scene: Scene) -> None:
    farm = scene.farm
    merge, culprit = merged(farm.source)
    mail = scene.inbox.wait_for(farm, f"inside it {culprit[:10]}", PATIENCE_S)
    assert re.search(rf"\({merge[:10]}\), inside it {culprit[:10]}: count \+", str(mail["Subject"]))
    assert f'Inside this merge it is commit {culprit[:10]} "side 2".' in flowing(mail)
    ends = [f"r{LAST}", "main", "--workload", "count"]
    asked = farm.bisect(*ends, "--json")
    assert asked.returncode == 0, asked.stderr
    told = json.loads(asked.stdout)
    assert [one["culprit"]["sha"] for one in told["inside"]] == [culprit]
    assert told["headline"]["new"]["sha"] == merge
    outside = farm.bisect(*ends, "--first-parent")
    assert "Merge side" in outside.stdout
    assert "Inside the merge" not in outside.stdout


def dropped(source: Path) -> tuple[str, str]:
    """Have main import what a vendor makes, and merge its next commits into that directory.

    The second of these costs more: the merge's hash and its.
    """
    tip = git(source, "rev-parse", "main")
    few, many = "words\n" * 1000, "words\n" * 1300
    (first,) = add_commits(
        source, [Commit(files={"words.txt": few, "NEWS": "1\n"})], branch="vendor"
    )
    makefile = MAKEFILE.replace(" words.txt", f" {VENDORS}/words.txt")
    imported = {f"{VENDORS}/words.txt": few, f"{VENDORS}/NEWS": "1\n", "Makefile": makefile}
    changes: tuple[dict[str, str], ...] = ({"NEWS": "2\n"}, {"words.txt": many}, {"new": "1\n"})
    commits = [Commit(files=files, subject=f"words {n}") for n, files in enumerate(changes, 1)]
    _, culprit, last = add_commits(source, commits, branch="vendor")
    drop = {f"{VENDORS}/{name}": text for files in changes for name, text in files.items()}
    merges = [
        Commit(files=imported, subject="Import words", merged=first),
        Commit(files=drop, subject="Merge words", merged=last),
    ]
    _, merge = add_commits(source, merges, branch="drop", on=tip)
    git(source, "update-ref", "refs/heads/main", merge)
    return merge, culprit


def test_a_vendors_commit_is_built_in_its_directory_and_mailed(scene: Scene) -> None:
    farm = scene.farm
    merge, culprit = dropped(farm.source)
    mail = scene.inbox.wait_for(farm, f"inside it {culprit[:10]}", PATIENCE_S)
    assert f"({merge[:10]}), inside it {culprit[:10]}: count +" in str(mail["Subject"])
    assert f'Inside this merge it is commit {culprit[:10]} "words 2".' in flowing(mail)
    inside = f"SELECT state FROM bench_image WHERE variant LIKE '%+merge:{culprit}:{VENDORS}'"
    assert {row["state"] for row in farm.rows(inside)} == {"built"}
