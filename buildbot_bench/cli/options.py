"""Options as rows of a table, and the parsers that are made of them."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.installed import ShowVersion


@dataclass(frozen=True, slots=True)
class Option:
    """An option as --help shows it: its flags, and behind them the name of its value if it has one.

    `read` makes a value of a text. What is `many` may be given several times. Of `rivals` of one
    name a command line has one at most. `scope` is what it goes with, where it does not always.
    One that is said `once` is not in a command that repeats what was done.
    """

    written: str
    help: str
    read: Callable[[str], Any] | None = None
    default: Any = None
    dest: str = ""
    choices: Sequence[str] | None = None
    many: bool = False
    rivals: str = ""
    scope: str = ""
    once: bool = False

    @property
    def flags(self) -> list[str]:
        """How it may be written."""
        return [word for word in self.written.split() if word.startswith("-")]

    @property
    def name(self) -> str:
        """What complaints call it."""
        return self.flags[-1]

    @property
    def has_value(self) -> bool:
        """Whether a value follows it."""
        return self.choices is not None or not self.written.endswith(self.name)

    @property
    def place(self) -> str:
        """The name of its value among those that were parsed."""
        return self.dest or self.name.lstrip("-").replace("-", "_")

    def add_to(self, group: argparse._ActionsContainer) -> None:
        """Add the option to a parser or a group of one."""
        told: dict[str, Any] = {"help": self.help, "dest": self.place}
        if not self.has_value:
            group.add_argument(*self.flags, **told, action="store_true")
            return
        if self.many:
            told |= {"action": "append", "default": []}
        else:
            told |= {"default": self.default, "type": self.read, "choices": self.choices}
        metavar = None if self.choices else self.written.split()[-1]
        group.add_argument(*self.flags, **told, metavar=metavar)


Sections = Mapping[str, Sequence[Option]]
"""Options by the title below which --help shows them; those without a title come first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLine:
    """What a command takes: the names `called` by people, kept as `operands`, and options."""

    name: str
    usage: str
    description: str
    epilog: str
    operands: str
    called: str
    operands_help: str
    sections: Sections

    def options(self) -> Iterator[Option]:
        """All of its options."""
        return (option for section in self.sections.values() for option in section)

    def parser(self) -> Parser:
        """What reads it: its texts are shown as they are, and no option is abbreviated."""
        parser = Parser(
            prog=self.name,
            usage=self.usage,
            description=self.description,
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument(self.operands, nargs="*", metavar=self.called, help=self.operands_help)
        parser.add_argument("--version", action=ShowVersion)
        for title, section in self.sections.items():
            group = parser.add_argument_group(title) if title else parser
            rivals: dict[str, argparse._ActionsContainer] = {"": group}
            for option in section:
                if option.rivals not in rivals:
                    rivals[option.rivals] = group.add_mutually_exclusive_group()
                option.add_to(rivals[option.rivals])
        return parser

    def refuse(self, given: argparse.Namespace, scope: str, why: str, *, hint: str = "") -> None:
        """Raise UsageError for an option of a scope that was given: it would be passed over."""
        for option in self.options():
            if option.scope == scope and getattr(given, option.place):
                raise UsageError(f"{option.name} {why}", hint=hint)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoWays:
    """The command line for a farm, and the one with `--local`, whose `usual` options it tells."""

    farm: CommandLine
    local: CommandLine
    usual: Sequence[str]

    def parser(self) -> Parser:
        """What reads the line for a farm; its help begins with what needs none."""
        parser, local = self.farm.parser(), self.local.parser()
        title = f"in the git repository here (all options: {local.prog} --help)"
        group = parser.add_argument_group(title)
        known = local._option_string_actions  # noqa: SLF001 - argparse has no other way
        group._group_actions.extend(known[option] for option in self.usual)  # noqa: SLF001
        groups = parser._action_groups  # noqa: SLF001
        groups.insert(0, groups.pop())
        return parser

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Read the line for a farm; SystemExit(0) after --help and --version."""
        only = _flags(self.local.options()) - _flags(self.farm.options())
        for word in argv[: list(argv).index("--")] if "--" in argv else argv:
            if (option := word.partition("=")[0]) in only:
                whole = shlex.join([self.farm.name, "--local", *argv])
                raise UsageError(f"{option} goes with --local", hint=f"add --local: `{whole}`")
        return self.parser().parse_args(argv)

    def is_local(self, argv: Sequence[str]) -> bool:
        """Whether a command line asks for no farm: `--local` is there, and no value of another."""
        valued = _flags(option for option in self.farm.options() if option.has_value)
        before = ""
        for word in argv:
            if word == "--":
                return False
            if word == "--local" and before not in valued:
                return True
            before = word
        return False


def _flags(options: Iterable[Option]) -> set[str]:
    return {flag for option in options for flag in option.flags}


def form_of(given: argparse.Namespace) -> str:
    """Return the form of the answer: json, csv, markdown, or text where none was asked for."""
    named = (form for form in ("json", "csv", "markdown") if getattr(given, form, False))
    return next(named, "text")
