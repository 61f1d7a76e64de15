"""The rows of `make test-freebsd` that use a farm: a bisection of ten commits, and its blame."""

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from benchmarks.freebsd.boots import TESTBEDS
from benchmarks.freebsd.commits import BRANCH, CHECKSUM, Commits, make_commits
from benchmarks.freebsd.showing import run_shown, say
from benchmarks.freebsd.table import Figure, at_most
from benchmarks.freebsd.workshop import Workshop
from buildbot_bench.cli.farm_access import Credentials, keep_login
from buildbot_bench.core.errors import InfraError
from buildbot_bench.demo.farm import USER, FarmPlan, LocalFarm
from tests.ports import free_port
from tests.readme import CHECKOUT

BOOTS, BESIDE_BUILDS_S = 20, 15 * 60.0
OFF = 0.02  # of the change, by which the table of functions may miss it
_CAPTURES_S = 600.0
_LOOK_S = 5.0


def bisect(workshop: Workshop) -> Iterator[Figure]:
    """Two culprits among ten commits, by the farm of docs/tutorial/, and why they are."""
    commits = make_commits(workshop)
    farm = LocalFarm(plan_of(workshop))
    say(f"… starts a farm at {farm.plan.url}, in {farm.plan.directory}")
    farm.prepare()
    os.environ["XDG_CONFIG_HOME"] = str(farm.plan.directory / "config")  # of the farm's login
    keep_login(farm.plan.url, Credentials(user=USER, password=farm.plan.password))
    try:
        farm.start()
        begun_s = time.monotonic()
        report = _ask(farm, commits.hashes[0], commits.hashes[-1])
        seconds = time.monotonic() - begun_s
        yield from found(report, commits, seconds)
        yield from blamed(_with_captures(farm, report))
        yield from unchanged(_ask(farm, commits.tenth, commits.hashes[CHECKSUM - 1]))
    finally:
        farm.stop()


def plan_of(workshop: Workshop) -> FarmPlan:
    """The farm that docs/ shows, on the scratch clone and with the user's words for bench-build."""
    place = workshop.place / "farm"
    place.mkdir(exist_ok=True)
    workflow = yaml.safe_load(
        (CHECKOUT / "docs" / "tutorial" / "freebsd-vm.yml").read_text(encoding="utf-8")
    )
    workflow["repository"] = str(workshop.source)
    del workflow[True]  # what YAML 1.1 takes `on` for
    workflow["on"] = {"workflow_dispatch": None, "push": {"branches": [BRANCH]}}
    for step in workflow["jobs"]["kernel"]["steps"]:
        if "run" in step:
            step["run"] = shlex.join(["bench-build", "freebsd", *workshop.words])
    path, testbeds = place / "bench.yml", place / "testbeds.toml"
    path.write_text(yaml.safe_dump(workflow), encoding="utf-8")
    testbeds.write_text(TESTBEDS, encoding="utf-8")
    return FarmPlan(
        directory=place,
        workflow=path,
        testbeds=testbeds,
        www_port=free_port(),
        pb_port=free_port(),
    )


def _ask(farm: LocalFarm, *words: str) -> Mapping[str, Any]:
    command = Path(sys.executable).parent / "bench-bisect"
    asked = [str(command), *words, "--farm", farm.plan.url, "--json", "--patience=30m"]
    say(f"… {shlex.join(asked)}")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        _, said = run_shown(asked, out=out)
        out.seek(0)
        answer = out.read()
    if not answer.strip():
        raise InfraError(f"bench-bisect: {said.strip()[-300:]}")
    report: Mapping[str, Any] = json.loads(answer)
    return report


def found(report: Mapping[str, Any], commits: Commits, seconds: float) -> Iterator[Figure]:
    """Both culprits, nobody beside them, and what it took."""
    named = [(step["old"]["sha"], step["new"]["sha"]) for step in report["steps"]]
    wanted = {commits.tenth: "a tenth of a percent", commits.checksum: "a redundant checksum"}
    for sha, what in wanted.items():
        before = commits.hashes[commits.hashes.index(sha) - 1]
        step = next((s for s in report["steps"] if s["new"]["sha"] == sha), None)
        yield Figure(
            row="bisect",
            what=what,
            wanted="its commit alone",
            seen="not found" if step is None else f"{step['effect']:+.2%} by {sha[:10]}",
            is_met=(before, sha) in named,
        )
    others = [new for _, new in named if new not in wanted]
    yield Figure(
        row="bisect",
        what="others that are suspected",
        wanted="none",
        seen=", ".join(sha[:10] for sha in others) or "none",
        is_met=not others and not report["unresolved"],
    )
    boots, build_s = report["cost"]["boots"], report["cost"]["build_s"]
    yield Figure(
        row="bisect", what="boots", wanted=f"≤ {BOOTS}", seen=str(boots), is_met=boots <= BOOTS
    )
    yield at_most("bisect", "beside the builds", BESIDE_BUILDS_S, max(0.0, seconds - build_s))
    yield Figure(
        row="bisect", what="its builds", wanted="told", seen=f"{build_s:.0f} s of {seconds:.0f} s"
    )


def _with_captures(farm: LocalFarm, report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report once both sides were sampled; InfraError when they are not in time."""
    end_s = time.monotonic() + _CAPTURES_S
    while not (why := report["why"]) or why["missing"]:
        if time.monotonic() > end_s:
            raise InfraError(f"no capture of both sides: {why and why['missing']}")
        time.sleep(_LOOK_S)
        report = _ask(farm, "--follow", str(report["setting"]["search_id"]))
    return report


def unchanged(report: Mapping[str, Any]) -> Iterator[Figure]:
    """Commits that no packet executes: the search says so, and soon."""
    boots = report["cost"]["boots"] if report["cost"] else 0  # what was known may suffice
    yield Figure(
        row="bisect",
        what="a range without a change",
        wanted=f"not reproduced, ≤ {BOOTS} boots",
        seen=f"{report['kind']}, {boots} boots",
        is_met=report["kind"] == "not-reproduced" and boots <= BOOTS,
    )


def blamed(report: Mapping[str, Any]) -> Iterator[Figure]:
    """The functions of the headline's change sum to it, and its lines lie in them."""
    why, step = report["why"], report["headline"]
    table = why["per_packet"]
    changes = {one["name"]: one["new"] - one["old"] for one in table["functions"]}
    told = ", ".join(f"{name} {change:+.1f}" for name, change in list(changes.items())[:4])
    yield Figure(row="blame", what=f"of {step['new']['sha'][:10]}", wanted="told", seen=told)
    measured = median(step["contrast"]["new"]["values"]) - median(step["contrast"]["old"]["values"])
    summed = sum(changes.values()) + table["others"]["new"] - table["others"]["old"]
    yield Figure(
        row="blame",
        what="functions sum to the change",
        wanted=f"± {OFF:.0%} of {measured:+.2f}",
        seen=f"{summed:+.2f}",
        is_met=abs(summed - measured) <= OFF * abs(measured),
    )
    lines = [line for place in why["places"] or [] for line in place["lines"]]
    yield Figure(
        row="blame",
        what="the commit's lines within them",
        wanted="some",
        seen=lines[0]["text"].strip() if lines else "none",
        is_met=bool(lines),
    )
