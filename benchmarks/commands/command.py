"""`python -m benchmarks commands`: search planted histories of a real library in four ways.

Each history is compiled and searched by the real commands. Finished searches are kept in
benchmarks/out/commands.jsonl, so that an interrupted run goes on. It takes some minutes for each
history; run it when nothing else wants the processors.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.commands.bayesect import installed
from benchmarks.commands.beside import measure_beside, show_beside
from benchmarks.commands.planting import COMMITS, plant
from benchmarks.commands.repository import make_planted
from benchmarks.commands.table import RELINKED, Outcome, show
from benchmarks.commands.ways import Ground, Searched, bayesect, bisect_run, noise, ours
from benchmarks.progress import counted
from buildbot_bench.core.errors import UsageError

OUT = Path(__file__).parents[1] / "out"
VENV = Path(__file__).parents[2] / ".cache" / "git-bayesect"
HISTORIES, QUICK = 20, 2
PATIENCE_S = 300.0  # then a person gives up a search whose runs take 50 ms
Way = Callable[[Ground], Searched]


@dataclass(frozen=True, kw_only=True)
class Case:
    """An effect, and whether instructions are counted in place of what the program prints."""

    name: str
    effect: float
    counted: bool = False
    aligned: bool = True


CASES = (
    Case(name="-3 %", effect=-0.03),
    Case(name="-5 %", effect=-0.05),
    Case(name="-25 %", effect=-0.25),
    Case(name="-5 %, unaligned", effect=-0.05, aligned=False),
    Case(name="-1 %, instructions", effect=-0.01, counted=True),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Search what was not searched, and print the table."""
    options = _parser().parse_args(argv)
    count = options.histories or options.replicates or (QUICK if options.quick else HISTORIES)
    cases = _cases(options.effects)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.beside:
        show_beside(measure_beside())
        return 0
    log = options.out / "commands.jsonl"
    if options.anew:
        log.unlink(missing_ok=True)
    program, why = installed(options.venv)
    if program is None:
        print(f"git_bayesect is left out: {why}")
    if shutil.which("hyperfine") is None:
        print("hyperfine is left out: it is not installed")
    known = _known(log)
    numbers = range(options.seed, options.seed + count)
    tasks = [(case, number) for number in numbers for case in cases]
    left = [(*task, ways) for task in tasks if (ways := _missing(*task, program, known))]
    if left:
        show_beside(measure_beside())
    for case, number, ways in counted(left, len(left), "history"):
        for one in searched(case, number, ways, options.patience):
            known.append(one)
            _write(log, one)
    wanted = {(case.name, number) for case, number in tasks}
    show([case.name for case in cases], [k for k in known if (k.case, k.history) in wanted])
    return 0


def searched(
    case: Case, number: int, ways: dict[str, Way], patience_s: float, commits: int = COMMITS
) -> Iterator[Outcome]:
    """One history searched by some ways, in an order that differs from history to history."""
    history = plant(case.effect, f"{case.name} {number}", commits=commits, aligned=case.aligned)
    names = random.Random(number).sample(sorted(ways), len(ways))
    with tempfile.TemporaryDirectory(prefix="bench-commands-") as name:
        home = Path(name)
        repository = make_planted(history, home)
        spread = noise(repository)
        for place, way in enumerate(names):
            own = home / f"way-{place}"
            own.mkdir()
            load = os.getloadavg()[0]
            found = ways[way](Ground(repository=repository, home=own, patience_s=patience_s))
            yield Outcome(
                case=case.name,
                history=number,
                way=way,
                slow=history.slow,
                noise=spread,
                load=load,
                build_s=repository.build_s,
                **asdict(found),
            )


def _missing(
    case: Case, number: int, program: Path | None, known: Sequence[Outcome]
) -> dict[str, Way]:
    """The ways by which a history was not searched yet."""
    done = {one.way for one in known if (one.case, one.history) == (case.name, number)}
    return {name: way for name, way in _ways(case, program).items() if name not in done}


def _ways(case: Case, program: Path | None) -> dict[str, Way]:
    if case.counted:
        return {
            "ours": partial(ours, value="instructions", options=("--min-effect=0.5%",)),
        }
    found: dict[str, Way] = {
        "git bisect run, 1": partial(bisect_run, runs=1),
        "git bisect run, 5": partial(bisect_run, runs=5),
        "ours": ours,
    }
    if shutil.which("hyperfine") is not None:
        found["hyperfine, 10"] = partial(bisect_run, runs=10, by_hyperfine=True)
    if not case.aligned:
        found[RELINKED] = partial(ours, relinked=True)
    if program is not None:
        found["git_bayesect"] = partial(bayesect, program=program)
    return found


def _cases(names: str) -> list[Case]:
    if not names:
        return list(CASES)
    wanted = [name.strip() for name in names.split(";")]
    there = {case.name: case for case in CASES}
    if strange := [name for name in wanted if name not in there]:
        raise UsageError(f"there is no case {strange[0]!r}", hint=f"there are {'; '.join(there)}")
    return [there[name] for name in wanted]


def _known(log: Path) -> list[Outcome]:
    if not log.exists():
        return []
    return [Outcome(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]


def _write(log: Path, one: Outcome) -> None:
    with log.open("a", encoding="utf-8") as out:
        out.write(f"{json.dumps(asdict(one))}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks commands",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} histories for each effect")
    parser.add_argument("--histories", type=int, metavar="N", help=f"for each ({HISTORIES})")
    parser.add_argument("--replicates", type=int, metavar="N", help="the same")
    parser.add_argument("--seed", type=int, default=0, help="the first history's number")
    parser.add_argument(
        "--effects",
        default="",
        metavar="'A;B'",
        help="; ".join(case.name for case in CASES).replace("%", "%%"),
    )
    parser.add_argument("--patience", type=float, default=PATIENCE_S, help="seconds for a search")
    parser.add_argument("--beside", action="store_true", help="only what a run costs beside it")
    parser.add_argument("--anew", action="store_true", help="forget what was searched")
    parser.add_argument("--venv", type=Path, default=VENV, help="where git_bayesect is installed")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    return parser


if __name__ == "__main__":
    sys.exit(main())
