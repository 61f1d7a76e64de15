"""`make figures` writes what was measured into the page, and nothing else."""

import json
from dataclasses import replace

import pytest

from benchmarks import figures
from benchmarks.figures import PAGE, main, rewritten
from benchmarks.figures_rows import CLEAN, FAINT, LOAD, ROWS
from buildbot_bench.core.errors import UsageError
from tests.gitrepo import git

WHEN = "2026-11-29, 0123abcd"
SEARCHES = [{"wrong": number == 0} for number in range(50)]
COMMIT = 40 * "a"


def in_worlds(name: str, mean: float) -> dict[str, object]:
    return {"row": name, "boots": [mean, 0.25], "searches": SEARCHES}


def searched(case: str, **more: object) -> dict[str, object]:
    usual = {"iterations": 14.4, "iterations_error": 0.1, "wrong": 0.008, "replicates": 500}
    return {"case": case, "policy": "ours"} | usual | more


def library(way: str, named: int | None) -> dict[str, object]:
    return {"case": "-3 %", "way": way, "named": named, "slow": 5, "runs": 80}


FOUND = {
    "judge": {
        "recorded": [
            {"way": "the judge", "alarms": 18, "found": 13, "changes": 14},
            {"way": "Student 95 % against the neighbour", "alarms": 188},
        ]
    },
    "worlds": {
        "rows": [
            in_worlds(CLEAN, 16.75),
            in_worlds(FAINT, 42.5),
            in_worlds("IFLIB, four steps", 48),
        ]
    },
    "search": {
        "rows": [
            searched("n 1600, step/noise 10"),
            searched("n 256, step/noise 2", iterations=39.6),
            searched("2 %, bimodal boots (20 % at -1.5 %)"),
        ]
    },
    "incident": {"n 256, d 3": [2.34, 0.1]},
    "forecasts": [
        {"row": "IFLIB, four steps", "took_boots": 9 * nth, "boots": [5, 10]} for nth in (1, 2)
    ],
    "intervals": {"50 x ±.12 %": [66, 69]},
    "commands": [
        library("ours", 5),
        library("ours", None),
        library("git bisect run, 5", 4),
        library("git_bayesect", 5),
    ],
    "recorded": {"cpu": [{"wrong": False, "ended": True, "runs": runs} for runs in (280, 400)]},
    "why-embedded": [{"right": True}],
    "why-vm": [{"right": False}],
    "chaos": {name: {"kills": 1000, "violations": 0} for name in ("sqlite", "postgresql")},
    "load": [{"idle_ms": 27.0}, {"idle_ms": 128.4}],
    "pauses": {"opened": 700, "longest_s": {"page": 1.96, "reactor": 0.1}, "hangs": 0},
}


def table_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| ")]


def test_the_page_gets_what_was_measured(golden):
    page = PAGE.read_text()
    changed = rewritten(page, ROWS, FOUND, WHEN)
    golden("why-believe-it.md", "\n".join(table_of(changed)) + "\n")
    assert [line for line in changed.splitlines() if line[:2] != "| "] == [
        line for line in page.splitlines() if line[:2] != "| "
    ]


def test_each_row_of_the_page_is_known():
    rows = table_of(PAGE.read_text())[1:]
    assert len(rows) == len(ROWS)
    assert all(line.startswith(f"| {row.question}") for line, row in zip(rows, ROWS, strict=True))
    assert all(bool(row.read) != bool(row.source.why_not) for row in ROWS)


def test_a_page_without_the_row_is_refused():
    with pytest.raises(UsageError, match="0 lines that begin with 'Alarms"):
        rewritten("# Why believe it\n", ROWS[:1], FOUND, WHEN)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of one's own, in a tree without changes."""
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(figures, "PAGE", page)
    monkeypatch.setattr(figures, "_git", lambda *words: "" if "status" in words else COMMIT)
    return page


def keep_load(scratch, commit):
    scratch.joinpath(commit).mkdir()
    kept = json.dumps({"day": "2026-11-30", "found": {"load": FOUND["load"]}})
    scratch.joinpath(commit, "load.json").write_text(kept)


def test_a_run_that_is_kept_is_not_done_again(page, tmp_path, capsys):
    keep_load(tmp_path, COMMIT)
    assert main(["--only", "load", "--only", "box", f"--scratch={tmp_path}"]) == 0
    said = capsys.readouterr().out
    assert "**128 ms: [Load](../contributing/load.md)** | `make load`, 2026-11-30, aaaaaaaa" in said
    assert "box is not run: it needs a source tree of FreeBSD" in said
    assert "aaaaaaaa" in page.read_text()


def test_quick_figures_do_not_reach_the_page(page, tmp_path, capsys):
    keep_load(tmp_path, f"{COMMIT}-quick")
    assert main(["--only", "load", "--quick", f"--scratch={tmp_path}"]) == 0
    assert "128 ms" in capsys.readouterr().out
    assert page.read_text() == PAGE.read_text()
    assert "aaaaaaaa" not in page.read_text()


def test_a_tree_with_changes_is_refused(page, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(figures, "_git", lambda *_words: " M Makefile")
    assert main(["--only", "load", f"--scratch={tmp_path}"]) == 1
    assert "the tree has changes; commit them" in capsys.readouterr().err
    assert main(["--only", "nothing", f"--scratch={tmp_path}"]) == 1
    assert "there is no row 'nothing'" in capsys.readouterr().err


def test_a_run_of_a_tree_that_changed_meanwhile_is_not_kept(page, tmp_path, monkeypatch, capsys):
    source = replace(LOAD, words=("-c", "print()"), files=())
    monkeypatch.setattr(figures, "ROWS", [replace(ROWS[-3], source=source)])
    heads = iter((COMMIT, 40 * "b"))
    monkeypatch.setattr(figures, "_git", lambda *words: "" if "status" in words else next(heads))
    assert main([f"--scratch={tmp_path}"]) == 1
    assert "another commit came meanwhile" in capsys.readouterr().err
    assert list(tmp_path.rglob("*.json")) == []


def test_a_page_that_one_row_changed_hinders_no_other(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    git(tmp_path, "init", "--quiet")
    for name in ("page.md", "Makefile"):
        page.with_name(name).write_text("a\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=both")
    monkeypatch.setattr(figures, "CHECKOUT", tmp_path)
    monkeypatch.setattr(figures, "PAGE", page)
    commit = figures._commit(quick=False)
    page.write_text("b\n")
    assert figures._commit(quick=False) == commit
    page.with_name("Makefile").write_text("b\n")
    with pytest.raises(UsageError, match="the tree has changes"):
        figures._commit(quick=False)
