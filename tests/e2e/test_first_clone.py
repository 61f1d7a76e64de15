"""A real farm on its first day: its repository is long in coming, and people ask already."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildbot_bench.demo.farm import USER
from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from tests.chromium import Page
from tests.e2e.browsing import log_in, show, text
from tests.e2e.replay_farm import DEADLINE_S, History, ReplayFarm, Shape
from tests.fakes.slow_ssh import git_environment

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

HELD_AFTER = 200_000
MIRROR = "document.querySelector('.bench .mirror')"


@pytest.fixture(scope="module")
def transport(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("transport")
    (directory / "hold").write_text(str(HELD_AFTER))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in git_environment(directory).items():
            patch.setenv(name, value)
        yield directory


@pytest.fixture(scope="module")
def farm(farms, transport: Path, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """A farm whose clone stands still in the middle."""
    noise = random.Random(1)
    files = {f"f{n}": noise.randbytes(3000).hex() for n in range(200)}
    commits = [
        GeneratedCommit(
            svn=svn, author="A", message=f"r{svn}\n", files={"kernel": f"{svn}\n"} | files
        )
        for svn in range(311848, 311854)
    ]
    path = tmp_path_factory.mktemp("first") / "src"
    history = History(path=path, shas=write_history(path, commits))
    return farms(Shape(tip="r311853", iterations=3, transport=transport), history)


def ask(farm: ReplayFarm, *arguments: str) -> subprocess.Popen[str]:
    login = {
        "BENCH_FARM": farm.url,
        "BENCH_USER": USER,
        "BENCH_PASSWORD_FILE": str(farm.local.plan.password_file),
        "XDG_CONFIG_HOME": str(farm.directory / "config"),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "buildbot_bench.cli.bisect", "r311848", "r311853", *arguments],
        env=os.environ | login,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_people_wait_for_the_first_clone_and_see_how_far_it_is(
    farm: ReplayFarm, transport: Path, page: Page
) -> None:
    farm.wait(lambda: "received" in farm.get("mirror")["views"][0]["text"], "the clone's progress")
    asked, leaves = ask(farm, "--dry-run", "--json"), ask(farm)
    assert asked.stderr is not None
    assert leaves.stderr is not None
    assert asked.stderr.readline().startswith("cloning src: ")
    assert leaves.stderr.readline().startswith("cloning src: ")
    leaves.send_signal(signal.SIGINT)
    assert "nothing was started" in leaves.communicate(timeout=DEADLINE_S)[1]
    assert leaves.returncode == 130
    for path in ("lab", "history", "reports"):
        show(page, farm, path, MIRROR)
        assert "cloning src: " in text(page, ".bench .mirror")
    log_in(page, farm)
    show(page, farm, "reports", "document.querySelector('form.start input[name=old]')")
    page.wait("!document.querySelector('form.start fieldset').disabled")
    page.wait("document.querySelector('form.start select[name=series] option')")
    page.run(
        "(() => { const form = document.querySelector('form.start');"
        " form.elements.old.value = 'r311848'; form.elements.new.value = 'r311853';"
        " form.requestSubmit(form.querySelector('button[value=forecast]')); })()"
    )
    told = "document.querySelector('form.start [role=status]')"
    page.wait(f"{told} && {told}.textContent.includes('This waits for it.')")
    assert asked.poll() is None
    (transport / "hold").unlink()
    answer, _ = asked.communicate(timeout=DEADLINE_S)
    assert asked.returncode == 0
    assert json.loads(answer)["commits"] == 5
    page.wait(f"{told} && {told}.textContent.includes('5 commits')")
    page.wait(f"!{MIRROR}")
    assert farm.get("mirror")["views"] == [{"state": "ready", "text": ""}]
    assert farm.get("searches")["searches"] == []
