"""A guest's patch on a real farm: over HTTP, with the roles of the master.cfg that is shipped."""

import base64
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.asking import ASKED
from tests.contracts.subject import post
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = pytest.mark.e2e

COMPARISONS = "/api/v2/bench/comparisons"
PATCH = b"--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+evil\n"
# Of the patch that was asked for last.
HELD = "SELECT state FROM bench_image WHERE variant LIKE '%+patch:%' ORDER BY id DESC"
UPLOADED = HELD.replace("state", "digest")


@contextmanager
def logged_in(farm: ReplayFarm, user: str, password: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=farm.url, **ASKED) as client:
        assert client.get("/auth/login", auth=(user, password)).status_code < 400
        yield client


@pytest.fixture(scope="module")
def farm(farms: Callable[..., ReplayFarm]) -> ReplayFarm:
    farm = farms(Shape(tip="r311849", commits=False))
    farm.wait_for_mirror()
    return farm


def test_a_patch_that_makes_a_link_of_the_kernel_gets_nothing_uploaded(
    farm: ReplayFarm, tmp_path: Path
) -> None:
    patch = link_patch(farm, tmp_path / "src")
    question = {
        "variants": ["r311848", "r311848+file:link.patch"],
        "patches": {"link.patch": base64.b64encode(patch).decode()},
    }
    with logged_in(farm, "bench", farm.local.plan.password_file.read_text().strip()) as ann:
        started = post(ann, COMPARISONS, "start", question)
        assert started.status_code == 200, started.text
        farm.wait(lambda: farm.value(HELD) == "untestable", "the end of the build")
    why = "kernel is a symbolic link, which is not followed: upload the file itself"
    assert farm.value("SELECT reason FROM bench_image WHERE state = 'untestable'") == why
    # The script wrote by it, so that it led somewhere.
    (led_to,) = (farm.directory / "builder").glob("*/stolen")
    assert "image 0" in led_to.read_text()
    assert list((farm.directory / "master" / "artefacts" / "incoming").iterdir()) == []


def link_patch(farm: ReplayFarm, tree: Path) -> bytes:
    """A patch that makes a link of the kernel, to a file beside the source tree."""
    sha = farm.history.shas["r311848"]
    git = ["git", "-C", str(tree)]
    subprocess.run(["git", "clone", "--quiet", farm.source, tree], check=True)
    subprocess.run([*git, "checkout", "--quiet", "--detach", sha], check=True)
    (tree / "kernel").unlink()
    (tree / "kernel").symlink_to("../stolen")
    subprocess.run([*git, "add", "kernel"], check=True)
    return subprocess.run([*git, "diff", "--cached"], check=True, capture_output=True).stdout


def test_a_guests_patch_waits_for_who_may_approve(farm: ReplayFarm) -> None:
    plan = farm.local.plan
    (plan.password_file.parent / "guest.login").write_text("come in\n")
    files = {"my.patch": base64.b64encode(PATCH).decode()}
    question = {"variants": ["r311848", "r311848+file:my.patch"], "patches": files}
    with (
        logged_in(farm, "guest", "come in") as guest,
        logged_in(farm, "bench", plan.password_file.read_text().strip()) as ann,
    ):
        forged = question | {"roles": ["approve"], "ROLES": ["approve"]}
        started = post(guest, COMPARISONS, "start", forged).json()["result"]
        assert started["state"] == "awaiting approval"
        mine = f"{COMPARISONS}/{started['comparisonid']}"

        for path, method in ((mine, "approve"), (mine, "reject"), (mine, "cancel")):
            assert post(guest, path, method, {}).status_code == 403
        search = {"old": "r311848", "new": "r311849"}
        assert post(guest, "/api/v2/bench/searches", "start", search).status_code == 403

        (shown,) = ann.get(mine).json()["comparisons"]
        assert shown["patches"][0]["text"] == PATCH.decode()
        assert farm.value(HELD) == "held"
        assert post(ann, mine, "approve", {}).status_code == 200
        # Its state is soon another one: this lab has nothing recorded of it.
        farm.wait(lambda: farm.value(UPLOADED), "the build of what was approved")
        assert post(ann, mine, "cancel", {}).status_code == 200
