"""The parsers of the project's commands; nothing is parsed by them here."""

import argparse
import re
from importlib import import_module

from buildbot_bench.cli import bisect, comment, compare, judge
from buildbot_bench.cli.ministat import USAGE

# The module of each command in which a function `_parser` makes its parser.
_MODULES = {
    "bench-build": "build.cli",
    "bench-farm": "demo.command",
    "bench-import": "plugin.operations.import_command",
    "bench-lab": "lab.cli",
}
_TWO_WAYS = {"bench-bisect": bisect.COMMAND, "bench-compare": compare.COMMAND}
_FLAG = re.compile(r"^  (-\w)  (.+)$", re.MULTILINE)
_VALUE = re.compile(r"\[(-\w) (\w+)\]")


def parsers() -> dict[str, argparse.ArgumentParser]:
    """All of them by the names of their commands, in order."""
    made = {
        name: import_module(f"buildbot_bench.{place}")._parser() for name, place in _MODULES.items()
    }
    made |= {name: command.parser() for name, command in _TWO_WAYS.items()}
    return dict(
        sorted(
            {
                **made,
                "bench-comment": comment.COMMAND.parser(),
                "bench-judge": judge.COMMAND.parser(),
                "bench-ministat": _ministat(),
            }.items()
        )
    )


def local_parsers() -> dict[str, argparse.ArgumentParser]:
    """Those that read the command lines with `--local`, by the names of their commands."""
    return {name: command.local.parser() for name, command in _TWO_WAYS.items()}


def completed() -> dict[str, argparse.ArgumentParser]:
    """All with every option that a command takes, with `--local` or without: for completion."""
    made = parsers()
    for name, local in local_parsers().items():
        known = {option for action in made[name]._actions for option in action.option_strings}
        group = made[name].add_argument_group("without a farm")
        group.add_argument("--local", action="store_true", help="search this repository here")
        for action in local._actions:
            is_new = action.option_strings and not known.intersection(action.option_strings)
            if is_new and action.help is not argparse.SUPPRESS:
                group._add_action(action)
    return made


def _ministat() -> argparse.ArgumentParser:
    """What bench-ministat, which takes its flags as ministat(1) does, says of them."""
    usage, *_, about = USAGE.splitlines()
    parser = argparse.ArgumentParser(
        prog="bench-ministat",
        usage=usage.removeprefix("usage: "),
        description=f"Compare data sets by Student's t, as ministat(1) does. {about}",
        add_help=False,
    )
    values = dict(_VALUE.findall(USAGE))
    for flag, text in _FLAG.findall(USAGE):
        if flag in values:
            parser.add_argument(flag, metavar=values[flag], help=text)
        else:
            parser.add_argument(flag, action="store_true", help=text)
    parser.add_argument("--help", action="help", help="show this text")
    parser.add_argument("files", nargs="*", metavar="file", help="a data set; - is standard input")
    return parser
