"""The options that all commands of a farm share, and their values."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from buildbot_bench.cli.requests import Request
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.version import ShowVersion

DEFAULT_FARM = "http://localhost:8010"
NO_FARM = "start it with `bench-farm run` or name it with --farm URL"
"""What to do where no farm answers."""
_NO_FARM_HERE = (
    "add --local, and --run COMMAND, to measure the git repository here on this machine; "
    "or name a farm with --farm URL"
)

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


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

    `form` is text, markdown, csv or json; `output` a directory for the result, or None.
    """

    request: Request
    form: str
    farm: FarmAccess
    output: Path | None = None


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are usage errors like any other."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does, of arguments that are text: Python hands over what is none, too."""
        given = sys.argv[1:] if args is None else args
        for place, argument in enumerate(given, start=1):
            try:
                argument.encode()
            except UnicodeEncodeError:
                shown = argument.encode("utf-8", "replace").decode()[:80]
                self.error(f"argument {place}, {quoted(shown)}, is not UTF-8")
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Complain of the command line, and do not end the program."""
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def add_csv(forms: argparse._MutuallyExclusiveGroup) -> None:
    """Add the option of a comparison's values as a table for other programs."""
    forms.add_argument("--csv", action="store_true", help="its values, one a line")


def form_of(given: argparse.Namespace) -> str:
    """Return the form of the answer: json, csv, markdown, or text where none was asked for."""
    named = (form for form in ("json", "csv", "markdown") if getattr(given, form, False))
    return next(named, "text")


