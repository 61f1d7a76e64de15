"""The page of the metrics, from the source that names them: their values take a farm."""

import ast
import inspect
from collections.abc import Iterator

from buildbot_bench.plugin.pages import metrics
from manual.reference.myst import code, plain, table


def metrics_text() -> str:
    """A table of all gauges; `{x}` in a name stands for each of several."""
    found = dict(sorted(_gauges(ast.parse(inspect.getsource(metrics)))))
    return table(("Gauge", "Value"), [(code(name), plain(text)) for name, text in found.items()])


def _gauges(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Gauge"), keywords=keywords):
                given = {one.arg: _text(one.value) for one in keywords}
                if given.get("name") and given.get("help"):
                    yield str(given["name"]), str(given["help"])
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    name = _text(key)
                    match value:
                        case ast.Tuple(elts=[first, *_]) if name and name.startswith("bench_"):
                            yield name, _text(first) or ""


def _text(node: ast.AST | None) -> str | None:
    """A text, or an f-string with its parts by their names; None for all else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(
                _text(one) or f"{{{ast.unparse(getattr(one, 'value', one))}}}" for one in values
            )
    return None
