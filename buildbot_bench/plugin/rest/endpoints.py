"""The reading of parameters, checks and error answers that all our REST resources share.

Buildbot 4.3 answers 500, as if the master were at fault, when a path or a query is no UTF-8 or
names an empty field, and passes on numbers that no row can have. JSON-RPC answers a UsageError by
"invalid params".
"""

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from buildbot.data import base, types
from buildbot.data.exceptions import InvalidPathError, InvalidQueryParameter
from buildbot.data.resultspec import Filter
from buildbot.util import bytes2unicode
from buildbot.util.twisted import async_to_deferred
from buildbot.www.rest import JSONRPC_CODES, BadJsonRpc2, RestRootResource, V2RootResource
from twisted.web.http import SERVICE_UNAVAILABLE

from buildbot_bench.core.errors import BenchError, InfraError, NotYetError, UsageError
from buildbot_bench.core.json_model import MissingKeyError, UnreadableError, from_json
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.limits import LISTED_ROWS
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.plugin.buildbot_fixes import directories
from buildbot_bench.plugin.buildbot_fixes.directories import WithoutDirectories, hiding
from buildbot_bench.plugin.buildbot_fixes.threaded_answers import ThreadedRequest
from buildbot_bench.plugin.db.sql import MOST
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.farm import RETRY_AFTER
from buildbot_bench.plugin.farm.series import first_branch
from buildbot_bench.plugin.rest.access import CONTROL, require

Args = dict[str, Any]
Asked = TypeVar("Asked")
T = TypeVar("T")


def asked_for(kind: type[Asked], args: Args) -> Asked:
    """What a request's parameters say; raises UsageError for what is no such question.

    The priority `high` takes the role `bench`.
    """
    try:
        found = from_json(kind, args)
    except MissingKeyError as error:
        raise UsageError(f"the parameter {quoted(error.key)} is missing") from error
    except UnreadableError as error:
        said = f"{'be ' if error.wanted.startswith('lie') else ''}{quoted(error.value)}"
        raise UsageError(
            f"the parameter {quoted(error.key)} must {error.wanted}, not {said}", hint=error.hint
        ) from error
    if getattr(found, "priority", None) is PersonPriority.HIGH:
        require(args, CONTROL)
    return found


# What is told of a hostile parameter is quoted in it, and is no longer than a person reads.
_COLUMNS = 1000
# The same request succeeds later; until then the message says how far it is. Of the codes that
# JSON-RPC 2.0 leaves to servers.
NOT_YET = -32001


async def rpc_errors(work: Awaitable[T]) -> T:
    """A person's mistake and a site that is away are answers, not faults of the master."""
    try:
        return await work
    except UsageError as error:
        raise BadJsonRpc2(_line(error), JSONRPC_CODES["invalid_params"]) from error
    except NotYetError as error:
        raise BadJsonRpc2(_line(error), NOT_YET) from error
    except InfraError as error:
        raise BadJsonRpc2(_line(error), JSONRPC_CODES["internal_error"]) from error


def _line(error: BenchError) -> str:
    """The words of an error in one line that can be sent, no matter what it quotes."""
    return one_line(str(error), columns=_COLUMNS)


_VERSION = 2


class ReadableRoot(V2RootResource):
    """The second version of the interface, as Buildbot has it."""

    @async_to_deferred
    async def getEndpoint(self, request: Any, method: str, params: dict[str, Any]) -> Any:
        """As Buildbot finds it; what it tells names no directory."""
        if not _is_text(request.postpath):
            raise InvalidPathError("Invalid path: it is no UTF-8")
        found, kwargs = await super().getEndpoint(request, method, params)
        return WithoutDirectories(found, hiding(self.master)), kwargs

    @contextmanager
    def handleErrors(self, writeError: Any) -> Iterator[None]:
        """As Buildbot answers them; what succeeds later is no fault of the master."""

        def told(words: str | bytes, status: int, code: int) -> None:
            writeError(hiding(self.master)(bytes2unicode(words)), status, code)

        with super().handleErrors(told):
            try:
                yield
            except NotYetError as error:
                told(_line(error), SERVICE_UNAVAILABLE, NOT_YET)

    def _write_rest_error(self, request: Any, msg: str | bytes, errcode: int = 404) -> None:
        if errcode == SERVICE_UNAVAILABLE:
            request.setHeader(b"retry-after", RETRY_AFTER)
        super()._write_rest_error(request, hiding(self.master)(bytes2unicode(msg)), errcode)

    def decodeResultSpec(self, request: Any, endpoint: Any) -> Any:
        """As Buildbot reads it."""
        for name, values in request.args.items():
            if not _is_text([name, *values]):
                raise InvalidQueryParameter("the query is no UTF-8")
            if name in {b"order", b"field"} and b"" in values:
                raise InvalidQueryParameter(f"{name.decode()}= names no field")
        if not getattr(endpoint, "takes_branch", False):
            return super().decodeResultSpec(request, endpoint)
        args = {name: values for name, values in request.args.items() if name != b"branch"}
        spec = self.master.data.resultspec_from_jsonapi(
            args, endpoint.rtype.entityType, endpoint.kind == base.EndpointKind.COLLECTION
        )
        if b"branch" in request.args:
            spec.filters = [Filter("branch", "eq", [request.args[b"branch"][0].decode()])]
        return spec

    @async_to_deferred
    async def renderRest(self, request: Any) -> None:
        """As Buildbot answers, but see sending.py."""
        threaded = ThreadedRequest(request)
        await super().renderRest(threaded)
        threaded.send()


