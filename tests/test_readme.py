"""What README.md and the pages of docs/ promise that can be seen without a farm."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from buildbot_bench.cli.console import ExitStatus
from buildbot_bench.lab.tables import load_testbeds
from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.workflow.load import load
from tests.fakes import reports
from tests.readme import BLOCKS, CHECKOUT, DOCUMENTS, README, Block, blocks, commands
from tests.running import ran

MAKES = [
    pytest.param(
        make, marks=pytest.mark.skipif(not shutil.which(make), reason=f"there is no {make}")
    )
    for make in ("make", "bmake")
]
EXAMPLE, *_ = blocks("yaml", "docs/how-to/bench-yml.md", file="bench.yml")
# Readers of whole files; each raises what is wrong.
READERS = {"bench.yml": load, "testbeds.toml": load_testbeds}
# Parts, by their pages, that the tests below or tests of their subject put into a whole file.
PARTS = {
    "docs/how-to/bench-yml.md": ["matrix", "on"],
    "docs/how-to/branches.md": ["on"],
    # Workflows of GitHub, and a job of GitLab: tests/e2e/test_action.py
    "docs/how-to/ci.md": [
        *("on,permissions,jobs", "on,jobs", "on,permissions,jobs", "steps", "bench"),
    ],
    "docs/how-to/compare.md": ["on"],
    "docs/how-to/healthy-lab.md": ["testbeds"],
    "docs/how-to/links.md": ["links"],
    "docs/how-to/mail.md": ["notify"],
    "docs/how-to/measure-a-command.md": ["jobs"],  # tests/lab/test_command_docs.py
    "docs/how-to/monitoring.md": ["scrape_configs"],  # Prometheus' own
    "docs/how-to/repositories.md": ["repositories", "jobs"],
    "docs/how-to/virtual-lab.md": ["jobs"],
}
MOST_LINES, FIRST_SCREEN = 100, 40
# What only maintainers need, and pages that include a file beside docs/, do not count.
MOST_WORDS, MOST_WORDS_OF_A_PAGE = 18_000, 900


def part(page: str, name: str) -> str:
    (found,) = blocks("yaml", page, part=name)
    return found


def whole(text: str, tmp_path: Path) -> Path:
    path = tmp_path / "bench.yml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("block", [one for one in BLOCKS if "file" in one.marks], ids=str)
def test_a_whole_file_is_taken_by_its_reader(block: Block, tmp_path: Path) -> None:
    path = tmp_path / block.marks["file"]
    path.write_text(block.text)
    assert READERS[path.name](path)


def test_each_block_of_settings_is_a_whole_file_or_a_known_part() -> None:
    found = [one for one in BLOCKS if one.language in {"yaml", "toml"} and "file" not in one.marks]
    parts: dict[str, list[str]] = {}
    for one in found:
        if one.language == "toml":  # a line of pyproject.toml
            assert tomllib.loads(one.text)["project"]["entry-points"]
            continue
        page = str(one.page.relative_to(CHECKOUT))
        parts.setdefault(page, []).append(one.marks.get("part", f"line {one.line}"))
    assert parts == PARTS


def test_its_workflow_is_one(tmp_path: Path) -> None:
    workflow = load(whole(EXAMPLE, tmp_path))
    assert workflow.bench_jobs[0].workloads == ("forwarding", "ipfw-statefull", "pf-statefull")


def test_its_matrix_leaves_out_and_adds(tmp_path: Path) -> None:
    matrix = part("docs/how-to/bench-yml.md", "matrix")
    text = re.sub(r"    runs-on: apu2\n(?:    .*\n)+", matrix, EXAMPLE, count=1)
    path = whole(re.sub(r"testbeds:\n.*\n", "", text), tmp_path)
    found = {(x.testbed, x.workload, x.iterations) for x in all_series(load(path).bench_jobs)}
    assert found == {
        ("apu2", "forwarding", 5),
        ("xeon", "forwarding", 9),
        ("xeon", "pf-statefull", 9),
        ("arm64", "forwarding", 5),
    }


def test_its_links_are_taken(tmp_path: Path) -> None:
    workflow = load(whole(EXAMPLE + part("docs/how-to/links.md", "links"), tmp_path))
    found = workflow.pages_of_commits().file("sys/a.c", 40 * "a", 3)
    assert found == f"https://git.example.org/src/tree/sys/a.c?id={40 * 'a'}#n3"


def test_its_repositories_are_taken(tmp_path: Path) -> None:
    named = part("docs/how-to/repositories.md", "repositories").partition("\non:")[0]
    workflow = load(whole(re.sub(r"repository: .*\n", named + "\n", EXAMPLE, count=1), tmp_path))
    assert [one.name for one in workflow.watches] == ["src", "fork"]


def test_its_schedules_are_some(tmp_path: Path) -> None:
    nightly = part("docs/how-to/bench-yml.md", "on")
    path = whole(re.sub(r"on:\n(?:  .*\n)+", nightly, EXAMPLE, count=1), tmp_path)
    workflow = load(path)
    assert [(one.cron, one.branch) for one in workflow.on.schedule] == [
        ("0 3 * * *", None),
        ("0 4 * * SUN", "stable/14"),
    ]
    assert workflow.concurrency.cancel_in_progress


def test_its_factors_make_variants(tmp_path: Path) -> None:
    weekly = part("docs/how-to/compare.md", "on")
    path = whole(re.sub(r"on:\n(?:  .*\n)+", weekly, EXAMPLE, count=1), tmp_path)
    (schedule,) = load(path).on.schedule
    assert len(schedule.variants()) == 4


def test_its_gate_is_one(tmp_path: Path) -> None:
    gate = part("docs/how-to/virtual-lab.md", "jobs")
    kernel = EXAMPLE.partition("jobs:\n")[2].partition("  bench:\n")[0]
    path = whole(f"name: Gate\nrepository: src\n{gate}{kernel}", tmp_path)
    gates = {(x.testbed, x.workload): x.gates for x in all_series(load(path).bench_jobs)}
    assert gates == {
        ("vm-exact", "forwarding"): (),
        ("apu2", "forwarding"): ("vm-exact",),
        ("apu2", "pf-statefull"): (),
    }


def test_its_branches_are_patterns(tmp_path: Path) -> None:
    branches = part("docs/how-to/branches.md", "on")
    push = load(whole(re.sub(r"on:\n(?:  .*\n)+", branches, EXAMPLE, count=1), tmp_path)).on.push
    assert push is not None
    there = ("stable/9", "stable/14", "releng/14.1", "releng/13.2", "main")
    assert push.watched(there) == ("main", "stable/14", "releng/14.1")


def test_its_control_image_and_its_sites_are_known(tmp_path: Path) -> None:
    testbeds = part("docs/how-to/healthy-lab.md", "testbeds").replace(
        "  apu2:\n", "  apu2:\n    worker: lab\n    boot: 65s\n    run: 30s\n"
    )
    text = re.sub(r"testbeds:\n.*\n", testbeds, EXAMPLE)
    workflow = load(whole(text + part("docs/how-to/mail.md", "notify"), tmp_path))
    control = workflow.testbeds["apu2"].control
    assert control is not None
    assert (control.revision, control.owner) == ("r311848", "lab@example.org")
    assert workflow.notify.github is not None
    assert workflow.notify.phabricator is not None


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(
    "target", [command.split()[1] for command in commands() if command.startswith("make ")]
)
def test_each_target_is_known_to_both_kinds_of_make(make: str, target: str) -> None:
    done = ran([make, "-n", target], cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr


def test_each_target_is_told() -> None:
    makefile = (CHECKOUT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    told = (CHECKOUT / "CONTRIBUTING.md").read_text() + "".join(blocks("console"))
    unsaid = [one for one in phony.split() if f"make {one}" not in told]
    assert set(unsaid) <= {"help", "clean", "test-freebsd"}


def test_each_file_that_a_page_names_is_there() -> None:
    text = "".join(page.read_text() for page in DOCUMENTS)
    named = re.findall(
        r"`((?:buildbot_bench|workers|templates|tests|docs)/[\w./-]*|[\w-]+\.txt)`", text
    )
    assert len(named) > 20
    assert [name for name in named if not (CHECKOUT / name).exists()] == []


def test_each_document_that_a_message_or_a_comment_names_is_there() -> None:
    places = ("buildbot_bench", "benchmarks", "workers", "docs", "manual")
    files = [path for place in places for path in (CHECKOUT / place).rglob("*.*")]
    files += [path for path in CHECKOUT.glob("*.*") if path.is_file()]
    kinds = {".py", ".js", ".cfg", ".toml", ".yml", ".md"}
    named = [
        (str(path.relative_to(CHECKOUT)), name)
        for path in files
        if path.suffix in kinds
        for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|yml|json|png)\b", path.read_text())
    ]
    assert len(named) > 20
    assert [(by, name) for by, name in named if not (CHECKOUT / name).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_each_link_of_a_file_beside_the_manual_leads_somewhere(name: str) -> None:
    """Sphinx checks those of docs/ alone."""
    targets = re.findall(r"\]\((?!https?:|<)([^)#]+)", (CHECKOUT / name).read_text())
    assert targets
    assert [one for one in targets if not (CHECKOUT / one).exists()] == []


def test_the_readme_is_short_and_its_first_screen_shows_a_picture() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= MOST_LINES
    screen = "\n".join(lines[:FIRST_SCREEN])
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", screen)
    assert (CHECKOUT / picture).read_bytes().startswith(b"\x89PNG")
    assert "bench-bisect --local" in screen


def test_the_manual_is_short_and_no_page_is_long() -> None:
    pages = [README, *(CHECKOUT / "docs").rglob("*.md")]
    words = {
        str(page.relative_to(CHECKOUT)): len(page.read_text().split())
        for page in pages
        if page.parent != CHECKOUT / "docs/contributing"
    }
    assert sum(words.values()) <= MOST_WORDS
    assert {page: count for page, count in words.items() if count > MOST_WORDS_OF_A_PAGE} == {}


def test_each_exit_status_is_told() -> None:
    page = (CHECKOUT / "docs/reference/exit-statuses.md").read_text()
    assert [one for one in ExitStatus if f"\n| {one.value} |" not in page] == []


def test_the_mail_that_is_explained_is_one_that_the_farm_writes() -> None:
    page = (CHECKOUT / "docs/how-to/reading-a-mail.md").read_text()
    golden = CHECKOUT / "tests" / "golden" / "mail"
    subject = (golden / "culprit.eml").read_text().partition("\n")[0]
    mail = {" ".join(line.split()) for line in (golden / "culprit.txt").read_text().splitlines()}
    shown = [" ".join(line.split()) for line in page.splitlines() if line.startswith("    ")]
    assert len(shown) > 20
    assert [line for line in shown if line not in mail | {subject}] == []
    checks = re.findall(r"^\| \*([^*]+)\* \|", page, re.MULTILINE)
    assert len(checks) == 6
    made = {check.name for check in reports.iflib().checks}
    assert {*checks} == made


def test_the_release_has_its_section_or_is_to_come() -> None:
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    changes = (CHECKOUT / "CHANGELOG.md").read_text()
    told = re.findall(r"^## ([\d.]+)", changes, re.MULTILINE)
    assert version in told or f"*Unreleased* becomes {version}" in changes


def test_the_readme_says_what_sets_everything_up_and_how_long_it_takes() -> None:
    section = README.read_text().partition("## See it")[2].partition("\n## ")[0]
    for command, time in (("make demo", "two to three minutes"), ("make test", "half an hour")):
        assert f"$ {command}" in section
        assert time in " ".join(section.partition(f"`{command}`")[2].partition("`make")[0].split())
