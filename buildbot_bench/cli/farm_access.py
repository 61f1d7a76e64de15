"""The farm that a command line or the environment names, with the user and password for it."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from buildbot_bench.api.requests import (
    ComparisonQuestion,
    Extension,
    MarkAsked,
    ReleaseAsked,
    SearchQuestion,
)
from buildbot_bench.cli.option_values import DEFAULT_FARM, farm_url
from buildbot_bench.core.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """A user of the farm; the password does not show in a repr."""

    user: str
    password: str = field(repr=False)


def read_credentials(user: str | None, password_file: str | None) -> Credentials | None:
    """The password is the file's first line; None when neither is given: the farm may be open."""
    if user is None and password_file is None:
        return None
    if user is None or password_file is None:
        raise UsageError("a login takes both --user and --password-file (or their variables)")
    try:
        lines = Path(password_file).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"cannot read the password in {password_file}: {reason}") from error
    if not lines or not lines[0]:
        raise UsageError(f"the first line of {password_file} is empty; it should be the password")
    return Credentials(user=user, password=lines[0])


def kept_login(url: str) -> Credentials | None:
    """The login that is kept for a farm; None when there is none, or more than one."""
    try:
        files = [path for path in _keep(url).iterdir() if path.is_file()]
    except OSError:
        return None
    return read_credentials(files[0].name, str(files[0])) if len(files) == 1 else None


def keep_login(url: str, credentials: Credentials) -> Path:
    """Keep a farm's login where only its owner reads it; returns the file."""
    directory = _keep(url)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / credentials.user
    path.touch(mode=0o600)
    path.write_text(credentials.password + "\n", encoding="utf-8")
    return path


def _keep(url: str) -> Path:
    parts = urlsplit(url)
    config = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(config, "buildbot-bench", f"{parts.hostname}_{parts.port or parts.scheme}")


NO_FARM = "start it with `bench-farm run` or name it with --farm URL"
"""What to do where no farm answers."""
_NO_FARM_HERE = (
    "add --local, and --run COMMAND, to measure the git repository here on this machine; "
    "or name a farm with --farm URL"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmAccess:
    """Which farm is asked, by whom, and how patiently it is followed.

    `argument` is how to name the same farm again: empty when it need not be named. `absent` is
    what to do where none answers.
    """

    url: str
    argument: str
    user: str | None
    password_file: str | None
    patience_s: float
    poll_s: float
    absent: str = NO_FARM


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmCommand:
    """What is asked of which farm, and in which form to answer.

    `action` is done to the search or comparison of a `number`, or to a `testbed`, and `said` goes
    with it. What begins is followed if `wait`; nothing does if `dry_run`. `form` is text, markdown,
    csv or json; `output` a directory for the result, or None.
    """

    action: str
    number: int = 0
    testbed: str = ""
    said: SearchQuestion | ComparisonQuestion | Extension | MarkAsked | ReleaseAsked | None = None
    dry_run: bool = False
    wait: bool = True
    form: str
    farm: FarmAccess
    output: Path | None = None


def action_of(options: argparse.Namespace, *actions: str) -> str:
    """Which of some options that name a search, comparison or testbed is there: else `start`."""
    return next((one for one in actions if getattr(options, one) not in {None, False}), "start")


def farm_access(options: argparse.Namespace, environ: Mapping[str, str], action: str) -> FarmAccess:
    """What options and the environment say of the farm; what is to `start` may be meant here."""
    named = options.farm or environ.get("BENCH_FARM")
    here = Path.cwd()
    is_repository = any((place / ".git").exists() for place in (here, *here.parents))
    may_be_local = action == "start" and not named and is_repository
    return FarmAccess(
        absent=_NO_FARM_HERE if may_be_local else NO_FARM,
        url=farm_url(named or DEFAULT_FARM),
        argument=f" --farm {options.farm}" if options.farm else "",
        user=options.user or environ.get("BENCH_USER") or None,
        password_file=options.password_file or environ.get("BENCH_PASSWORD_FILE") or None,
        patience_s=options.patience,
        poll_s=options.poll,
    )


def in_repository(repository: str | None, revision: str) -> str:
    """A revision as the farm is asked for it."""
    return revision if repository is None else f"{repository}:{revision}"
