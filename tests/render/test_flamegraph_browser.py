"""A flame graph in a real browser: it searches, zooms and takes keys, as a file and in a page."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.render.flamegraph import flame_difference, flame_graph
from tests.chromium import chromium
from tests.core.profiles import SIMPLE_TX, recorded
from tests.fakes import web

DRIVER = Path(__file__).with_name("flamegraph_driver.js").read_text(encoding="utf-8")

pytestmark = pytest.mark.browser

HOSTILE = "</title><script>foreignScriptRan = true</script><img src=x onerror=foreignScriptRan=1>"
PROFILE = Profile(
    stacks=(
        Stack(frames=("fork_exit", "rx_task", "ether_input", "Ether_demux", "drain"), samples=60),
        Stack(frames=("fork_exit", "rx_task", "ether_input", "lookup"), samples=20),
        Stack(frames=("fork_exit", "rx_task", "refill"), samples=10),
        Stack(frames=("fork_exit", "swi"), samples=9),
        Stack(frames=(HOSTILE,), samples=1),
    )
)

AS_A_FILE = """<iframe id="file" src="graph.svg" width="1300" height="600"></iframe>"""
FIND_FILE = """document.getElementById("file").contentDocument.documentElement"""
PAGE = """<!DOCTYPE html><meta charset="utf-8"><body>
<script>const errors = []; window.onerror = (what) => errors.push(what);</script>
{picture}
<pre id="seen"></pre>
<script>{driver}</script>
<script>
window.onload = () => {{
  let seen = {{}};
  try {{ seen = drive({find}); }} catch (error) {{ errors.push(error.stack); }}
  document.getElementById("seen").textContent = JSON.stringify({{ errors, ...seen }});
}};
</script>"""


@pytest.fixture
def browse(tmp_path):
    """Show a picture in the browser, drive it, and tell what was seen and complained of."""

    def run(svg, *, inline, driver=DRIVER):
        (tmp_path / "graph.svg").write_text(svg, encoding="utf-8")
        find = """document.querySelector("svg")""" if inline else FIND_FILE
        text = PAGE.format(picture=svg if inline else AS_A_FILE, driver=driver, find=find)
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        with chromium(tmp_path / "profile") as new_tab:
            page = new_tab()
            page.open(f"{url}/page.html")
            page.wait("document.getElementById('seen').textContent")
            seen = json.loads(page.run("document.getElementById('seen').textContent"))
            console = [line for line in page.complaints if "favicon" not in line]
        return seen | {"console": console}

    with web.served(partial(web.Files, directory=tmp_path)) as url:
        yield run


@pytest.mark.parametrize("inline", [False, True], ids=["as a file", "in a page"])
def test_reader_searches_zooms_and_walks_by_keys(browse, inline):
    seen = browse(flame_graph(PROFILE, title="t"), inline=inline)
    assert seen["errors"] == seen["console"] == []
    assert seen["live"]
    assert seen["all"] == 10
    # Ether_demux stands on ether_input: its cycles are not counted twice.
    assert seen["search"] == "2 found, 80.00% of the width"
    assert seen["found"] == ["ether_input", "Ether_demux"]
    assert seen["nothing"] == "0 found, 0.00% of the width"
    assert not seen["searching"]
    assert seen["zoomed"] == ["all busy cycles", "fork_exit", "rx_task", "ether_input", "lookup"]
    assert set(seen["zoomedWidths"]) == {seen["whole"]}
    assert seen["keysGoOnFromThere"]
    assert seen["zoomedLabel"] == "lookup"
    assert seen["afterReset"] == seen["all"]
    assert seen["keys"] == ["fork_exit", "rx_task", "ether_input", "refill", "rx_task"]
    assert seen["zoomedByKey"] == seen["whole"]
    assert seen["afterEscape"] == seen["all"]
    assert seen["tabStops"] == 1
    assert not seen["foreignScriptRan"]


def test_recorded_difference_is_searched_without_an_error(browse, data):
    old, new = (recorded(data, name) for name in SIMPLE_TX)
    svg = flame_difference(old, new, title="t", old_label="off", new_label="on")
    driver = """
      function drive(svg) {
        const input = svg.querySelector("input.search");
        input.value = "iflib_simple_transmit";
        input.dispatchEvent(new Event("input"));
        return { search: svg.querySelector("output").textContent };
      }"""
    seen = browse(svg, inline=True, driver=driver)
    assert seen["errors"] == seen["console"] == []
    share = re.fullmatch(r"\d+ found, (\S+)% of the width", seen["search"])
    assert float(share[1]) == pytest.approx(28.27 / 2, abs=0.1)  # it is in one of the two only
