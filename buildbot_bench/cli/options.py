"""The options that the commands of a farm share, and how their values are read; it asks nobody."""

from __future__ import annotations

import argparse
import re
from importlib.metadata import version
from typing import NoReturn
from urllib.parse import urlsplit

from buildbot_bench.core.errors import UsageError

DEFAULT_FARM = "http://localhost:8010"

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are usage errors like any other."""

    def error(self, message: str) -> NoReturn:
        """Complain of the command line, and do not end the program.

        Raises:
            UsageError: Always.
        """
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def release() -> str:
    """The release of this package."""
    return version("buildbot-bench")


def add_farm_options(parser: argparse.ArgumentParser) -> None:
    """Which farm, who asks, and how patiently."""
    group = parser.add_argument_group("the farm")
    group.add_argument("--farm", metavar="URL", help=f"$BENCH_FARM, else {DEFAULT_FARM}")
    group.add_argument(
        "--user",
        metavar="U",
        help="who asks (default: $BENCH_USER, or the login kept for the farm)",
    )
    group.add_argument(
        "--password-file", metavar="F", help="its first line (default: $BENCH_PASSWORD_FILE)"
    )
    group.add_argument(
        "--patience",
        metavar="TIME",
        type=duration_s,
        default=900.0,
        help="how long a followed farm may be away, as 90s, 15m, 2h (default: 15m)",
    )
    group.add_argument("--poll", type=duration_s, default=1.0, help=argparse.SUPPRESS)


def farm_url(text: str) -> str:
    """A farm's URL.

    Raises:
        UsageError: For what is none.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{text!r} is no farm's URL", hint=f"write it as {DEFAULT_FARM}")
    if parts.username is not None:
        raise UsageError(
            "the farm's URL holds a user", hint="name it with --user and --password-file"
        )
    return text


def fraction(text: str) -> float:
    """`2%` or `0.02`.

    Raises:
        ArgumentTypeError: For what is neither.
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; write 2% or 0.02")
    return value


def duration_s(text: str) -> float:
    """`90s`, `15m` or `2h`, in seconds.

    Raises:
        ArgumentTypeError: For what is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s, 15m or 2h")
    return float(match[1]) * _SECONDS[match[2]]