def command_parser(name: str, *, usage: str, description: str, epilog: str) -> Parser:
    """The parser of a command: its texts are shown as they are, and no option is abbreviated."""
    return Parser(
        prog=name,
        usage=usage,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def is_local(argv: Sequence[str], parser: argparse.ArgumentParser) -> bool:
    """Whether a command line asks for no farm; `parser` is the one that asks a farm.

    `--local` behind an option of it that takes a value, or behind `--`, is not that option.
    """
    valued = {
        flag
        for action in parser._actions  # noqa: SLF001 - argparse tells it in no other way
        if action.nargs != 0
        for flag in action.option_strings
    }
    before = ""
    for word in argv:
        if word == "--":
            return False
        if word == "--local" and before not in valued:
            return True
        before = word
    return False


def refuse_local_options(
    argv: Sequence[str], parser: argparse.ArgumentParser, local: argparse.ArgumentParser
) -> None:
    """Refuse, on a command line without `--local`, an option that only `local` has."""
    only = {*local._option_string_actions} - {*parser._option_string_actions}  # noqa: SLF001
    for word in argv:
        if word == "--":
            return
        if (option := word.partition("=")[0]) in only:
            whole = shlex.join([parser.prog, "--local", *argv])
            raise UsageError(f"{option} goes with --local", hint=f"add --local: `{whole}`")


def begin_with_local(
    parser: argparse.ArgumentParser, local: argparse.ArgumentParser, *, usual: Sequence[str]
) -> None:
    """Begin a parser's help with the usual options of its command with `--local`."""
    title = f"in the git repository here (all options: {local.prog} --help)"
    group = parser.add_argument_group(title)
    options = local._option_string_actions  # noqa: SLF001 - argparse has no other way
    group._group_actions.extend(options[option] for option in usual)  # noqa: SLF001
    groups = parser._action_groups  # noqa: SLF001
    groups.insert(0, groups.pop())


def add_version(parser: argparse.ArgumentParser) -> None:
    """What release of this package it is."""
    parser.add_argument("--version", action=ShowVersion)


def add_repository(group: argparse._ArgumentGroup) -> None:
    """Add --repository, for a farm that watches several."""
    group.add_argument(
        "--repository",
        metavar="NAME",
        help="whose revisions are meant (default: the farm's first); ports:main says it, too",
    )


def in_repository(repository: str | None, revision: str) -> str:
    """A revision as the farm is asked for it."""
    return revision if repository is None else f"{repository}:{revision}"


def add_min_effect(group: argparse._ArgumentGroup) -> None:
    """From which change on it matters."""
    group.add_argument(
        "--min-effect",
        metavar="E",
        type=fraction,
        help="smallest change that matters, as 2%% or 0.02 (default: the farm's)",
    )


def add_priority(group: argparse._ArgumentGroup) -> None:
    """What share of a testbed it gets that others want, too."""
    group.add_argument(
        "--priority",
        choices=[str(one) for one in PersonPriority],
        help="its share of a testbed that others also use (normal); high needs the role bench",
    )


def add_no_wait(group: argparse._ArgumentGroup, what: str) -> None:
    """Start a search or a comparison, and leave it to the farm."""
    group.add_argument(
        "--no-wait", action="store_true", help=f"print the {what}'s number and do not wait for it"
    )


def add_follow_and_cancel(group: argparse._ActionsContainer, what: str, command: str) -> None:
    """Come back to a search or a comparison that the farm has, or end it."""
    number = known_number(what, command)
    group.add_argument("--follow", metavar="ID", type=number, help=f"come back to a {what}")
    group.add_argument("--cancel", metavar="ID", type=number, help="end it without an answer")


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


def farm_access(
    options: argparse.Namespace, environ: Mapping[str, str], *, starts: bool
) -> FarmAccess:
    """What `add_farm_options` and the environment say; raises UsageError for what is no farm.

    `starts` is whether something new is asked for, which might be meant for this repository.
    """
    named = options.farm or environ.get("BENCH_FARM")
    may_be_local = starts and not named and _is_in_repository(Path.cwd())
    return FarmAccess(
        absent=_NO_FARM_HERE if may_be_local else NO_FARM,
        url=farm_url(named or DEFAULT_FARM),
        argument=f" --farm {options.farm}" if options.farm else "",
        user=options.user or environ.get("BENCH_USER") or None,
        password_file=options.password_file or environ.get("BENCH_PASSWORD_FILE") or None,
        patience_s=options.patience,
        poll_s=options.poll,
    )


def _is_in_repository(directory: Path) -> bool:
    return any((place / ".git").exists() for place in (directory, *directory.parents))


def refuse_beside_known(
    options: argparse.Namespace, shown: Mapping[str, str], *, ends: str
) -> None:
    """Refuse an option of a new search or comparison beside --follow and its like.

    It would be passed over. `shown` has the options by the names of their values, `ends` is what
    they go with.
    """
    for name, option in shown.items():
        if getattr(options, name):
            raise UsageError(f"{option} goes with {ends} only")


def two_of(given: Sequence[str], *, sort: str, what: str, example: str) -> tuple[str, str]:
    """The two ends or variants that a command takes."""
    if len(given) != 2:
        raise UsageError(
            f"a {what} takes two {sort}, {len(given)} given", hint=f"as in `{example}`"
        )
    return given[0], given[1]


def known_number(what: str, command: str) -> Callable[[str], int]:
    """Reads the number of a search or a comparison, from 1 on; the complaint names the command."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
            raise argparse.ArgumentTypeError(
                f"{quoted(text)} is no {what}; `{command} --list` shows them"
            )
        return int(text)

    return read


def farm_url(text: str) -> str:
    """A farm's URL."""
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{quoted(text)} is no farm's URL", hint=f"write it as {DEFAULT_FARM}")
    if parts.username is not None:
        raise UsageError(
            "the farm's URL holds a user", hint="name it with --user and --password-file"
        )
    return text


def fraction(text: str) -> float:
    """`2%` or `0.02`."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no share; write 2% or 0.02")
    return value


def duration_s(text: str) -> float:
    """`90s`, `15m` or `2h`, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no time; write 90s, 15m or 2h")
    return float(match[1]) * _SECONDS[match[2]]
