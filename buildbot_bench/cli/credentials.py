"""The user and password for a farm, from a file or from the stored login.

A farm's login may be kept in `buildbot-bench/<host>_<port>/<user>` under $XDG_CONFIG_HOME or
~/.config, where `make farm` puts that of the farm it starts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

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
