"""The lines and columns of keys and values in a YAML text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from buildbot_bench.workflow.github import EXPRESSION, expression_problem
from buildbot_bench.workflow.relations import Place, Problem


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Location:
    """Line and column, from 1, and the keys that lead there as a person writes them."""

    line: int
    column: int
    shown: str


def locate(root: Node, problem: Problem) -> Location:
    """Where a problem is: the value, or the key if it is long, or the nearest thing around it."""
    node: Node | None = root
    at, shown = root, ""
    for part in problem.place:
        if isinstance(part, int):
            if isinstance(node, SequenceNode):
                at = node = node.value[part]
                shown = f"{shown}[{part}]"
            continue  # a scalar that stands for a list of one
        shown = f"{shown}.{part}" if shown else part
        key, node = _behind(node, part)
        at = key or at
    if isinstance(node, ScalarNode) and not problem.of_key and _is_beside(at, node):
        at = node
    line, column = problem.mark or (at.start_mark.line + 1, at.start_mark.column + 1)
    return Location(line=line, column=column, shown=shown)


def _is_beside(key: Node, value: ScalarNode) -> bool:
    """Whether a value stands on its key's own line, whole."""
    return key.start_mark.line == value.start_mark.line and value.style not in {"|", ">"}


def _behind(node: Node | None, part: str) -> tuple[Node | None, Node | None]:
    """The last key of that name in a mapping, and its value."""
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next(
        ((key, value) for key, value in reversed(pairs) if str(key.value) == part), (None, None)
    )


def duplicates(node: Node, place: Place = (), seen: set[int] | None = None) -> Iterator[Problem]:
    """The keys that a mapping has twice."""
    seen = set() if seen is None else seen
    if id(node) in seen:  # an alias: its anchor was looked at
        return
    seen.add(id(node))
    match node:
        case MappingNode():
            first: dict[str, int] = {}
            for key, value in node.value:
                name = str(key.value)
                if name in first:
                    message = f"written twice, first on line {first[name]}"
                    yield Problem(place=(*place, name), message=message, of_key=True)
                first.setdefault(name, key.start_mark.line + 1)
                yield from duplicates(value, (*place, name), seen)
        case SequenceNode():
            for index, item in enumerate(node.value):
                yield from duplicates(item, (*place, index), seen)


def expressions(
    node: Node, text: str, place: Place = (), seen: set[int] | None = None
) -> Iterator[Problem]:
    """What GitHub would compute, in the values of a text, each where it begins."""
    seen = set() if seen is None else seen
    if id(node) in seen:
        return
    seen.add(id(node))
    match node:
        case ScalarNode():
            begin, end = node.start_mark.index, node.end_mark.index
            for match in EXPRESSION.finditer(text, begin, end):
                line = text.count("\n", 0, match.start()) + 1
                column = match.start() - text.rfind("\n", 0, match.start())
                message = expression_problem(match[0])
                yield Problem(place=place, message=message, mark=(line, column))
        case MappingNode():
            for key, value in node.value:
                yield from expressions(value, text, (*place, str(key.value)), seen)
        case SequenceNode():
            for index, item in enumerate(node.value):
                yield from expressions(item, text, (*place, index), seen)
