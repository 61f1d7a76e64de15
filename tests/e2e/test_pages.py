"""The pages in a real headless Chromium, on a farm whose commit messages mean harm."""

import base64
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from buildbot_bench.demo.farm import USER
from tests.asking import ASKED
from tests.chromium import Page
from tests.contracts.subject import post
from tests.e2e.browsing import (
    BROKEN_WORDS,
    LUMINANCE,
    NARROW,
    OVERHANG,
    choose,
    click,
    keep,
    log_in,
    log_out,
    show,
    text,
)
from tests.e2e.hostile_farm import HARMED, HOSTILE, MARKUP, NEW, OLD, hostile_history, hostile_shape
from tests.e2e.replay_farm import API, ReplayFarm

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(900)]

PAGES = ("", "history", "history/replay/forwarding", "reports", "lab", "searches/1")
PLOT = ".chart"
LONGEST_WORD = 24
MEASURED = "Number(document.querySelector('.strip').dataset.measured)"


@pytest.fixture(scope="module")
def farm(farms, data: Path, tmp_path_factory: pytest.TempPathFactory) -> ReplayFarm:
    """A farm of nine commits; r311849 slows forwarding down by a quarter."""
    history = hostile_history(tmp_path_factory.mktemp("hostile") / "src")
    return farms(hostile_shape(tmp_path_factory.mktemp("captures"), data), history)


@pytest.fixture(autouse=True)
def _nothing_is_complained_of(page: Page) -> Iterator[None]:
    page.complaints.clear()
    yield
    assert page.complaints == []


def test_running_search_moves_and_ends_without_a_reload(page: Page, farm: ReplayFarm) -> None:
    # However slow this machine is, nothing is measured before the page is there to be seen moving,
    # and no boot is shorter than the time between two looks of the page.
    farm.terminate("lab")
    farm.let_blasts_last(2.5)
    assert farm.begin_search(f"r{OLD}", f"r{NEW}") == 1
    show(page, farm, "searches/1", "document.querySelector('.strip svg')")
    page.run("window.sameDocument = true")
    seen = [page.run(MEASURED)]
    farm.resume("lab")
    while len(seen) < 3:
        page.wait(f"{MEASURED} > {seen[-1]}")
        seen.append(page.run(MEASURED))
        keep(page, f"search-{len(seen)}")
    farm.let_blasts_last(0.5)
    page.wait("document.querySelector('.state.found') && document.querySelector('pre')")
    assert page.run("window.sameDocument")
    assert "r311849" in text(page, "pre")
    # The strip is asked for apart from the report.
    page.wait("/r311849 .2[0-9][.][0-9] %/.test(document.querySelector('.strip svg').textContent)")
    keep(page, "search-ended")


@pytest.mark.parametrize("path", PAGES)
def test_page_says_strangers_words_as_words(page: Page, farm: ReplayFarm, path: str) -> None:
    show(page, farm, path)
    page.wait("document.querySelector('.canvas[data-drawn], .plot svg, table, .testbed')")
    keep(page, path.replace("/", "-") or "overview")
    assert not page.run(HARMED)


def test_the_first_page_has_one_row_for_an_incident_and_what_was_measured(
    page: Page, farm: ReplayFarm
) -> None:
    show(page, farm, "", "document.querySelector('.affected')")
    assert page.run("document.querySelectorAll('.bench table').length") == 3  # no search runs
    (row,) = page.run(
        "[...document.querySelector('.bench table').tBodies[0].rows].map((r) => r.textContent)"
    )
    assert "r311849" in row
    assert re.search(r".2[0-9]\.[0-9] %", row)
    menu = "[...document.querySelectorAll('a')].find((a) => a.textContent.trim() === 'Overview')"
    assert page.run(f"{menu}.hash") == "#/bench"


def test_a_report_is_a_card_and_sections_that_open(page: Page, farm: ReplayFarm) -> None:
    page.slow(500)
    page.open(f"{farm.url}#/bench/searches/1")
    page.wait("document.querySelector('.bench[aria-busy=true] .wait').innerText === 'Loading'")
    page.slow(0)
    page.wait("document.querySelector('.report.sections details')")
    page.wait("document.querySelector('.bench[aria-busy=false]')")
    show(page, farm, "searches/1", "document.querySelector('.report.sections details')")
    assert "r311849" in text(page, ".report.card")
    page.wait("document.querySelector('.report.card img').naturalWidth > 400")
    assert page.run("document.querySelectorAll('.report.sections details').length") >= 5
    first = "document.querySelector('.report details:not([open])')"
    page.run(f"window.section = {first}; window.section.querySelector('summary').focus()")
    page.press("Enter")
    page.wait("window.section.open")
    for width in (1400, 700, NARROW):
        page.resize(width)
        page.run("document.querySelectorAll('.report details').forEach((one) => one.open = true)")
        assert page.run(OVERHANG) == []
        assert page.run("document.documentElement.scrollWidth") <= width
    page.resize()
    keep(page, "report-open")


