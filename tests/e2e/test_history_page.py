"""The History in a real headless Chromium: zoom, points, what is chosen, files, narrow screens."""

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from statistics import fmean, median_low

import httpx
import pytest

from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from tests.asking import ASKED
from tests.chromium import Page, chromium
from tests.e2e.browsing import (
    CLIPPED,
    NARROW,
    OVERHANG,
    click,
    keep,
    log_in,
    log_out,
    show,
    text,
    with_links,
)
from tests.e2e.planted import plant
from tests.e2e.replay_farm import API, History, ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(900)]

OLD, NEW = 311848, 311887
COUNT = NEW - OLD + 1
MARKUP = "<img src=x onerror=window.harmed=1>"
HOSTILE = f"{MARKUP}\x1b[31m\u202e{{{{7*7}}}}"
CHART = "document.querySelector('.chart')"
DRAWN = "document.querySelector('.canvas[data-drawn]')"
ONE = "history/replay/forwarding"
FIRST, LAST = (f"Number({CHART}.ariaValue{end})" for end in ("Min", "Max"))
# Each word that a canvas is told to write, and where.
WATCH_WORDS = """
const write = CanvasRenderingContext2D.prototype.fillText;
window.writtenWords = [];
CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...more) {
  const box = this.measureText(words), at = this.getTransform();
  writtenWords.push({ words, left: at.e + x - box.actualBoundingBoxLeft,
    right: at.e + x + box.actualBoundingBoxRight, top: at.f + y - box.actualBoundingBoxAscent,
    bottom: at.f + y + box.actualBoundingBoxDescent,
    width: this.canvas.width, height: this.canvas.height });
  return write.call(this, words, x, y, ...more);
};
window.savedFiles = [];
const offer = URL.createObjectURL;
URL.createObjectURL = (file) => { savedFiles.push(file); return offer.call(URL, file); };
"""
CUT_WORDS = """
writtenWords.filter((one) => one.left < 0 || one.right > one.width || one.top < 0
  || one.bottom > one.height).map((one) => one.words)"""


def boots(level: float, position: int) -> list[float]:
    """Three boots, which differ from each other and between revisions."""
    return [round(level * (1 + 0.004 * ((3 * position + ordinal) % 5 - 2))) for ordinal in range(3)]


@pytest.fixture(scope="module")
def farm(farms, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """A farm whose commits mean harm; r311860 makes each workload worse."""
    path = tmp_path_factory.mktemp("hostile") / "src"
    commits = [
        GeneratedCommit(
            svn=svn,
            author="\u202emallory&amp;\"'",
            message=(f"{HOSTILE} {svn}" + "x" * (1 << 20 if svn == OLD + 1 else 0)) + "\n",
            files={"kernel": f"r{svn}\n"},
        )
        for svn in range(OLD, NEW + 1)
    ]
    history = History(path=path, shas=write_history(path, commits))
    farm = farms(Shape(tip=f"r{NEW}", commits=False), history, with_links)
    farm.wait_for_mirror()
    positions = range(1, COUNT + 1)

    def stepped(level: float, after: float) -> dict[int, list[float]]:
        return {p: boots(after if p > 12 else level, p) for p in positions}

    plant(
        farm,
        {
            "forwarding": ("pps", stepped(625_000, 459_000)),
            "ipfw-statefull": ("pps", stepped(302_000, 281_000)),
            "pf-statefull": ("instructions/packet", stepped(1_234_567, 1_934_567)),
        },
    )
    farm.change(
        "INSERT INTO bench_judgement (testbed, workload, unit, old_sha, old_position, new_sha,"
        " new_position, state, effect, low, high, p_value, probability, rounds, created_at,"
        " changed_at, version, branch)"
        " SELECT 'replay', 'forwarding', 'pps', sha, 12, sha, 13, 'regression', -.27, -.28, -.26,"
        " .001, .99, 1, 1, 1, 0, 'main' FROM bench_image WHERE position = 13"
    )
    return farm


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as new_tab:
        page = new_tab()
        page.resize()
        page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH_WORDS)
        yield page


@pytest.fixture(autouse=True)
def _nothing_is_complained_of(page: Page) -> Iterator[None]:
    page.complaints.clear()
    yield
    assert page.complaints == []
    assert not page.run("window.harmed !== undefined")


def focus(page: Page) -> None:
    page.run(f"{CHART}.focus()")