def install() -> None:
    """Have Buildbot serve this root; it takes it up when it sets up its web server."""
    RestRootResource.addApiVersion(_VERSION, ReadableRoot)
    directories.install()


def _is_text(parts: Iterable[bytes]) -> bool:
    try:
        b"/".join(parts).decode()
    except UnicodeDecodeError:
        return False
    return True


def register(master: Any, *kinds: type[base.ResourceType]) -> None:
    """Add to Buildbot's resources those of the modules of some kinds, unless they are there.

    Buildbot 4.3 has a fixed list of modules and no public way to add one; `_scanModule` is what
    it calls for each of them.
    """
    for kind in kinds:
        if master.data.getResourceType(kind.name) is None:
            master.data._scanModule(sys.modules[kind.__module__])  # noqa: SLF001


Kind = TypeVar("Kind", bound=type[base.ResourceType])


def filtered_by(**fields: types.Type) -> Callable[[Kind], Kind]:
    """Decorate a kind of resources with the fields by which Buildbot may filter and sort them."""

    def decorated(kind: Kind) -> Kind:
        kind.eventPathPatterns = []
        kind.entityType = type("EntityType", (types.Entity,), fields)(kind.name)
        return kind

    return decorated


class BenchEndpoint(base.Endpoint):
    """A resource of ours: `show` reads it, and `act` is what its actions do.

    One with `takes_branch` is of a branch: ?branch= names it, which Buildbot itself would allow
    for lists only. Nobody may ask for more than `most_rows`.
    """

    takes_branch = False
    most_rows = LISTED_ROWS

    @async_to_deferred
    async def get(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The resource; None, which Buildbot answers by 404, when there is nothing.

        A list has at most `most_rows`; its `meta` says how many there are in all.
        """
        refuse_nonsense(resultSpec, self.most_rows)
        if not _possible(kwargs):
            return None
        found = await self.show(resultSpec, kwargs)
        if self.kind is base.EndpointKind.COLLECTION and resultSpec.limit is None:
            resultSpec.limit = self.most_rows  # cut by Buildbot, after it has filtered and sorted
        return found

    @async_to_deferred
    async def control(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """Do what an action says."""
        if not _possible(kwargs):
            raise InvalidPathError("there is nothing of that number")
        return await rpc_errors(self.act(action, args, kwargs))

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The resource under a path; None for nothing."""
        raise NotImplementedError

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """Refuse the method, as Buildbot does; a resource that has some says so itself."""
        return await super().control(action, args, kwargs)


class ReadingEndpoint(BenchEndpoint):
    """An endpoint that gives what `read` makes of the farm and the parts of the path.

    Of a list it also gets how many rows are asked for, at most `listed` of the newest.
    """

    read: Callable[..., Awaitable[Any]]
    listed = 0

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What `read` gives; None for nothing."""
        most = [newest(resultSpec, self.listed)] if self.listed else []
        return await type(self).read(farm_of(self.master).as_of_now(), *kwargs.values(), *most)


def reading(
    path: str,
    what: str,
    read: Callable[..., Awaitable[Any]],
    *,
    is_list: bool = False,
    listed: int = 0,
) -> type[BenchEndpoint]:
    """An endpoint that only reads; `what` describes it."""
    kind = base.EndpointKind.COLLECTION if is_list or listed else base.EndpointKind.SINGLE
    parts = {"__doc__": what, "kind": kind, "pathPatterns": [path], "listed": listed}
    return type("ViewEndpoint", (ReadingEndpoint,), parts | {"read": read})


def refuse_nonsense(spec: Any, most_rows: int) -> None:
    """Refuse a query that means nothing."""
    for name in ("limit", "offset"):
        number = getattr(spec, name)
        if number is not None and number < 0:
            raise InvalidQueryParameter(f"{name}={number}: it must be 0 or more")
    if spec.limit is not None and spec.limit > most_rows:
        asked = one_line(str(spec.limit), columns=40)
        raise InvalidQueryParameter(
            f"limit={asked}: it must be at most {most_rows}; offset= shows the others"
        )
    for one in spec.filters:
        if one.op == "contains" and not all(isinstance(value, str) for value in one.values):
            raise InvalidQueryParameter(f"{one.field}__contains: a number contains nothing")


def newest(spec: Any, most: int) -> int:
    """How many of a list's newest rows a request is answered from, at most so many.

    What sorts or filters them looks at all; else those behind the last one that is shown are idle.
    """
    if spec.filters or spec.order or spec.limit is None:
        return most
    return min(int(spec.limit) + int(spec.offset or 0), most)


async def branch_asked(farm: Farm, spec: Any) -> str:
    """The branch that ?branch= names; the first of the farm's, when it names none."""
    named = spec.popOneFilter("branch", "eq")
    return await first_branch(farm) if named is None else str(named)


def _possible(kwargs: Mapping[str, Any]) -> bool:
    """Whether the tables can have the numbers of a path."""
    numbers = (value for value in kwargs.values() if isinstance(value, int))
    return all(0 <= number <= MOST for number in numbers)