def test_every_link_of_a_page_leads_somewhere(page: Page, farm: ReplayFarm) -> None:
    done = "SELECT count(*) FROM bench_profile WHERE state = 'done'"
    farm.wait(lambda: farm.value(done) == 2, "both sides are sampled")
    hrefs = "[...document.querySelectorAll('.bench a')].map((a) => a.href)"
    links = set()
    for path in PAGES:
        show(page, farm, path, "document.querySelector('.bench :is(.chart, table, .testbed)')")
        if path == "searches/1":  # the report comes apart from the rest
            page.wait("document.querySelector('.bench a[href*=flamegraph]')")
        links |= set(page.run(hrefs))
    assert len([link for link in links if "/flamegraph/" in link]) == 3
    show(page, farm, "reports", "document.querySelector('td a[href*=flamegraph]')")
    routes = {link for link in links if link.startswith(f"{farm.url}#/bench/")}
    with httpx.Client(**ASKED) as client:
        for link in links - routes:
            assert client.get(link).status_code == 200, link
    for route in routes:
        show(page, farm, route.partition("#/bench/")[2])
        assert not page.run("Boolean(document.querySelector('.bench [role=alert]'))"), route


def test_revision_under_the_cursor_is_named_with_author_and_title(
    page: Page, farm: ReplayFarm
) -> None:
    show(page, farm, "history/replay/forwarding", f"document.querySelector('{PLOT}')")
    page.run(f"document.querySelector('{PLOT}').focus()")
    page.press("Home")
    page.wait(f"document.querySelector('.readout').textContent.includes({MARKUP!r})")
    assert "r311848: " in text(page, ".readout")
    assert "mallory" in text(page, ".readout")
    page.press("ArrowRight")
    page.wait("document.querySelector('.readout').innerText.includes('r311849: ')")
    says = f"document.querySelector('{PLOT}').getAttribute('aria-valuetext')"
    assert page.run(says).startswith("r311849: ")
    assert not page.run(HARMED)


def test_a_commit_has_a_page_with_its_ministat_block(page: Page, farm: ReplayFarm) -> None:
    block = "document.querySelector('.bench .series pre')"
    show(page, farm, "commits/r311849", block)
    page.wait(f"{block}.innerText.startsWith('x r311848\\n+ r311849\\n')")
    assert "r311849" in text(page, "h1")
    assert "Student's t" in text(page, ".series .facts")
    assert not page.run(HARMED)
    keep(page, "commit")


def test_keys_zoom_in_and_out(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, "history/replay/forwarding", f"document.querySelector('{PLOT}')")
    plot = f"document.querySelector('{PLOT}')"
    width = f"({plot}.ariaValueMax - {plot}.ariaValueMin)"
    whole = page.run(width)
    page.run(f"{plot}.focus()")
    page.press("+")
    page.wait(f"{width} < {whole}")
    page.press("-")
    page.wait(f"{width} === {whole}")
    page.press("+", "Escape")
    page.wait(f"{width} === {whole}")


def test_everything_is_reached_by_the_tab_key(page: Page, farm: ReplayFarm) -> None:
    filters = "document.querySelector('.filters button:enabled')"  # asked for apart from the plot
    show(page, farm, "history/replay/forwarding", f"document.querySelector('{PLOT}') && {filters}")
    ours = "[...document.querySelectorAll('.bench :is(a, button:enabled, .chart, .scrolls)')]"
    page.run("document.querySelector('.bench').setAttribute('tabindex', -1)")
    page.run("document.querySelector('.bench').focus()")
    wanted = set(range(page.run(f"{ours}.length")))
    reached = set()
    for _ in range(len(wanted) + 3):
        page.press("Tab")
        reached.add(page.run(f"{ours}.indexOf(document.activeElement)"))
    assert reached >= wanted


def test_stranger_may_look_and_not_act(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, "reports", "document.querySelector('.start')")
    assert page.run("document.querySelector('.start fieldset').disabled")
    assert "Log in" in text(page, ".starts")
    page.wait("document.querySelector('.bench table tbody tr')")
    assert page.run("document.querySelector('.marking select') === null")