def test_each_value_of_a_column_was_measured(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    page.run("import('/plugins/bench/columns.js').then((found) => { window.tried = found; })")
    random = "Array.from({ length: 3000 }, () => Math.random())"
    got = page.run(
        f"""(() => {{
          const gaps = {random}, means = {random}, spread = {random};
          let place = 7;
          const positions = gaps.map((gap) => (place += 1 + Math.floor(3 * gap)));
          const series = {{ positions, means, lows: means.map((mean, i) => mean - spread[i]),
            highs: means.map((mean, i) => mean + spread[i]) }};
          const [from, to] = [positions[100], positions[2900]];
          return {{ series, columns: tried.columns(series, from, to, 390) }};
        }})()"""
    )
    series, columns = got["series"], got["columns"]
    assert [columns[0]["first"], columns[-1]["end"]] == [100, 2901]
    assert [one["end"] for one in columns[:-1]] == [one["first"] for one in columns[1:]]
    assert 380 <= len(columns) <= 391
    for column in columns:
        inside = slice(column["first"], column["end"])
        assert column["low"] == min(series["lows"][inside])
        assert column["high"] == max(series["highs"][inside])
        assert series["means"][column["at"]] == median_low(series["means"][inside])


def test_the_tab_is_named_after_the_page(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    page.wait("document.title === 'replay · forwarding · Bench'")
    show(page, farm, "reports")
    page.wait("document.title === 'Reports · Bench'")


def test_zoom_and_chosen_points_are_in_the_address(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    focus(page)
    page.press("Home", "Enter", "+")
    page.wait("/[?&]from=\\d+&to=\\d+/.test(location.hash)")
    page.press("End", "Enter")
    page.wait("/first=1&/.test(location.hash) && /second=\\d+/.test(location.hash)")
    seen = page.run(f"[{FIRST}, {LAST}, {CHART}.ariaValueText]")[:2]
    assert seen[1] - seen[0] < COUNT - 1
    address = page.run("location.href")
    page.call("Page.reload")
    page.wait(f"{DRAWN} && !document.querySelector('.loading, .wait')")
    assert page.run(f"[{FIRST}, {LAST}]") == seen
    page.wait("document.querySelectorAll('.chosen .pair b').length === 2")
    assert "r311848: " in text(page, ".chosen")
    assert page.run("location.href") == address


def mouse(page: Page, kind: str, share: float) -> None:
    """Do something with the mouse at a share of the chart's width."""
    where = "(({ x, y, width }) => [x, y, width])"
    box = f"{where}(document.querySelector('.u-over').getBoundingClientRect())"
    left, top, width = page.run(box)
    page.call(
        "Input.dispatchMouseEvent",
        type=kind,
        x=left + share * width,
        y=top + 50,
        button="left",
        buttons=1,
        clickCount=1,
    )


def test_dragging_zooms_and_a_double_click_shows_all(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    mouse(page, "mouseMoved", 0.3)
    mouse(page, "mousePressed", 0.3)
    mouse(page, "mouseMoved", 0.6)
    # A browser that is slow to draw hears of the move a frame later, as a person's eye does.
    page.wait("document.querySelector('.u-select').offsetWidth > 100")
    mouse(page, "mouseReleased", 0.6)
    page.wait(f"{LAST} - {FIRST} < {COUNT // 2}")
    page.run(
        "document.querySelector('.u-over')"
        ".dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))"
    )
    page.wait(f"{LAST} - {FIRST} === {COUNT - 1}")


def test_strangers_words_are_words(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    focus(page)
    for key, label in (("Home", "r311848"), ("ArrowRight", "r311849")):
        page.press(key)
        page.wait(f"document.querySelector('.readout').textContent.includes({label!r})")
        page.wait(f"document.querySelector('.readout').textContent.includes({MARKUP!r})")
        words = text(page, ".readout")
        assert len(words) < 1000
        assert not {"\x1b", "\u202e"} & set(words)
        assert "mallory" in words
    assert "kpps" in words
    assert page.run("document.querySelector('.readout a[href*=commits]').href").endswith(
        farm.history.shas["r311849"]
    )
    keep(page, "history-pointed")


def test_two_points_are_bisected_by_keys_alone(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    show(page, farm, ONE, DRAWN)
    focus(page)
    page.press("Home", "Enter", "End", "Enter")
    button = "document.querySelector('.chosen button.main')"
    page.wait(f"{button} && !{button}.disabled")
    assert "39 commits apart" in text(page, ".chosen")
    keep(page, "history-chosen")
    for _ in range(20):
        if page.run(f"document.activeElement === {button}"):
            break
        page.press("Tab")
    page.press("Enter")
    page.wait("/^#.bench.searches.[0-9]+$/.test(location.hash)")
    (search,) = farm.get("searches")["searches"]
    assert [search[end]["label"] for end in ("old", "new")] == [f"r{OLD}", f"r{NEW}"]
    assert (search["testbed"], search["workload"]) == ("replay", "forwarding")
    log_out(page)


def test_two_points_are_compared(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    show(page, farm, f"{ONE}?of=replay/forwarding&first=12&second=13", DRAWN)
    page.wait("document.querySelectorAll('.chosen .pair b').length === 2")
    click(page, "Compare A and B")
    page.wait("location.hash === '#/bench/comparisons/1'")
    (comparison,) = farm.get("comparisons")["comparisons"]
    assert [one["label"] for one in comparison["variants"]] == ["r311859", "r311860"]
    log_out(page)


def test_a_stranger_may_choose_and_not_act(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, f"{ONE}?of=replay/forwarding&first=12&second=13", DRAWN)
    page.wait("document.querySelectorAll('.chosen .pair b').length === 2")
    assert page.run("document.querySelector('.chosen button.main').disabled")
    assert "Log in" in text(page, ".chosen")


def test_series_of_a_unit_share_a_chart_and_some_are_left_out(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, "history", DRAWN)
    count = "document.querySelectorAll('.canvas[data-drawn]').length"
    page.wait(f"{count} === 3")
    click(page, "overlaid")
    page.wait(f"{count} === 2 && location.hash.includes('overlaid=1')")
    focus(page)
    page.press("Home")
    page.wait("document.querySelector('.readout').textContent.includes('forwarding')")
    page.press("ArrowDown")
    page.wait("document.querySelector('.readout').textContent.includes('ipfw-statefull')")
    keep(page, "history-overlaid")
    click(page, "pf-statefull")
    page.wait(f"{count} === 1 && location.hash.includes('without-workload=pf-statefull')")
    page.call("Page.reload")
    page.wait(f"{count} === 1 && document.querySelectorAll('.names a').length === 2")


def test_what_commits_cost_has_charts_of_its_own(page: Page, farm: ReplayFarm) -> None:
    count = "document.querySelectorAll('.canvas[data-drawn]').length"
    show(page, farm, "history", f"{count} === 3")
    click(page, "size")
    page.wait(f"{count} === 1 && location.hash.includes('cost=size')")
    page.wait("writtenWords.some(({ words }) => words === 'bytes')")
    focus(page)
    page.press("Home")
    page.wait(
        "document.querySelector('.readout').textContent.includes('25,580,100 bytes (1 build)')"
    )
    keep(page, "history-size")
    click(page, "build time")
    page.wait(f"{count} === 1 && writtenWords.some(({{ words }}) => words === 's to build')")
    click(page, "measured")
    page.wait(f"{count} === 3")
    show(page, farm, f"commits/{farm.history.shas['r311850']}", "document.querySelector('table')")
    assert "+4,096 bytes (+0.02 %)" in text(page, "table")
    keep(page, "commit-costs")


def rest_levels(farm: ReplayFarm, workload: str) -> dict[str, tuple[float, float, float]]:
    """Mean, lowest and highest boot of each revision, as REST's own file has them."""
    answer = httpx.get(f"{farm.url}{API}/samples/replay/{workload}/csv", **ASKED)
    rows = sorted(csv.DictReader(io.StringIO(answer.text)), key=itemgetter("label"))
    found = {}
    for label, of in groupby(rows, itemgetter("label")):
        values = [float(row["value"]) for row in of]
        found[label] = (round(fmean(values)), min(values), max(values))
    return found


def test_the_file_of_what_is_shown_has_rests_values(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, f"{ONE}?from=5&to=20", DRAWN)
    click(page, "CSV")
    page.wait("savedFiles.length === 1")
    rows = list(csv.DictReader(io.StringIO(page.run("savedFiles[0].text()"), newline="")))
    assert [int(row["position"]) for row in rows] == list(range(5, 21))
    known = rest_levels(farm, "forwarding")
    for row in rows:
        shown = tuple(float(row[name]) for name in ("mean", "low", "high"))
        assert shown == known[row["label"]], row
        assert (row["unit"], row["boots"], row["branch"]) == ("pps", "3", "main")
        assert row["committed_at"].endswith("Z")


def test_the_picture_has_all_charts(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, "history", DRAWN)
    page.wait("document.querySelectorAll('.canvas[data-drawn]').length === 3")
    click(page, "PNG")
    page.wait("savedFiles.length === 1")
    size, colours = page.run(
        """createImageBitmap(savedFiles[0]).then((picture) => {
          const canvas = new OffscreenCanvas(picture.width, picture.height);
          const ctx = canvas.getContext("2d");
          ctx.drawImage(picture, 0, 0);
          const { data } = ctx.getImageData(0, 0, picture.width, picture.height);
          return [[picture.width, picture.height], new Set(new Uint32Array(data.buffer)).size];
        })"""
    )
    charts = page.run(
        "[...document.querySelectorAll('.chart canvas')].map((c) => [c.width, c.height])"
    )
    assert size[0] > max(width for width, _ in charts)
    assert size[1] > sum(height for _, height in charts)
    assert colours > 20


@pytest.mark.parametrize("width", [1400, NARROW])
@pytest.mark.parametrize(
    "path", ["history", ONE, "history?overlaid=1", "history/replay/pf-statefull"]
)
def test_no_word_is_cut_off_and_nothing_sticks_out(
    page: Page, farm: ReplayFarm, path: str, width: int
) -> None:
    page.resize(width)
    show(page, farm, path, DRAWN)
    page.wait(
        "document.querySelectorAll('.canvas[data-drawn]').length"
        " === document.querySelectorAll('.chart').length"
    )
    focus(page)
    page.press("Home", "Enter")
    page.wait(f"document.querySelector('.readout').textContent.includes({MARKUP!r})")
    words = {one["words"] for one in page.run("writtenWords")}
    assert page.run(CUT_WORDS) == []
    assert [one for one in words if one.startswith("20") and one.count("-") == 2], "no dates"
    assert not [one for one in words if "kinstructions" in one or "kpackets" in one]
    assert page.run(OVERHANG) == []
    assert page.run(CLIPPED) == []
    assert page.run("document.documentElement.scrollWidth") <= width
    keep(page, f"history-{width}-{path.replace('/', '-').replace('?', '-')}")
    page.resize()


def test_the_step_has_its_name_in_the_full_view(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    # A search that has found it by now knows the effect better than the alarm.
    named = re.compile("r311860 \N{MINUS SIGN}2[67][.][0-9] %")
    assert [one for one in page.run("writtenWords") if named.fullmatch(one["words"])]
    assert page.run("document.querySelector('.canvas').dataset.unnamed") == "0"


def test_what_a_person_said_stands_beside_the_alarm(page: Page, farm: ReplayFarm) -> None:
    judgement = farm.value("SELECT max(id) FROM bench_judgement")
    farm.change(
        "INSERT INTO bench_mark (judgement_id, kind, author, at_s, pending, version)"
        f" VALUES ({judgement}, 'expected', '{MARKUP}', 1, false, 0)"
    )
    farm.wait(
        lambda: any(one["said"] for one in marks(farm)), "the history knows what was said of it"
    )
    page.resize()
    show(page, farm, ONE, DRAWN)
    page.wait("writtenWords.some(({ words }) => words.includes('✎ expected'))")
    table = text(page, "table")
    assert "✎ expected" in table
    assert MARKUP in table
    assert page.run("window.harmed") is None
    focus(page)
    page.press("Home", *["ArrowRight"] * 12)
    page.wait("document.querySelector('.point .said')?.textContent.includes('✎ expected')")
    keep(page, "history-marked")
    page.resize(NARROW)
    show(page, farm, ONE, DRAWN)
    assert page.run("document.documentElement.scrollWidth") <= NARROW
    keep(page, "history-marked-narrow")
    page.resize()


def marks(farm: ReplayFarm) -> list[dict[str, str]]:
    answer = httpx.get(f"{farm.url}plugins/bench/history/replay/forwarding", **ASKED)
    return answer.raise_for_status().json()["views"][0]["marks"]


def test_a_point_links_its_commit_in_the_repository(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, ONE, DRAWN)
    focus(page)
    page.press("Home")
    page.wait("document.querySelector('.point a[href*=\"commit/?id=\"]')")
    sha = farm.value("SELECT sha FROM bench_image WHERE position = 1")
    links = page.run("[...document.querySelectorAll('.point a')].map((a) => a.href)")
    assert f"https://git.example.org/src/commit/?id={sha}" in links


def test_a_wrong_address_shows_all(page: Page, farm: ReplayFarm) -> None:
    hostile = json.dumps(MARKUP)
    show(
        page,
        farm,
        f"{ONE}?from=9&to=3&first={hostile}&second=-1&of=x&without-workload=forwarding",
        DRAWN,
    )
    assert page.run(f"{LAST} - {FIRST}") == COUNT - 1
    assert not page.run("Boolean(document.querySelector('.chosen'))")
