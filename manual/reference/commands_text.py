"""The page of all commands, from their parsers: what `--help` says."""

import argparse
from collections.abc import Iterator

from manual.parsers import local_parsers, parsers
from manual.reference.myst import code, plain, table
from manual.roff import help_of, is_commands, place_of, shown, synopsis


def commands_text() -> str:
    """A section for each command and each of its subcommands."""
    local = local_parsers()
    return "\n\n".join(
        part
        for name, parser in parsers().items()
        for part in (
            f"## {name}",
            *_command(parser),
            *((f"### {name} --local", *_command(local[name])) if name in local else ()),
        )
    )


def _command(parser: argparse.ArgumentParser, about: str = "", told: str = "") -> Iterator[str]:
    yield f"```text\n{synopsis(parser)}\n```"
    yield plain(parser.description or about)
    rows = [
        (_tag(action), plain(help_of(parser, action)))
        for action in shown(parser)
        if not is_commands(action)
    ]
    if rows:
        yield table(("Argument or option", "Meaning"), rows)
    # What a subcommand shares with its command stands there once.
    if parser.epilog and parser.epilog != told:
        yield f"```text\n{parser.epilog.strip()}\n```"
    for action in filter(is_commands, shown(parser)):
        abouts = {one.dest: one.help or "" for one in action._choices_actions}
        for name, command in action.choices.items():
            yield f"### {parser.prog} {name}"
            yield from _command(command, abouts.get(name, ""), parser.epilog or "")


def _tag(action: argparse.Action) -> str:
    if not action.option_strings:
        return code(place_of(action))
    value = f" {place_of(action)}" if action.nargs != 0 else ""
    return ", ".join(code(option + value) for option in action.option_strings)
