"""The texts of the project: templates, scripts of the pages, code and docstrings.

Each text comes with its place, and a value in it is a question mark.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "buildbot_bench"
TEMPLATES = ROOT / "templates"
SCRIPTS = PACKAGE / "plugin" / "pages" / "static"

_FEWEST_BLANKS = 2  # a key, a column or a command has fewer
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
_VALUE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_LITERAL = re.compile(r'"([^"]*)"')
_TAG = re.compile(r"<style.*?</style>|<[^>]*>", re.DOTALL)
_SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)
_SCRIPT_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_SCRIPT_VALUE = re.compile(r"\$\{[^}]*\}+")
_QUERY = re.compile(r"\s*(?:CREATE|SELECT|INSERT|UPDATE|DELETE|ALTER|WITH|PRAGMA)\b")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DRAWN = re.compile(r"[MmLlHhVvZz0-9?., -]+")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A text, and where it stands."""

    place: str
    text: str


def of_templates() -> Iterator[Shown]:
    """The words of each template for mails and pages, those within its expressions too."""
    for path in sorted(TEMPLATES.iterdir()):
        if path.suffix in {".txt", ".html", ".md"}:
            bare = _STATEMENT.sub("\n\n", _COMMENT.sub("", path.read_text(encoding="utf-8")))
            text = _TAG.sub("\n\n", _VALUE.sub(_literals, bare))
            yield Shown(place=f"templates/{path.name}", text=text)


def _literals(expression: re.Match[str]) -> str:
    return "?".join(_LITERAL.findall(expression[1])) or "?"


def of_scripts() -> Iterator[Shown]:
    """The strings of the pages' scripts that have several words."""
    for path in sorted(SCRIPTS.glob("*.js")):
        source = _SCRIPT_COMMENT.sub("", path.read_text(encoding="utf-8"))
        for found in _SCRIPT_TEXT.finditer(source):
            text = _SCRIPT_VALUE.sub("?", found[1] or found[2] or "")
            if text.count(" ") >= _FEWEST_BLANKS and not _DRAWN.fullmatch(text):
                yield Shown(place=f"static/{path.name}", text=text)


def of_code() -> Iterator[Shown]:
    """The strings of the package that have several words; no docstring, no comment, no SQL."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place = path.relative_to(ROOT)
        for line, text in _strings(tree):
            if text.count(" ") >= _FEWEST_BLANKS and not _QUERY.match(text):
                yield Shown(place=f"{place}:{line}", text=text)


def of_docstrings() -> Iterator[Shown]:
    """What the package, the workers' files and the fakes say of themselves to their readers."""
    for root in (PACKAGE, ROOT / "workers", ROOT / "tests" / "fakes"):
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.tac")]):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
                    line = getattr(node, "lineno", 1)
                    yield Shown(place=f"{path.relative_to(ROOT)}:{line}", text=text)


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each string of a module with its line, f-strings whole."""
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        # A string that is a statement is a docstring.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(_part, node.values))


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return "?"
