"""The interface of faults, which strike a farm at once or for a while."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.demand import Demand
from tests.chaos.farm import ChaosFarm


@dataclass(frozen=True, kw_only=True)
class Target:
    """A farm and those who ask it, for a fault to strike."""

    farm: ChaosFarm
    demand: Demand


@dataclass(frozen=True, kw_only=True)
class Struck:
    """What a fault did: it lasts so long, then `undo` takes it back."""

    what: str
    lasts_s: float = 0.0
    undo: Callable[[], object] | None = None


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind. `strike` gives None where there was nothing to hit; `weight`: how often it comes.

    `kills`: it ends processes or connections at once. `missing` says why it cannot be done here.
    """

    name: str
    weight: float
    strike: Callable[[Target, random.Random], Struck | None]
    kills: bool = False
    missing: Callable[[ChaosFarm], str] = lambda _farm: ""


def no_server(farm: ChaosFarm) -> str:
    """Why no database server can be struck here; nothing where there is one."""
    is_sqlite = farm.database.dialect.name == "sqlite"
    return "SQLite has no server that could hang up or be away" if is_sqlite else ""