def test_member_asks_the_cost_then_starts_and_ends_a_search(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    show(page, farm, "reports", "document.querySelector('.start option')")
    # Nothing changed here: to prove that to a fifth of a per cent takes long enough to be ended.
    for name, value in (("old", f"r{OLD + 1}"), ("new", f"r{NEW}"), ("min_effect", "0.2")):
        page.run(f"document.querySelector('[name={name}]').focus()")
        page.type(value)
    click(page, "Show the cost")
    page.wait("document.querySelector('.start [role=status]')")
    assert "7 commits" in text(page, ".start [role=status]")
    keep(page, "start")
    click(page, "Start")
    page.wait("location.hash === '#/bench/searches/2'")
    click(page, "Cancel")
    click(page, "Really end this search")
    page.wait("document.querySelector('.state.cancelled, .state.found')")
    log_out(page)


def test_member_marks_a_report_and_the_record_follows(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    show(page, farm, "reports", "document.querySelector('.record')")
    assert "No report of this farm has been reviewed yet." in text(page, ".record")
    choose(page, "mark incident 1", "fixed")
    page.run("document.querySelector('.marking input').focus()")
    page.type(f"r{NEW}")
    click(page, "Mark")
    page.wait("document.querySelector('.said')")
    assert f"fixed by r{NEW} bench" in text(page, ".said")
    page.wait("document.querySelector('.record').textContent.includes('100 %')")
    keep(page, "marked")
    show(page, farm, "searches/1", "document.querySelector('.said')")
    assert "fixed by" in text(page, ".actions .said")
    log_out(page)


def test_member_asks_for_more_boots_of_a_revision(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    rows = "document.querySelectorAll('section:last-of-type tbody tr').length"
    strip = "document.querySelector('.strip svg')"  # asked for apart, as the rows are
    show(page, farm, "searches/1", f"document.querySelector('.boots') && {strip} && {rows}")
    page.run("document.querySelector('.strip svg').focus()")
    page.press("Home")
    page.wait(f"document.querySelector('.boots [name=revision]').value === 'r{OLD}'")
    before = page.run(rows)
    click(page, "Measure")
    page.wait("document.querySelector('.boots [role=status]')")
    assert f"3 iterations of r{OLD} asked for" in text(page, ".boots [role=status]")
    page.wait(f"{rows} > {before}")
    log_out(page)


def test_member_compares_two_variants_and_sees_each_boot(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    show(page, farm, "reports", "document.querySelector('.start option')")
    for name, value in (("base", f"r{OLD}"), ("new", f"r{OLD + 1}")):
        page.run(f"document.querySelectorAll('.start')[1].querySelector('[name={name}]').focus()")
        page.type(value)
    click(page, "Compare")
    page.wait("location.hash === '#/bench/comparisons/1' && document.querySelector('.series pre')")
    page.wait("document.querySelector('.state.done')")
    dots = "document.querySelectorAll('.dots.wide .side.{side} :is(circle, path)').length"
    assert [page.run(dots.replace("{side}", side)) for side in ("base", "new")] == [5, 5]
    assert "Difference at 95.0% confidence" in text(page, "pre")
    assert "worse" in text(page, ".series table")
    assert text(page, ".set-up h2").startswith("Set-up of replay: ")
    assert "recorded: netbenches archive" in page.run(
        "document.querySelector('.set-up').textContent"
    )
    keep(page, "comparison")
    show(page, farm, "reports", "document.querySelector('.bench table')")
    page.wait("document.querySelector('.bench').textContent.includes('% worse')")
    log_out(page)


def test_seven_variants_are_compared_and_each_has_its_row(page: Page, farm: ReplayFarm) -> None:
    variants = [f"r{svn}" for svn in range(OLD, OLD + 7)]
    label = "with perf_netmap and without prefetch"
    question = {"variants": variants, "labels": {variants[-1]: label}, "iterations": 3}
    with httpx.Client(base_url=farm.url, **ASKED) as client:
        client.get("/auth/login", auth=(USER, farm.local.plan.password_file.read_text().strip()))
        started = post(client, "/api/v2/bench/comparisons", "start", question).json()["result"]
    number = started["comparisonid"]
    ended = f"SELECT ended_at FROM bench_ab_test WHERE id = {number}"
    farm.wait(lambda: farm.value(ended), "21 boots of 7 images", deadline_s=600)
    path = f"comparisons/{number}"
    show(page, farm, path, "document.querySelector('.state.done') && document.querySelector('pre')")
    assert text(page, "h1").strip() == f"6 variants against r{OLD}"
    rows = page.run("document.querySelectorAll('.series tbody tr').length")
    assert rows == 6
    assert page.run("document.querySelectorAll('.dots.wide .side').length") == 7
    assert page.run("document.querySelectorAll('.dots.wide .side :is(circle, path)').length") == 21
    assert label in text(page, ".series table")
    assert f"{label}: r{OLD + 6}" in text(page, ".facts")
    block = text(page, "pre")
    assert [line[0] for line in block.splitlines()[:7]] == list("x+*%#@O")
    assert "p (Holm) is corrected for 6 tests" in text(page, ".order")
    shared = page.run("document.querySelector('.set-up details').textContent")
    assert "recorded: netbenches archive" in shared
    keep(page, "seven-variants")


def test_strangers_patch_is_read_before_it_is_decided_about(page: Page, farm: ReplayFarm) -> None:
    (farm.local.plan.password_file.parent / "guest.login").write_text("come in\n")
    patch = f"--- a/kernel\n+++ b/kernel\n@@ -1 +1 @@\n-r{OLD}\n+{HOSTILE}\n"
    files = {"my.patch": base64.b64encode(patch.encode()).decode()}
    question = {"variants": [f"r{OLD}", f"r{OLD}+file:my.patch"], "patches": files}
    with httpx.Client(base_url=farm.url, **ASKED) as guest:
        guest.get("/auth/login", auth=("guest", "come in"))
        started = post(guest, "/api/v2/bench/comparisons", "start", question).json()["result"]
    log_in(page, farm)
    show(
        page,
        farm,
        f"comparisons/{started['comparisonid']}",
        "document.querySelector('[aria-label=Approval]')",
    )
    assert text(page, "[aria-label=Approval] pre") == patch.replace("\u202e", "<U+202E>")
    assert not page.run(HARMED)
    keep(page, "approval")
    click(page, "Reject")
    page.wait("document.querySelector('.state.rejected')")
    assert "its patches were rejected by bench" in text(page)
    log_out(page)


def test_lab_says_how_many_kernels_there_are(page: Page, farm: ReplayFarm) -> None:
    show(page, farm, "lab")
    page.wait("document.querySelector('.bench').textContent.includes('in the master')")
    assert re.search(r"\d+ kernels? in the master's disk, [\d.]+ MiB; \d+ needed", text(page))


def test_mistake_in_the_form_is_told(page: Page, farm: ReplayFarm) -> None:
    log_in(page, farm)
    show(page, farm, "reports", "document.querySelector('.start option')")
    for name, value in (("old", "nonsense"), ("new", f"r{NEW}")):
        page.run(f"document.querySelector('[name={name}]').focus()")
        page.type(value)
    click(page, "Show the cost")
    page.wait("document.querySelector('.start [role=alert]')")
    assert "nonsense" in text(page, ".start [role=alert]")
    assert all("400" in complaint for complaint in page.complaints)  # the browser's own log
    page.complaints.clear()
    log_out(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", ["", "history/replay/forwarding", "reports", "searches/1"])
def test_letters_are_readable_in_the_light_and_in_the_dark(
    page: Page, farm: ReplayFarm, path: str, *, dark: bool
) -> None:
    page.dark(on=dark)
    show(page, farm, path, "document.querySelector('.bench table')")
    assert page.run(LUMINANCE) >= 4.5  # WCAG 2.1, level AA
    page.dark(on=False)


@pytest.fixture
def narrow(page: Page) -> Iterator[Page]:
    page.resize(NARROW)
    yield page
    page.resize()


def assert_fits(page: Page) -> None:
    assert page.run(OVERHANG) == []
    assert page.run("document.documentElement.scrollWidth") <= NARROW


@pytest.mark.parametrize(
    "path", ["", "reports", "lab", "searches/1", "comparisons/1", "comparisons/2"]
)
def test_on_a_narrow_screen_words_stay_whole_and_nothing_sticks_out(
    narrow: Page, farm: ReplayFarm, path: str
) -> None:
    show(narrow, farm, path, "document.querySelector('.bench :is(table, .testbed, .dots)')")
    assert_fits(narrow)
    # A stranger's word may be longer than the screen is wide.
    assert [word for word in narrow.run(BROKEN_WORDS) if len(word) <= LONGEST_WORD] == []
    keep(narrow, f"narrow-{path.replace('/', '-') or 'overview'}")


def test_a_commits_page_fits_a_narrow_screen(narrow: Page, farm: ReplayFarm) -> None:
    show(narrow, farm, "commits/r311849", "document.querySelector('.bench .series pre')")
    assert_fits(narrow)
    keep(narrow, "narrow-commit")


def test_what_a_site_was_given_up_for_is_told_with_what_to_do(
    narrow: Page, farm: ReplayFarm
) -> None:
    error = f"https://reviews.example.org takes no comment: ERR-INVALID-AUTH: {MARKUP} " + "x" * 99
    farm.change(
        "INSERT INTO bench_notice (search_id, kind, target, body, state, attempts, denials,"
        " last_error, next_try_at, created_at, version)"
        f" VALUES (1, 'phabricator-comment', 'D8299', '', 'given-up', 5, 5, '{error}', 0, 0, 0)"
    )
    show(narrow, farm, "reports", "document.querySelector('[role=status].trouble')")
    assert error in text(narrow, "[role=status].trouble")
    assert "Check notify in bench.yml and the token." in text(narrow, ".trouble")
    row = "[...document.querySelectorAll('tbody tr')].find((tr) => tr.innerText.includes('D8299'))"
    narrow.wait(row)  # the table waits for the incidents, too
    assert "phabricator D8299 given up" in narrow.run(f"{row}.textContent")
    assert_fits(narrow)
    assert not narrow.run(HARMED)
    keep(narrow, "given-up")
    farm.change("DELETE FROM bench_notice WHERE target = 'D8299'")


def test_lab_says_what_waits_before_a_gate_and_why(narrow: Page, farm: ReplayFarm) -> None:
    # This farm has one testbed and no gate: the master's own answer is tested beside it.
    why = "waits for the exact metric on vm"
    held = [{"label": f"r{NEW}", "subject": HOSTILE, "why": why}]
    series = {"testbed": "replay", "workload": "forwarding", "gates": ["vm"]}
    answer = json.dumps({"gates": [series | {"held": held, "more": 7}], "meta": {}})
    stand_in = narrow.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="const asked = fetch; window.fetch = (at, ...how) => at.endsWith('bench/gates')"
        f" ? Promise.resolve(new Response({json.dumps(answer)})) : asked(at, ...how);",
    )
    show(narrow, farm, "lab", "document.querySelector('.gate td')")
    assert text(narrow, ".gate h2") == "Behind vm: forwarding on replay"
    assert text(narrow, ".gate td[data-heading=why]") == why
    assert text(narrow, ".gate p") == "and 7 older commits"
    assert_fits(narrow)
    assert not narrow.run(HARMED)
    keep(narrow, "gate")
    narrow.call("Page.removeScriptToEvaluateOnNewDocument", **stand_in)


def test_programs_read_samples_metrics_and_badge(farm: ReplayFarm) -> None:
    with httpx.Client(base_url=farm.url, **ASKED) as client:
        answer = client.get(f"{API}/samples/replay/forwarding/csv")
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert {row["label"] for row in rows} >= {"r311848", "r311849"}
        assert len(rows) == farm.value("SELECT count(*) FROM bench_iteration")
        assert client.get(f"{API}/samples/replay/nonsense/csv").status_code == 404
        metrics = client.get("plugins/bench/metrics")
        assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert re.search(r'^bench_searches\{state="found"\} \d\.0$', metrics.text, re.MULTILINE)
        assert client.get("plugins/bench/badge.svg").text.startswith("<svg")
        glossary = client.get("plugins/bench/glossary.html")
        assert glossary.headers["content-type"] == "text/html; charset=utf-8"
        assert "<h1>Glossary</h1>" in glossary.text
        described = client.get("plugins/bench/report.schema.json").json()
        report = farm.get("searches/1")["searches"][0]["report"]
        assert set(described["required"]) == set(report)


def test_series_is_read_ahead_and_sent_once_while_nothing_is_new(farm: ReplayFarm) -> None:
    log = farm.directory / "master.log"
    farm.wait(lambda: "bench: History is read ahead" in log.read_text(), "the first read")
    path = "plugins/bench/history/replay/forwarding"
    with httpx.Client(base_url=farm.url, **ASKED) as client:
        first = client.get(path)
        assert first.headers["content-encoding"] == "gzip"
        assert first.json()["views"][0]["labels"][:2] == ["r311848", "r311849"]
        plain = client.get(path, headers={"accept-encoding": "identity"})
        assert (plain.headers.get("content-encoding"), plain.text) == (None, first.text)
        known = client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")


def test_nothing_under_plugins_takes_a_post(farm: ReplayFarm) -> None:
    for path in ("", "metrics", "badge.svg", "scripts.js", "history/replay/forwarding"):
        answer = httpx.post(f"{farm.url}plugins/bench/{path}", **ASKED)
        assert answer.status_code in {404, 405}, path
