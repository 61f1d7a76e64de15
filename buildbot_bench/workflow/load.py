"""The reader of bench.yml, which reports each problem with its line and its remedy."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import WORKFLOW_BYTES, WORKFLOW_DEPTH, WORKFLOW_NODES, spoken
from buildbot_bench.workflow import jobs
from buildbot_bench.workflow.fields import what_a_pattern_asks
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.problems import (
    EXPRESSION,
    Place,
    Problem,
    RelationError,
    action_problem,
    expression_problem,
    key_problem,
    nearest,
)
from buildbot_bench.workflow.relations import relation_problems


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


_TAGGED: dict[str | int, type[BaseModel]] = {
    jobs.BUILD_JOB: jobs.BuildJob,
    jobs.BENCH_JOB: jobs.BenchJob,
    jobs.CHECKOUT_STEP: jobs.CheckoutStep,
    jobs.RUN_STEP: jobs.RunStep,
    jobs.UPLOAD_STEP: jobs.UploadStep,
}
_KEY_ITSELF = "[key]"  # pydantic's place for "the key, not its value"


def problems(error: ValidationError) -> Iterator[Problem]:
    """All that pydantic found; a key that is missing only because it is misspelt is one problem."""
    details: list[dict[str, Any]] = [{**detail} for detail in error.errors(include_url=False)]
    misspelt = {
        (*_place(detail["loc"][:-1]), near)
        for detail in details
        if detail["type"] == "extra_forbidden" and (near := _nearest_key(detail["loc"])) is not None
    }
    foreign = {detail["loc"][:-1] for detail in details if _is_action(detail)}
    for detail in details:
        place, of_key = _place(detail["loc"]), detail["type"] == "extra_forbidden"
        match detail:
            case {"type": "value_error", "ctx": {"error": RelationError() as relation}}:
                yield from (one for one in relation.problems if one.place not in misspelt)
            case {"type": "missing"} if place in misspelt:
                continue
            case {"type": "too_short", "input": given} if given:
                continue  # its items are wrong, and each of them is reported
            case {"loc": loc} if not _is_action(detail) and _is_within(loc, foreign):
                continue  # what an action is given that is none
            case _:
                of_key = of_key or _KEY_ITSELF in detail["loc"]
                yield Problem(place=place, message=_message(detail), of_key=of_key)


def _is_action(detail: dict[str, Any]) -> bool:
    """Whether it is a step's `uses` that is wrong."""
    loc: Place = detail["loc"]
    return detail["type"] == "literal_error" and loc[-1] == "uses"


def _is_within(loc: Place, places: Collection[Place]) -> bool:
    return any(loc[: len(place)] == place for place in places)


def _place(loc: Place) -> Place:
    return tuple(part for part in loc if part not in _TAGGED and part != _KEY_ITSELF)


def _message(detail: dict[str, Any]) -> str:
    given = f"{quoted(detail['input'])}"
    match detail:
        case {"type": "extra_forbidden", "loc": loc}:
            said = key_problem(_model_at(loc[:-1]).__name__, str(loc[-1]))
            message = said or f"unknown key{nearest(str(loc[-1]), _known_keys(loc[:-1]))}"
        case {"type": "missing"}:
            message = "missing"
        case {"type": "value_error", "ctx": {"error": ValueError() as error}}:
            message = str(error)
        case {"type": "string_pattern_mismatch", "ctx": {"pattern": pattern}}:
            message = f"should {what_a_pattern_asks(pattern)}, not {given}"
        case {"type": "model_type" | "dict_type" | "model_attributes_type"}:
            message = f"should be a mapping of keys to values, not {given}"
        case {"type": "too_long" | "too_short" | "string_too_short", "ctx": limits}:
            most = limits.get("max_length")
            message = f"has more than {most} entries" if most else "is empty"
        case {"type": "tuple_type"}:
            message = f"should be a list, not {given}"
        case {"type": "string_type", "input": bool() | int() | float()}:
            message = f"should be text: write '{detail['input']}' in quotes"
        case {"type": "literal_error", "ctx": {"expected": expected}, "input": value}:
            is_uses = _is_action(detail)
            message = action_problem(value) if is_uses else f"should be {expected}, not {given}"
        case _:
            message = f"{str(detail['msg']).replace('Input should', 'should')}, not {given}"
    return message


def _nearest_key(loc: Place) -> str | None:
    hint = nearest(str(loc[-1]), known := _known_keys(loc[:-1]))
    return next((key for key in known if hint == f"; did you mean '{key}'?"), None)


def _known_keys(loc: Place) -> tuple[str, ...]:
    model = _model_at(loc)
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _model_at(loc: Place) -> type[BaseModel]:
    model: type[BaseModel] = Workflow
    for part in loc:
        if part in _TAGGED:
            model = _TAGGED[part]
            continue
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in fields:
            model = next(_models_in(fields[str(part)].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


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
