"""The page of the REST resources, from the classes that answer them."""

import inspect
import re
from collections.abc import Iterator

from buildbot.data.base import ResourceType

from buildbot_bench.plugin.rest import searches, views
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint
from manual.reference.myst import code, plain

_MODULES = (searches, views)
# Buildbot writes a number in a path as n:NAME and a text as s:NAME.
_PLACE = re.compile(r"[a-z]:(\w+)")


def rest_text() -> str:
    """A section for each resource, in the order of their paths."""
    found = {
        path: one
        for module in _MODULES
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, ResourceType)
        for one in kind.endpoints
        for path in one.pathPatterns
    }
    return "\n\n".join(part for path in sorted(found) for part in _resource(path, found[path]))


def _resource(path: str, one: type[BenchEndpoint]) -> Iterator[str]:
    place = _PLACE.sub(lambda found: found[1].upper(), path)
    yield f"## {code('/api/v2' + place)}"
    yield plain(inspect.getdoc(one) or "")
    told = vars(one).get("show")
    if told is not None and told.__doc__:
        yield f"`GET`: {plain(told.__doc__)}"
    acts = vars(one).get("act")
    if acts is not None and acts.__doc__:
        yield f"`POST`, as JSON-RPC: {plain(acts.__doc__.split('Raises:')[0])}"
    if one.takes_branch:
        yield "It takes `?branch=NAME`."
