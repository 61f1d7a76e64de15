"""The reviews beside a farm of recordings are had by the code that asks Phabricator."""

import hashlib
import subprocess
from importlib import resources
from pathlib import Path

import httpx
import pytest
from twisted.internet.threads import deferToThread

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.patch import check_patch
from buildbot_bench.demo.cli import review_site
from buildbot_bench.lab.drivers.replay import PATCH, load_series
from buildbot_bench.plugin.requests.variants import fetch_review

DATA = Path(str(resources.files("buildbot_bench.demo") / "data"))
PATCHES = DATA / "patches"


async def test_a_review_is_fetched_as_from_phabricator() -> None:
    with review_site(PATCHES) as site:
        for number in (8526, 5330):
            body = (PATCHES / f"D{number}.diff").read_bytes()
            assert await fetch_review(site, number) == body
        with pytest.raises(UsageError, match="has no review D1"):
            await fetch_review(site, 1)


@pytest.mark.parametrize("path", ["/", "/D8526", "/D8526?download=false", "/Dx?download=true"])
async def test_nothing_else_is_served(path: str) -> None:
    with review_site(PATCHES) as site:
        answer = await deferToThread(httpx.get, f"{site}{path}", trust_env=False)
        assert answer.status_code == 404


def test_each_patch_is_one_that_git_applies_and_stands_for_recorded_boots(tmp_path: Path) -> None:
    known = {name.rpartition(PATCH)[2] for name in load_series(DATA / "trials.jsonl")["forwarding"]}
    files = [*PATCHES.glob("*.patch"), *PATCHES.glob("*.diff")]
    assert len(files) == 5
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for file in files:
        check_patch(file.read_bytes(), file.name)
        subprocess.run(["git", "-C", tmp_path, "apply", "--index", "-p1", file], check=True)
        assert hashlib.sha256(file.read_bytes()).hexdigest() in known
