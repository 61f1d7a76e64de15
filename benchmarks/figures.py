"""`make figures`: measure what docs/explanation/why-believe-it.md tells, and write it there.

All figures are of one commit, and so is each run: the tree must have no changes. What was run is
kept outside of it, by the commit, so that an interrupted run goes on where it was. `--quick` takes
few replicates and prints its lines; the page stays as it is.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures_rows import ROWS, FigureRow, Source
from benchmarks.progress import OUT
from buildbot_bench.core.errors import BenchError, InfraError, UsageError

CHECKOUT = Path(__file__).parents[1]
PAGE = CHECKOUT / "docs" / "explanation" / "why-believe-it.md"
_SHORT = 8  # digits of a commit
_COLUMNS = 4


def main(argv: Sequence[str] | None = None) -> int:
    """Run what was not run, and rewrite the page; 1 when a run failed."""
    parser = argparse.ArgumentParser(prog="make figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few replicates; writes no page")
    names = ", ".join(dict.fromkeys(row.source.name for row in ROWS))
    parser.add_argument("--only", action="append", metavar="ROW", help=f"one of {names}; again")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    scratch = Path(cache) / "buildbot-bench" / "figures"
    parser.add_argument("--scratch", type=Path, default=scratch, help="where runs are kept")
    options = parser.parse_args(argv)
    try:
        return _make(options.only, options.scratch, quick=options.quick)
    except BenchError as error:
        print(f"make figures: {error}", file=sys.stderr)
        return 1


def _make(only: Sequence[str] | None, scratch: Path, *, quick: bool) -> int:
    chosen = _chosen(only)
    commit = _commit(quick=quick)
    kept = scratch / (f"{commit}-quick" if quick else commit)
    page = PAGE.read_text(encoding="utf-8")
    failed = False
    for source in dict.fromkeys(row.source for row in chosen):
        if source.why_not:
            print(f"{source.name} is not run: {source.why_not}", flush=True)
            continue
        try:
            found, day = _run(source, kept, commit, quick=quick)
        except InfraError as error:
            print(f"{source.name}: {error}", file=sys.stderr, flush=True)
            failed = True
            continue
        rows = [row for row in chosen if row.source is source]
        page = rewritten(page, rows, found, f"{day}, {commit[:_SHORT]}")
        print("\n".join(_lines(page, rows)), flush=True)
        if not quick:
            PAGE.write_text(page, encoding="utf-8")
    return int(failed)


def _chosen(only: Sequence[str] | None) -> list[FigureRow]:
    known = {row.source.name for row in ROWS}
    if unknown := [name for name in only or () if name not in known]:
        raise UsageError(f"there is no row {unknown[0]!r}", hint="see --help for those there are")
    return [row for row in ROWS if only is None or row.source.name in only]


def _run(source: Source, kept: Path, commit: str, *, quick: bool) -> tuple[dict[str, Any], str]:
    """What a source found, and on which day; it is run unless that is kept."""
    file = kept / f"{source.name}.json"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        place = kept if source.goes_on else OUT
        if not source.goes_on:
            for name in source.files:  # of another commit
                (place / name).unlink(missing_ok=True)
        words = [sys.executable, *source.words, *(source.quick if quick else ())]
        words += [f"--out={kept}"] if source.goes_on else []
        print(f"\n# {source.name}: python {' '.join(words[1:])}", flush=True)
        status = subprocess.run(words, cwd=CHECKOUT, check=False).returncode  # noqa: S603
        found = source.gather(place)
        if len(found) < len(source.files):  # a status tells of targets that were missed, as well
            raise InfraError(f"it ended with {status} and wrote no figures", hint="see above")
        if _commit(quick=quick) != commit:
            raise UsageError("another commit came meanwhile", hint="go back to it, or begin anew")
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps({"day": f"{datetime.now(UTC):%Y-%m-%d}", "found": found}))
        partial.replace(file)
    told = json.loads(file.read_text(encoding="utf-8"))
    return told["found"], told["day"]


def _commit(*, quick: bool) -> str:
    """The commit that is measured, UsageError where the tree is not that; the page may differ."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){PAGE}")
    if changed and not quick:
        raise UsageError("the tree has changes", hint="commit them: figures are of one commit")
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise UsageError(f"git {words[0]} failed: {done.stderr.strip()}", hint="is it a checkout?")
    return done.stdout.strip()


def rewritten(page: str, rows: Iterable[FigureRow], found: Mapping[str, Any], when: str) -> str:
    """The page with what was found in the lines of some rows; `when` is a day and a commit.

    UsageError where the page has not one line for each.
    """
    lines = page.splitlines()
    for row in rows:
        number = _line_of(lines, row)
        cells = _cells(lines[number])
        figure = row.read(found) if row.read else None
        if figure is None:
            continue
        cells[2] = f"**{figure.text}**" if figure.missed else figure.text
        is_next = ROWS[ROWS.index(row) - 1].source is row.source
        cells[3] = "the same" if is_next else f"`{row.source.shown}`, {when}"
        lines[number] = f"| {' | '.join(cells)} |"
    return "\n".join(lines) + "\n"


def _line_of(lines: Sequence[str], row: FigureRow) -> int:
    there = [n for n, line in enumerate(lines) if line.startswith(f"| {row.question}")]
    if len(there) != 1 or len(_cells(lines[there[0]])) != _COLUMNS:
        raise UsageError(
            f"{PAGE} has {len(there)} lines that begin with {row.question!r} and should have one",
            hint="change it there, or in benchmarks/figures_rows.py",
        )
    return there[0]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def _lines(page: str, rows: Iterable[FigureRow]) -> list[str]:
    lines = page.splitlines()
    return [lines[_line_of(lines, row)] for row in rows]


if __name__ == "__main__":
    sys.exit(main())
