"""The columns of the bench_* tables, derived from the fields of rows, and the states in them.

A row is a frozen dataclass: `table` makes its table, `table_of` gives it. The MetaData is our own,
since Buildbot compares its own with the database. No foreign key leads to Buildbot's tables:
measurements outlive the builds that took them. The types of columns read alike on SQLite and
PostgreSQL.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from enum import IntEnum, StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy.sql.schema import SchemaItem

from buildbot_bench.api.answers import ProbeState, SearchState
from buildbot_bench.core.json_model import from_json
from buildbot_bench.core.revision import SHA_LENGTH

STATE_LENGTH = 24
DIGEST_LENGTH = 64

METADATA = sa.MetaData(
    naming_convention={
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fk",
    }
)


class HostileText(sa.TypeDecorator[str]):
    """Text from outside: commit messages, log lines.

    PostgreSQL refuses NUL and neither database takes a lone surrogate; both become U+FFFD, so
    that no commit message can stop a commit from being recorded.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Replace what a database would refuse."""
        del dialect
        if value is None:
            return None
        return (
            value.replace("\0", "\ufffd")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
        )


class JsonText(sa.TypeDecorator[Any]):
    """A JSON value kept as text: nothing is asked of it in SQL.

    Of a `kind` it is a frozen dataclass.
    """

    impl = sa.Text
    cache_ok = True

    def __init__(self, kind: type | None = None) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Write None as NULL; json raises ValueError for NaN and infinities."""
        del dialect
        if value is None:
            return None
        return json.dumps(value if self.kind is None else asdict(value), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Read what was written."""
        del dialect
        if value is None:
            return None
        stored = json.loads(value)
        return stored if self.kind is None else from_json(self.kind, stored)


def choice(kind: type[StrEnum]) -> sa.Enum:
    """One of an enumeration's values, kept as text and checked before it is written.

    There is no CHECK constraint: a new state would mean a rebuilt table on SQLite.
    """
    return sa.Enum(
        kind,
        native_enum=False,
        create_constraint=False,
        length=STATE_LENGTH,
        validate_strings=True,
        values_callable=lambda members: [member.value for member in members],
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What the Python type of a field does not say of its column.

    `refers` is the table whose id it is. An insert that leaves the column out gets `default`.
    """

    type: sa.types.TypeEngine[Any] | None = None
    refers: str = ""
    default: Any = None


Sha = Annotated[str, Kept(type=sa.String(SHA_LENGTH))]
Digest = Annotated[str, Kept(type=sa.String(DIGEST_LENGTH))]
Word = Annotated[str, Kept(type=sa.String(STATE_LENGTH))]
Large = Annotated[int, Kept(type=sa.BigInteger())]
Count = Annotated[int, Kept(default=0)]
Flag = Annotated[bool, Kept(default=False)]
ImageId = Annotated[int, Kept(refers="bench_image")]
IterationId = Annotated[int, Kept(refers="bench_iteration")]
ProbeId = Annotated[int, Kept(refers="bench_probe")]
JudgementId = Annotated[int, Kept(refers="bench_judgement")]
SearchId = Annotated[int, Kept(refers="bench_search")]
AbTestId = Annotated[int, Kept(refers="bench_ab_test")]
ValueNamesId = Annotated[int, Kept(refers="bench_value_names")]

_TYPES: dict[Any, type[sa.types.TypeEngine[Any]]] = {
    bool: sa.Boolean,
    bytes: sa.LargeBinary,
    float: sa.Double,
    int: sa.Integer,
    str: HostileText,
}
_tables: dict[type, sa.Table] = {}


def table(
    name: str,
    row: type,
    *keys: SchemaItem,
    given: Collection[str] = (),
    apart: Collection[str] = (),
) -> sa.Table:
    """Make the table of a row, with these keys and indexes.

    A field's default is that of its column, unless every insert has it `given`. Fields kept
    `apart`, in another table, have no column.
    """
    columns = [one for one in _columns(row, given) if one.name not in apart]
    columns.sort(key=lambda one: not one.primary_key)
    made = _tables[row] = sa.Table(name, METADATA, *columns, *keys)
    return made


def table_of(row: type) -> sa.Table:
    """Return the table whose columns are the fields of a row."""
    return _tables[row]


def _columns(row: type, given: Collection[str]) -> Iterator[sa.Column[Any]]:
    hints = get_type_hints(row, include_extras=True)
    for field in fields(row):
        default = None if field.default is MISSING or field.name in given else field.default
        yield _column(field.name, hints[field.name], default)


def _column(name: str, hint: Any, default: Any) -> sa.Column[Any]:
    members = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    is_nullable = NoneType in members or hint is Any
    kind = next(one for one in members if one is not NoneType)
    kept = Kept()
    if get_origin(kind) is Annotated:
        kind, kept = get_args(kind)
    return sa.Column(
        name,
        kept.type or _type_of(kind),
        *([sa.ForeignKey(f"{kept.refers}.id")] if kept.refers else ()),
        primary_key=name == "id",
        nullable=is_nullable,
        default=kept.default,
        server_default=_clause(default),
    )


def _type_of(kind: Any) -> sa.types.TypeEngine[Any]:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return JsonText(kind)
    return _TYPES.get(kind, JsonText)()


def _clause(default: Any) -> Any:
    if isinstance(default, bool):
        return sa.true() if default else sa.false()
    return None if default is None else str(default)


class ImageState(StrEnum):
    """`untestable` says something of the revision, `failed` only of the machines that build.

    `dropped`: was to be built ahead, and gave way to what is waited for; or was built, and its
    artefact is there no longer. It is built when it is asked for. `held`: has a patch without
    approval, and is not built.
    """

    HELD = "held"
    WANTED = "wanted"
    BUILDING = "building"
    BUILT = "built"
    UNTESTABLE = "untestable"
    FAILED = "failed"
    DROPPED = "dropped"


class Priority(IntEnum):
    """Of what one claimant wants the highest goes first, and the oldest of equals.

    Buildbot's requests have it, too: builders start the highest first. A testbed is shared out
    before that, by core.sharing.
    """

    PERSON = 30
    CONTROL = 25  # three boots a day; a search on a testbed out of control is in vain
    SEARCH = 20
    CONFIRM = 15
    COMMIT = 10
    AHEAD = 5
    SPARE = 2
    BACKFILL = 0
    IMPROVEMENT = -1  # its search waits for a lab that idles


class ProbeReason(StrEnum):
    """Who asked for the iterations."""

    COMMIT = "commit"
    BACKFILL = "backfill"
    CONFIRM = "confirm"
    SEARCH = "search"
    PERSON = "person"
    CONTROL = "control"
    SCHEDULE = "schedule"
    WORKLOAD = "workload"  # whether the workload works

    @property
    def priority(self) -> Priority:
        """What they usually have."""
        match self:
            case ProbeReason.WORKLOAD:
                return Priority.CONTROL
            case ProbeReason.SCHEDULE:
                return Priority.COMMIT
        return Priority[self.name]


class JudgementState(StrEnum):
    """What Student's t and the policy made of two samples."""

    NOTHING = "nothing"
    SUSPICION = "suspicion"
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNFIT = "unfit"


class SearchReason(StrEnum):
    """Who started the search."""

    ALARM = "alarm"
    PERSON = "person"


class SearchKind(StrEnum):
    """What a search looks for: a change of level, or what stopped building or booting."""

    EFFECT = "effect"
    BUILD = "build"
    BOOT = "boot"


class ReportState(StrEnum):
    """`refused`: the server will never take it; `given-up`: not before the master starts again.

    `withheld`: an improvement that waits for the digest; `digested`: another report carries it.
    """

    NEW = "new"
    SENDING = "sending"
    SENT = "sent"
    REFUSED = "refused"
    GIVEN_UP = "given-up"
    WITHHELD = "withheld"
    DIGESTED = "digested"


class MarkKind(StrEnum):
    """What a person says of a report or a verdict; `again` asks for fresh boots instead.

    `withdrawn` takes back what was said before: nothing counts as said.
    """

    EXPECTED = "expected"
    NOISE = "noise"
    FIXED = "fixed"
    AGAIN = "again"
    WITHDRAWN = "withdrawn"


class ProfileState(StrEnum):
    """A request for one capture of where a kernel's cycles go; `failed`: there will be none."""

    NEW = "new"
    ISSUED = "issued"
    DONE = "done"
    FAILED = "failed"


ALARMS = (JudgementState.REGRESSION, JudgementState.IMPROVEMENT)
UNBUILT = (ImageState.WANTED, ImageState.BUILDING)
UNSENT = frozenset({ReportState.NEW, ReportState.SENDING})
# Searches that the broker still works on, and those that found something.
OPEN_SEARCHES = frozenset({SearchState.RUNNING, SearchState.CANCELLING})
FRUITFUL_SEARCHES = frozenset({SearchState.FOUND, SearchState.SLOPE})
# Requests that may still bring something.
OPEN_PROBES = frozenset({ProbeState.NEW, ProbeState.ISSUED})
OPEN_PROFILES = frozenset({ProfileState.NEW, ProfileState.ISSUED})
