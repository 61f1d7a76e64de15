"""Reads bench.yml and says of each problem on which line it is; it knows no key's meaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.limits import (
    WORKFLOW_BYTES,
    WORKFLOW_DEPTH,
    WORKFLOW_NODES,
    spoken,
)
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.problems import problems
from buildbot_bench.workflow.relations import Place, Problem


def load(path: Path | str) -> Workflow:
    """Read a workflow file.

    Raises:
        UsageError: Its message has a line `FILE:LINE: KEY.KEY: what is wrong` for each problem: all
            that single keys have, or else all that parts have with one another.
    """
    path = Path(path)
    root, data = _parse(path, _read(path))
    found = list(_duplicates(root, (), set()))
    try:
        workflow = Workflow.model_validate(data, context={"base": path.parent})
    except ValidationError as error:
        found += problems(error)
    else:
        if not found:
            return workflow
    raise UsageError("\n".join(_lines(path, root, found)))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            body = file.read(WORKFLOW_BYTES + 1)
        if len(body) > WORKFLOW_BYTES:
            raise UsageError(
                f"{path}: has more than {spoken(WORKFLOW_BYTES)}", hint="is it a bench.yml?"
            )
        return body.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from error


def _parse(path: Path, text: str) -> tuple[Node, Any]:
    """The file twice: as nodes, which know their lines, and as plain data, which pydantic takes.

    The pure parser reads YAML 1.2, in which `on` is a word and no truth value.

    Raises:
        UsageError: For a text that is no YAML, or empty.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = True  # reported by us, with all else
    try:
        root = yaml.compose(text)
        _nodes(path, root, {}, depth=0)
        data = yaml.load(text)
    except RecursionError:
        raise UsageError(_too_deep(path)) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        what = " ".join(filter(None, (error.context, error.problem)))
        raise UsageError(f"{where}: is not YAML: {what}") from error
    except (YAMLError, ValueError) as error:
        raise UsageError(f"{path}: is not YAML: {error}") from error
    if root is None:
        raise UsageError(f"{path}: is empty", hint="start from the bench.yml of the example")
    return root, data


def _nodes(path: Path, node: Node | None, known: dict[int, int | None], *, depth: int) -> int:
    """How many nodes there are below one when each alias is written out.

    Raises:
        UsageError: More than a workflow has; nested deeper; or a node that holds itself.
    """
    if node is None:
        return 0
    where = f"{path}:{node.start_mark.line + 1}"
    if id(node) in known:
        found = known[id(node)]
        if found is None:
            raise UsageError(f"{where}: an alias stands for what it is a part of")
        return found
    if depth > WORKFLOW_DEPTH:
        raise UsageError(_too_deep(path))
    known[id(node)] = None
    parts: list[Node] = []
    if isinstance(node, MappingNode):
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, SequenceNode):
        parts = node.value
    count = 1 + sum(_nodes(path, part, known, depth=depth + 1) for part in parts)
    if count > WORKFLOW_NODES:
        raise UsageError(
            f"{where}: has more than {WORKFLOW_NODES} values when aliases are written out",
            hint="write less by aliases",
        )
    known[id(node)] = count
    return count


def _too_deep(path: Path) -> str:
    return f"{path}: is nested deeper than {WORKFLOW_DEPTH} levels; is it a bench.yml?"


def _duplicates(node: Node, place: Place, seen: set[int]) -> Iterator[Problem]:
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
                    yield Problem(place=(*place, name), message=message)
                first.setdefault(name, key.start_mark.line + 1)
                yield from _duplicates(value, (*place, name), seen)
        case SequenceNode():
            for index, item in enumerate(node.value):
                yield from _duplicates(item, (*place, index), seen)


def _lines(path: Path, root: Node, found: list[Problem]) -> list[str]:
    located = [(*_locate(root, problem.place), problem.message) for problem in found]
    return [
        f"{path}:{line}: {shown}: {message}" if shown else f"{path}:{line}: {message}"
        for line, shown, message in sorted(located)
    ]


def _locate(root: Node, place: Place) -> tuple[int, str]:
    """The line of what is at a place, or of the nearest thing around it, and the place's name."""
    node: Node | None = root
    line, shown = root.start_mark.line + 1, ""
    for part in place:
        if isinstance(part, int):
            if isinstance(node, SequenceNode):
                node = node.value[part]
                line, shown = node.start_mark.line + 1, f"{shown}[{part}]"
            continue  # a scalar that stands for a list of one
        shown = f"{shown}.{part}" if shown else part
        pairs = node.value if isinstance(node, MappingNode) else ()
        key, node = next(
            ((key, value) for key, value in reversed(pairs) if str(key.value) == part),
            (None, None),
        )
        line = key.start_mark.line + 1 if key else line
    return line, shown
