"""Count the lines of the project: `python -m benchmarks.size`, or `make size`."""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_DIRECTORIES = ("buildbot_bench", "tests", "benchmarks", "manual")
_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_HEADS = ("files", "lines", "code", "docstrings", "imports", "comments", "blank")


def kinds(text: str) -> Counter[str]:
    """Return how many lines of a module are of which kind; each line counts once."""
    of = dict.fromkeys(range(1, text.count("\n") + 1), "blank")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = "comments" if token.type == tokenize.COMMENT else "code"
        if token.type not in _SILENT or token.type == tokenize.COMMENT:
            for line in range(token.start[0], token.end[0] + 1):
                of[line] = "code" if of.get(line) == "code" else kind
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import() | ast.ImportFrom():
                kind, marked = "imports", node
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant(value=str())) as marked, *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str())) as marked, *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str())) as marked, *_])
                | ast.AsyncFunctionDef(
                    body=[ast.Expr(value=ast.Constant(value=str())) as marked, *_]
                )
            ):
                kind = "docstrings"
            case _:
                continue
        of |= dict.fromkeys(range(marked.lineno, (marked.end_lineno or marked.lineno) + 1), kind)
    return Counter(of.values())


def main() -> None:
    """Print a line for each directory of the project."""
    sys.stdout.write(f"{'':16}" + "".join(f"{head:>12}" for head in _HEADS) + "\n")
    for directory in _DIRECTORIES:
        files = sorted(Path(directory).rglob("*.py"))
        total = sum((kinds(file.read_text(encoding="utf-8")) for file in files), Counter[str]())
        counts = total | {"files": len(files), "lines": sum(total.values())}
        sys.stdout.write(
            f"{directory:16}" + "".join(f"{counts[head]:12,}" for head in _HEADS) + "\n"
        )


if __name__ == "__main__":
    main()
