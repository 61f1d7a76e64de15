"""The bisection of `make test-freebsd`: its commits, its farm, and how its report is read."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from benchmarks.freebsd import bisecting, boots
from benchmarks.freebsd.commits import BRANCH, Commits, make_commits
from benchmarks.freebsd.workshop import KERNCONF, Workshop
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.workflow.load import load
from tests.fakes.freebsd_tree import make_tree
from tests.readme import CHECKOUT

FAST_PATH = """\
struct mbuf *
ip_tryforward(struct mbuf *m)
{
	ip = mtod(m, struct ip *);

	return (m);
}
"""
SHOWN = ("docs/tutorial/freebsd-vm.yml", "buildbot_bench/demo/init/templates/qemu.yml")
HASHES = [f"{number:040x}" for number in range(11)]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    source = make_tree(tmp_path / "theirs")
    (source / "sys" / "netinet" / "ip_fastfwd.c").write_text(FAST_PATH)
    for name in ("sys/netinet/raw_ip.c", "sys/netinet/ip_input.c", "share/man/man4/inet.4"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")
    return Workshop.make(source, tmp_path / "scratch", ["--kernconf=TINY"], jobs=1)


def test_two_of_ten_commits_lengthen_the_fast_path(workshop):
    commits = make_commits(workshop)
    assert len(commits.hashes) == 11
    assert workshop.git("rev-parse", BRANCH).strip() == commits.hashes[-1]
    shown = workshop.git("show", "--format=%s", commits.tenth)
    assert shown.startswith("Count what is forwarded")
    assert shown.count("+\t\tbench_forwarded++;") == 4
    assert "+\tif (ip->ip_hl" in workshop.git("show", commits.checksum)
    fast = (workshop.source / "sys/netinet/ip_fastfwd.c").read_text()
    assert re.search(r"mtod\(m, struct ip \*\);\n\tif .*in_cksum_hdr.*\n.*\n\t\{", fast)
    assert make_commits(workshop).hashes[0] == commits.hashes[0]


def test_a_tree_whose_fast_path_is_another_is_told(workshop):
    path = workshop.source / "sys" / "netinet" / "ip_fastfwd.c"
    path.write_text("int nothing;\n")
    workshop.git("commit", "--quiet", "--all", "--message=another")
    workshop.git("update-ref", "refs/test-freebsd/start", "HEAD")
    with pytest.raises(UsageError, match="ip_tryforward has no line"):
        make_commits(workshop)


def test_the_farm_that_docs_show_is_one_and_its_builds_take_the_users_words(workshop):
    shown = load(CHECKOUT / "docs" / "tutorial" / "freebsd-vm.yml")
    tried = load(bisecting.plan_of(workshop).workflow)
    assert list(shown.testbeds) == list(tried.testbeds) == ["freebsd-exact"]
    (run,) = [step.run for step in tried.build_job.steps if hasattr(step, "run")]
    assert run == "bench-build freebsd --kernconf=TINY"


@pytest.mark.parametrize("place", SHOWN)
def test_the_configuration_that_is_tried_is_what_jobs_write(place, tmp_path):
    steps = yaml.safe_load((CHECKOUT / place).read_text())["jobs"]["kernel"]["steps"]
    (script,) = [step["run"] for step in steps if "run" in step]
    (tmp_path / "src").mkdir()
    written = script.replace("bench-build ", "exit ; ")
    subprocess.run(["sh", "-ec", written], cwd=tmp_path / "src", check=True)
    assert (tmp_path / "BENCH-VM").read_text() == KERNCONF


def test_without_words_the_kernel_is_the_one_that_docs_show(tmp_path):
    made = Workshop.make(make_tree(tmp_path / "theirs"), tmp_path / "scratch", [], jobs=1)
    assert made.words == (f"--kernconf={tmp_path / 'scratch' / 'BENCH-VM'}", "--modules=none")
    assert (tmp_path / "scratch" / "BENCH-VM").read_text() == KERNCONF


def step(number: int, effect: float) -> dict:
    values = {"old": {"values": [3600.0] * 3}, "new": {"values": [3600.0 * (1 + effect)] * 3}}
    return {
        "old": {"sha": HASHES[number - 1]},
        "new": {"sha": HASHES[number]},
        "effect": effect,
        "contrast": values,
    }


def report(*steps: dict, boots: int = 12) -> dict:
    return {
        "setting": {"search_id": 1},
        "steps": list(steps),
        "headline": steps[-1],
        "unresolved": [],
        "cost": {"boots": boots, "build_s": 300.0},
    }


def test_a_bisection_is_as_wanted_when_it_names_both_and_nobody_else():
    commits = Commits(hashes=HASHES)
    good = list(bisecting.found(report(step(4, 0.001), step(7, 0.026)), commits, 600.0))
    assert [one.is_met for one in good] == [True, True, True, True, True, None]
    bad = report(step(5, 0.001), step(7, 0.026), boots=30)
    assert [one.is_met for one in bisecting.found(bad, commits, 2000.0)] == [
        *(False, True, False, False, False),
        None,
    ]


def test_a_range_without_a_change_is_to_be_told_as_one():
    nothing = report(step(7, 0.025)) | {"kind": "not-reproduced", "steps": []}
    assert [one.is_met for one in bisecting.unchanged(nothing)] == [True]
    known = nothing | {"cost": None}
    assert [one.is_met for one in bisecting.unchanged(known)] == [True]
    named = report(step(7, 0.025)) | {"kind": "culprit"}
    assert [one.is_met for one in bisecting.unchanged(named)] == [False]


def test_the_table_of_functions_is_to_sum_to_the_change():
    told = report(step(7, 0.025))
    functions = [
        {"name": "in_cksumdata", "old": 74.0, "new": 148.0},
        {"name": "in_cksum_hdr", "old": 17.0, "new": 34.0},
    ]
    lines = [{"function": "ip_tryforward", "text": "\tif (in_cksum_hdr(ip))"}]
    table = {"functions": functions, "others": {"old": 10.0, "new": 9.0}}
    told["why"] = {"missing": "", "per_packet": table, "places": [{"lines": lines}]}
    first, summed, placed = bisecting.blamed(told)
    assert first.seen == "in_cksumdata +74.0, in_cksum_hdr +17.0"
    assert (summed.seen, summed.is_met, placed.is_met) == ("+90.00", True, True)
    table["others"]["new"] = 20.0
    assert [one.is_met for one in bisecting.blamed(told)] == [None, False, True]


def test_a_boot_that_gives_nothing_ends_it_with_the_labs_word(workshop, tmp_path):
    nothing = tmp_path / "kernel.txz"
    nothing.write_bytes(b"no archive")
    with pytest.raises(InfraError, match=r"em, forwarding: status [34]"):
        boots.measure(workshop, nothing, testbed="em", workload="forwarding", boots=1)
