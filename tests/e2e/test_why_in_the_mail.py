"""A culprit's kernel and its predecessor's are sampled, and the mail says where the cycles went."""

import re
import shutil
from pathlib import Path

import httpx
import pytest

from tests.core.profiles import SIMPLE_TX
from tests.e2e.checks import assert_every_page_answers
from tests.e2e.inbox import Inbox, plain
from tests.e2e.replay_farm import History, ReplayFarm, Shape
from tests.gitrepo import Commit, add_commits, make_repository

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

OLD, CULPRIT = "r313447", "r313448"
CHANGE = "int\niflib_if_transmit(if_t ifp)\n{\n\treturn (%s);\n}\n"


def commit(number: int, action: str) -> Commit:
    files = {"kernel": f"r{number}\n", "sys/net/iflib.c": CHANGE % action}
    return Commit(files=files, subject=f"Change {number}", svn=number)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("history") / "src"
    make_repository(path, [])
    actions = {OLD: "iflib_simple_transmit(ifp)", CULPRIT: "ifmp_ring_enqueue(ifp)"}
    shas = {
        label: add_commits(path, [commit(int(label[1:]), action)])[0]
        for label, action in actions.items()
    }
    return History(path=path, shas=shas)


@pytest.fixture(scope="module")
def farm(farms, inbox: Inbox, history: History, data: Path, tmp_path_factory) -> ReplayFarm:
    """A farm whose lab answers with captures that were recorded of another change."""
    captures = tmp_path_factory.mktemp("captures")
    for label, name in zip((CULPRIT, OLD), SIMPLE_TX, strict=True):
        source = data / "pmc" / f"{name}.pmc.graph.gz"
        shutil.copyfile(source, captures / f"{label}.forwarding.pmc.graph.gz")
    return farms(Shape(tip=CULPRIT, smtp_port=inbox.port, captures=captures), history)


def test_the_mail_names_the_functions_and_the_file_and_links_the_flame_graphs(farm, inbox) -> None:
    farm.begin_search(OLD, CULPRIT)
    asked = "SELECT count(*) FROM bench_profile"
    farm.wait(lambda: farm.value(asked), "both sides are asked for")
    farm.kill("master")
    farm.resume("master")
    farm.wait(lambda: farm.value("SELECT sent_at FROM bench_report"), "the mail was taken")
    assert farm.rows("SELECT state FROM bench_profile") == [{"state": "done"}] * 2
    text = plain(inbox.only())
    assert "(BU_CPU_CLK_UNHALTED)" in text
    assert re.search(r"ifmp_ring_enqueue +0\.00 +1\d\d\.\d\d +\+1\d\d\.\d\d\s", text)
    assert "called by iflib_if_transmit, by ether_output_frame" in text
    assert "sys/net/iflib.c: changes iflib_if_transmit (likely why); names" in text
    links = [line.strip() for line in text.splitlines() if "/flamegraph/" in line]
    assert len(links) == 3
    for link in links:
        answer = httpx.get(link, timeout=60)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "iflib_rxeof" in answer.text


def test_every_page_answers_on_sqlite(farm) -> None:
    assert_every_page_answers(farm)
