"""Planted histories of a library: the files of each commit.

A commit changes nothing that runs, moves code without changing it, changes code that hardly
matters, or is the slow one, after which a share of the blocks is packed twice.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LIBRARY = Path(__file__).parent / "library"
COMMITS = 64
_ENDS_SPARED = 3  # the slow commit is not within so many of either end
_MARK = "\t/* after a block */\n"
_ALIGNED = " -falign-functions=64 -falign-loops=64 -falign-jumps=32"
_SHARES = 10_000  # a share of the blocks is told in these
_NEVER = 1 << 20  # bytes: no block has so many, nor some more

Files = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PlantedCommit:
    """All files as they are after a commit."""

    kind: str
    files: Files


@dataclass(frozen=True, kw_only=True)
class PlantedHistory:
    """A first state and the commits on it; `slow` counts them from 1, 0: none is slow."""

    first: Files
    commits: tuple[PlantedCommit, ...]
    slow: int


def plant(
    effect: float, seed: str, *, commits: int = COMMITS, aligned: bool = True
) -> PlantedHistory:
    """A history in which one commit changes the speed by this share, as -0.03; 0: none does.

    Where functions and loops are not `aligned`, code that moves becomes faster or slower by luck.
    """
    rng = random.Random(seed)
    slow = rng.randint(1 + _ENDS_SPARED, commits - _ENDS_SPARED) if effect else 0
    first = {
        path.relative_to(LIBRARY).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(LIBRARY.rglob("*"))
        if path.is_file()
    }
    if not aligned:
        first["Makefile"] = first["Makefile"].replace(_ALIGNED, "")
    files, made = first, []
    for number in range(1, commits + 1):
        kind = "slow" if number == slow else rng.choices(list(_EDITS), _WEIGHTS)[0]
        edit = _slowed(effect) if kind == "slow" else _EDITS[kind]
        files = files | edit(files, number, rng)
        made.append(PlantedCommit(kind=kind, files=files))
    return PlantedHistory(first=first, commits=tuple(made), slow=slow)


def _slowed(effect: float) -> Callable[[Files, int, random.Random], Files]:
    """Pack so many blocks twice that speed changes by the effect: work grows by 1/(1+e) - 1."""
    more = round(_SHARES * (1 / (1 + effect) - 1))

    def edit(files: Files, _number: int, _rng: random.Random) -> Files:
        check = (
            f"\t/* Check some blocks by packing them again. */\n\tp->due += {more};\n"
            f"\tif (p->due >= {_SHARES // 2}) {{\n\t\tp->due -= {_SHARES};\n"
            "\t\tp->errors += stages(p, in, n) != sum;\n\t}\n"
        )
        return {"pack.c": files["pack.c"].replace(_MARK, check + _MARK)}

    return edit


def _stages(files: Files) -> list[str]:
    return [name for name in files if name.startswith("src/")]


def _words(files: Files, number: int, rng: random.Random) -> Files:
    """A comment, or a line of the README."""
    name = rng.choice([*_stages(files), "README"])
    line = f"Note {number}.\n" if name == "README" else f"/* Note {number}. */\n"
    return {name: files[name] + line}


def _helper(files: Files, number: int, rng: random.Random) -> Files:
    """A function that nothing calls yet: what is linked behind it moves."""
    name = rng.choice(_stages(files))
    lines = "".join(
        f"\tx = (x ^ {rng.randrange(1 << 16)}) * {rng.randrange(1, 1 << 16, 2)};\n"
        for _ in range(rng.randint(1, 12))
    )
    head = f"uint64_t helper_{number}(uint64_t x);\n\nuint64_t\nhelper_{number}(uint64_t x)\n"
    top, blank, rest = files[name].partition("\n\n")
    return {name: f"{top}{blank}{head}{{\n{lines}\treturn x;\n}}\n\n{rest}"}


def _order(files: Files, _number: int, rng: random.Random) -> Files:
    """The objects linked in another order."""
    before, key, rest = files["Makefile"].partition("OBJECTS = ")
    line, newline, after = rest.partition("\n")
    objects = line.split()
    rng.shuffle(objects)
    return {"Makefile": before + key + " ".join(objects) + newline + after}


def _check(files: Files, number: int, rng: random.Random) -> Files:
    """A test of an argument, once for each block."""
    name = rng.choice(_stages(files))
    test = f"\tif (n == {_NEVER + number})\n\t\treturn {number};\n"
    last = files[name].rindex("\treturn ")
    return {name: files[name][:last] + test + files[name][last:]}


def _sum(files: Files, number: int, rng: random.Random) -> Files:
    """A stage's result goes into the sum by another operation, and at another place."""
    head, opened, rest = files["pack.c"].partition("sum = 0;\n\n")
    body, closed, after = rest.partition("\treturn sum;\n")
    lines = body.splitlines(keepends=True)
    rng.shuffle(lines)
    at = number % len(lines)
    operation = " ^= " if " += " in lines[at] else " += "
    lines[at] = lines[at].replace(" += ", operation).replace(" ^= ", operation)
    return {"pack.c": head + opened + "".join(lines) + closed + after}


_EDITS: dict[str, Callable[[Files, int, random.Random], Files]] = {
    "words": _words,
    "helper": _helper,
    "order": _order,
    "check": _check,
    "stages": _sum,
}
_WEIGHTS = (4, 4, 2, 4, 2)
