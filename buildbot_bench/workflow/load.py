"""The reader of bench.yml, which reports each problem with its line."""

from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.limits import WORKFLOW_BYTES, WORKFLOW_DEPTH, WORKFLOW_NODES, spoken
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.outlines import relation_problems
from buildbot_bench.workflow.problems import duplicates, expressions, locate, problems
from buildbot_bench.workflow.relations import Problem

# Whoever writes more has read enough of them.
_MOST_EXPRESSIONS = 100


def load(path: Path | str) -> Workflow:
    """Read a workflow file.

    A UsageError has a line `FILE:LINE:COLUMN: KEY.KEY: what is wrong` for each of its problems.
    """
    path = Path(path)
    text = _read(path)
    root, data = _parse(path, text)
    found = [*duplicates(root), *islice(expressions(root, text), _MOST_EXPRESSIONS)]
    try:
        workflow = Workflow.model_validate(data, context={"base": path.parent})
    except ValidationError as error:
        found += [*problems(error), *relation_problems(data)]
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
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        what = " ".join(filter(None, (error.context, error.problem)))
        raise UsageError(f"{where}: is not YAML: {what}") from error
    except (YAMLError, ValueError) as error:
        raise UsageError(f"{path}: is not YAML: {error}") from error
    if root is None:
        raise UsageError(f"{path}: is empty", hint="start from the bench.yml of the example")
    return root, data


def _nodes(path: Path, node: Node | None, known: dict[int, int | None], *, depth: int) -> int:
    """How many nodes there are below one when each alias is written out."""
    if node is None:
        return 0
    where = f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
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


def _lines(path: Path, root: Node, found: list[Problem]) -> list[str]:
    """A line for each problem, in the file's order; the value of a wrong key is none."""
    wrong = {problem.place for problem in found if problem.of_key}
    told = {
        (locate(root, problem), problem.message)
        for problem in found
        if problem.mark is None or not any(problem.place[: len(key)] == key for key in wrong)
    }
    return [
        f"{path}:{at.line}:{at.column}: {at.shown + ': ' if at.shown else ''}{message}"
        for at, message in sorted(told)
    ]
