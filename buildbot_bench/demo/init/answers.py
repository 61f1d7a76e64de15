"""The description of a farm to be, as its operator gives it, with checks."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.installed import DRIVERS, registered

MOST_MASTERS = 8
HERE = ("localhost", "127.0.0.1", "::1")
FREEBSD = "https://git.FreeBSD.org/src.git"
# Paths stand in shell scripts, units and Twisted's endpoints, each with quoting of its own.
_PLAIN_PATH = re.compile(r"[\w/.+@-]+", re.ASCII)
_PLAIN_VALUE = re.compile(r"[\w/.+@:?=&%,\[\]~-]+", re.ASCII)
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class LabKind:
    """A sort of lab: its driver, what it measures when nobody says what, its testbed.

    `builds_freebsd` is whether its builder makes FreeBSD kernels; `min_effect` what its testbeds
    can tell.
    """

    driver: str
    testbed: str
    repository: str | None = None
    min_effect: str = "2%"
    builds_freebsd: bool = False


LABS = {
    "embedded": LabKind(driver="embedded", testbed="embedded", min_effect="5%"),
    "qemu": LabKind(
        driver="qemu", testbed="freebsd-exact", repository=FREEBSD, builds_freebsd=True
    ),
    "ssh": LabKind(driver="ssh", testbed="apu2", repository=FREEBSD, builds_freebsd=True),
    "box": LabKind(
        driver="ssh", testbed="box", repository=FREEBSD, min_effect="10%", builds_freebsd=True
    ),
    "command": LabKind(driver="command", testbed="runner"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Master:
    """One master: its directory's name, its pages' URL, and where workers find it."""

    name: str
    host: str
    www_port: int
    pb_port: int
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MailAnswers:
    """Who is mailed, and through which server; `password_file` holds the password of `user`."""

    to: tuple[str, ...]
    sender: str
    host: str
    port: int
    user: str | None
    password_file: Path | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedRepository:
    """A repository, and what bench.yml calls it; empty where it is alone and has no name."""

    name: str
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmAnswers:
    """A farm to be. `database` is SQLAlchemy's; without `repositories` one is made."""

    directory: Path
    name: str
    repositories: tuple[NamedRepository, ...]
    branches: tuple[str, ...]
    lab: str
    database: str
    mail: MailAnswers | None
    masters: tuple[Master, ...]
    listen: str
    router: str | None
    tls: bool
    user: str
    units: str

    @property
    def kind(self) -> LabKind:
        """What sort of lab it has."""
        return LABS[self.lab]

    @property
    def testbeds(self) -> str:
        """Where the lab's testbeds stand, in its directory; a box has its own list."""
        return "box/testbeds.toml" if self.lab == "box" else "testbeds.toml"

    @property
    def slug(self) -> str:
        """The farm's part of the names of its units: that of its directory."""
        return re.sub(r"[^\w-]", "-", self.directory.name, flags=re.ASCII)


def check(answers: FarmAnswers) -> None:
    """Refuse what cannot be a farm."""
    if not _PLAIN_PATH.fullmatch(str(answers.directory)):
        raise UsageError(
            f"the path {quoted(str(answers.directory))} has a character that units cannot take",
            hint="use letters, digits and any of / . _ + @ -",
        )
    if not _USER.fullmatch(answers.user):
        raise UsageError(f"--user: {quoted(answers.user)} is no user's name")
    if answers.kind.driver not in registered(DRIVERS):
        raise UsageError(
            f"--lab {answers.lab}: nothing installed brings the driver"
            f" {quoted(answers.kind.driver)}",
            hint="install a later release",
        )
    for option, value in (
        *(("--url", master.url) for master in answers.masters),
        *(("--host", master.host) for master in answers.masters),
        ("--listen", answers.listen),
        ("--router", answers.router or "-"),
        ("--database", answers.database),
    ):
        if not _PLAIN_VALUE.fullmatch(value):
            raise UsageError(f"{option}: {quoted(value)} has a character that none of these has")
    if len(answers.masters) > 1 and not answers.database.startswith("postgresql"):
        raise UsageError(
            f"--masters {len(answers.masters)}: several masters share a PostgreSQL database",
            hint="say --database postgresql://bench@db.example.org/bench",
        )
    if answers.router and not _is_router(answers.router):
        raise UsageError(
            f"--router: {quoted(answers.router)} is no WAMP router's URL",
            hint="as ws://10.0.0.1:8080",
        )
    if any(master.host not in HERE for master in answers.masters) and not answers.tls:
        raise UsageError("--host: workers of other machines connect by TLS alone", hint="say --tls")


def _is_router(text: str) -> bool:
    try:
        place = urlsplit(text)
        return place.scheme in {"ws", "wss"} and bool(place.hostname) and place.port != 0
    except ValueError:  # of the port
        return False


def database_url(text: str) -> str:
    """SQLAlchemy's URL of a database: `sqlite`, or that of a PostgreSQL server."""
    if text == "sqlite":
        return "sqlite:///state.sqlite"
    import sqlalchemy as sa  # noqa: PLC0415 - not for --help

    try:
        url = sa.make_url(text)
    except sa.exc.ArgumentError:
        url = None
    if url is None or url.get_backend_name() != "postgresql" or not url.database:
        raise UsageError(
            "--database names neither sqlite nor a PostgreSQL database",
            hint="as in postgresql://bench@db.example.org/bench",
        )
    if url.password is not None:
        raise UsageError(
            "--database has a password, and others can read a command line",
            hint="leave it out, and put it into ~/.pgpass of the farm's user",
        )
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
