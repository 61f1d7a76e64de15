"""A farm whose search boots what a web server has first, and builds near what that shows."""

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.checks import steps_of
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.fakes import web

pytestmark = pytest.mark.e2e

EVERY = 10
DAMAGED = "r312200"  # near the middle of the range; it stands in the server's list, and is damaged


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A directory and the URL at which it is served."""
    here = tmp_path_factory.mktemp("kernels")
    with web.served(partial(web.Files, directory=str(here))) as url:
        yield here, url


@pytest.fixture(scope="module")
def farm(farms, kernels: tuple[Path, str]) -> ReplayFarm:
    directory, url = kernels
    pattern = f"{url}/{{branch}}/{{hash}}/kernel"
    told = f"{{prebuilt: {{pattern: '{pattern}', checksum: .sha256}}}}"
    farm: ReplayFarm = farms(Shape(commits=False, artefacts=told))
    for place, (label, sha) in enumerate(farm.history.shas.items()):
        if place % EVERY and label != DAMAGED:
            continue
        kernel = directory / "main" / sha / "kernel"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(f"{label}\n")
        digest = hashlib.sha256(kernel.read_bytes()).hexdigest()
        kernel.with_name("kernel.sha256").write_text(f"{digest}  kernel\n")
        if label == DAMAGED:
            kernel.write_text(f"{label} and more\n")
    return farm


def test_the_culprit_is_named_by_few_builds_of_the_farm_s_own(farm: ReplayFarm) -> None:
    done = farm.bisect("r311848", "r312800", "--json")
    assert done.returncode == 0, done.stderr
    assert steps_of(json.loads(done.stdout)) == [("r311848", "r311849", -1)]
    images = farm.rows("SELECT label, variant, state, digest, brid FROM bench_image")
    fetched = [one for one in images if one["variant"].endswith("+prebuilt")]
    own = {one["label"] for one in images if one not in fetched and one["state"] == "built"}
    assert [one for one in fetched if one["state"] == "built"]
    assert all(one["brid"] is None for one in fetched)  # no builder made it
    assert {"r311848", "r311849"} <= own
    assert len(own) <= 12, own


def test_the_search_s_strip_and_probes_can_be_read(farm: ReplayFarm) -> None:
    number = farm.value("SELECT min(id) FROM bench_search")
    probes = farm.get(f"searches/{number}/probes")["probes"]
    labels = [probe["label"] for probe in probes]
    assert any(label.endswith("+prebuilt") for label in labels)
    assert not labels[-1].endswith("+prebuilt")
    assert farm.get(f"searches/{number}")["searches"][0]["state"] == "found"
