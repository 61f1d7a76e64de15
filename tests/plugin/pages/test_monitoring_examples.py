"""docs/how-to/monitoring: what its rules, dashboard and table name is what a farm exposes."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from buildbot_bench.api.answers import ProbeState, SearchState
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.pages.metrics import metrics
from tests.fakes.control import WITH_CONTROL, control_rounds
from tests.running import ran

DOCS = Path(__file__).parents[3] / "docs/how-to"
ALERTS = DOCS / "monitoring" / "alerts.yml"
DASHBOARD = DOCS / "monitoring" / "dashboard.json"

STATES = {"bench_images": ImageState, "bench_probes": ProbeState, "bench_searches": SearchState}
# What Prometheus itself adds to all that it fetches.
OF_PROMETHEUS = frozenset({"job", "instance"})
METRIC = re.compile(r"\bbench_\w+")
SELECTOR = re.compile(r"\b(\w+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')


@pytest.fixture
def farm(make_farm):
    return make_farm(WITH_CONTROL)


async def exposed(farm, past) -> dict[str, set[str]]:
    """By metric its labels, of a farm that has something of each kind."""
    await control_rounds(past, *[1e6] * 7)
    await past.measured(2, (1e6,))
    await past.measured(3, (2e6, 4e6))
    await past.search()
    farm.cycle_time.seconds = 0.1
    return labels_of(await metrics(farm))


def labels_of(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        names = found.setdefault(family.name, set())
        names.update(name for sample in family.samples for name in sample.labels)
    return found


def rules() -> list[dict]:
    (group,) = YAML(typ="safe").load(ALERTS)["groups"]
    return group["rules"]


def queries() -> Iterator[tuple[str, str]]:
    """Each query of an alert or a panel, with the text that is made of its result."""
    for rule in rules():
        texts = " ".join(rule["annotations"].values())
        yield rule["expr"], " ".join(re.findall(r"\$labels\.\w+", texts))
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


def used_labels(expr: str, text: str) -> set[str]:
    matched = {name for _, inner in SELECTOR.findall(expr) for name, _ in MATCHER.findall(inner)}
    grouped = {
        name.strip()
        for names in re.findall(r"\b(?:by|on|without|ignoring) \(([^)]*)\)", expr)
        for name in names.split(",")
    }
    written = set(re.findall(r"\$labels\.(\w+)", text)) | set(re.findall(r"\{\{(\w+)\}\}", text))
    return matched | grouped | written


async def test_each_metric_and_label_that_an_example_names_is_exposed(farm, past):
    there = await exposed(farm, past)
    asked = list(queries())
    assert len(asked) > len(rules()) > 0
    for expr, text in asked:
        names = METRIC.findall(expr)
        assert names or expr.startswith("up{"), expr
        assert set(names) <= there.keys(), expr
        known = OF_PROMETHEUS.union(*(there[name] for name in names))
        assert used_labels(expr, text) <= known, (expr, text)


async def test_the_table_has_each_metric_with_its_labels(farm, past):
    there = await exposed(farm, past)
    told: dict[str, set[str]] = {}
    for line in (DOCS / "monitoring.md").read_text().splitlines():
        if line.startswith("| `bench_"):
            _, names, labels, *_ = line.split("|")
            told |= {name: set(re.findall(r"`(\w+)`", labels)) for name in METRIC.findall(names)}
    assert told == there


def test_states_in_queries_are_states():
    seen = 0
    for expr, _ in queries():
        for name, inner in SELECTOR.findall(expr):
            for label, value in MATCHER.findall(inner):
                if label == "state":
                    seen += 1
                    assert value in set(STATES[name]), expr
    assert seen


def test_the_variable_of_the_dashboard_asks_for_a_metric_that_is_there():
    asked = json.loads(DASHBOARD.read_text())["templating"]["list"]
    assert [one["name"] for one in asked] == ["datasource", "testbed"]
    assert METRIC.findall(json.dumps(asked)) == ["bench_testbed_connected"]


def test_panels_have_numbers_of_their_own_and_do_not_lie_on_one_another():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = [
        (x, y)
        for panel in panels
        for at in (panel["gridPos"],)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24


@pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no promtool (prometheus)")
def test_prometheus_takes_the_rules():
    command = ["promtool", "check", "rules", str(ALERTS)]
    done = ran(command, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"{len(rules())} rules found" in done.stdout
