"""The functions of the package that reach numpy, scipy or matplotlib, by the names they use.

Calls of methods are followed within their own class only.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

PACKAGE = Path(__file__).parents[1] / "buildbot_bench"
LIBRARIES = {"numpy", "scipy", "matplotlib"}
# What has its first argument called in another process (plugin/farm/calculating.py).
ELSEWHERE = {"calculate", "known"}


class Calls:
    """The definitions of all modules, and what each refers to."""

    def __init__(self, further: Mapping[str, str] = MappingProxyType({})) -> None:
        texts = {_module(path): path.read_text() for path in PACKAGE.rglob("*.py")}
        self._trees = {name: ast.parse(text) for name, text in (texts | dict(further)).items()}
        self._names: dict[str, dict[str, str]] = {}
        self._definitions: dict[str, tuple[str, ast.AST]] = {}
        for module, tree in self._trees.items():
            self._names[module] = _imported(tree)
            for name, node in _defined(tree):
                self._definitions[f"{module}.{name}"] = module, node
                self._names[module].setdefault(name, f"{module}.{name}")
        self.elsewhere: set[str] = set()
        self._refers = {name: set(self._references(name)) for name in self._definitions}

    def numeric(self) -> set[str]:
        """What comes to the libraries, but for what has it done elsewhere."""
        users = defaultdict(set)
        for name, others in self._refers.items():
            for other in others:
                users[other].add(name)
        return _closure(LIBRARIES, users) - LIBRARIES

    def _references(self, name: str) -> Iterator[str]:
        module, node = self._definitions[name]
        known = self._names[module] | _imported(node)
        hidden = _assigned(node) - _imported(node).keys()
        own = name.removeprefix(f"{module}.").rpartition(".")[0]
        known = {one: meant for one, meant in known.items() if one not in hidden}
        yield from self._walk(node, known | {"self": f"{module}.{own}"})

    def _walk(self, node: ast.AST, known: Mapping[str, str]) -> Iterator[str]:
        children = list(ast.iter_child_nodes(node))
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in ELSEWHERE:
                self.elsewhere |= set(self._walk(first, known))
                children.remove(first)
            case ast.Name() | ast.Attribute():
                first, *rest = _chain(node)
                if first in known:
                    yield from self._meant(".".join([known[first], *rest]))
                children = [node.value] if not first and isinstance(node, ast.Attribute) else []
            case ast.AnnAssign(value=value):
                children = [value] if value else []
            case ast.arg():
                children = []
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                children = [node.args, *node.body, *node.decorator_list]
        for child in children:
            yield from self._walk(child, known)

    def _meant(self, full: str) -> Iterator[str]:
        """What a dotted name stands for, through the packages that pass it on."""
        seen: set[str] = set()
        while full not in seen:
            seen.add(full)
            if (library := full.partition(".")[0]) in LIBRARIES:
                yield library
            if full in self._definitions:
                made = (f"{full}.{method}" for method in ("__init__", "__post_init__", "__call__"))
                yield from (full, *(one for one in made if one in self._definitions))
                return
            # A package may pass a function on that has the name of its module.
            module = full.rpartition(".")[0]
            while module and module not in self._trees:
                module = module.rpartition(".")[0]
            name, _, rest = full.removeprefix(f"{module}.").partition(".")
            if name not in self._names.get(module, {}):
                return
            full = f"{self._names[module][name]}.{rest}".rstrip(".")


def _closure(start: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    left = list(start)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += edges.get(name, ())
    return found


def _chain(node: ast.AST) -> list[str]:
    """The parts of a dotted name; the first is empty where something else stands before the dot."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=value, attr=attr):
            return [*_chain(value), attr]
    return [""]


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found |= {one.asname or one.name: f"{module}.{one.name}" for one in names}
            case ast.Import(names=names):
                for one in names:
                    top = one.name.partition(".")[0]
                    found[one.asname or top] = one.name if one.asname else top
    return found


def _assigned(tree: ast.AST) -> set[str]:
    stored = (
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    return {*stored, *(n.arg for n in ast.walk(tree) if isinstance(n, ast.arg))} - {"self"}


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node
            case ast.ClassDef():
                methods = [
                    n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
                ]
                yield from ((f"{node.name}.{method.name}", method) for method in methods)
                rest = [part for part in node.body if part not in methods]
                yield node.name, ast.Module(body=[*rest], type_ignores=[])
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if node.value is not None:
                    yield name, node.value
