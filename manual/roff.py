"""A manual page, as man(7) wants it, of an argparse parser; it reads and writes no file.

argparse-manpage would do it too, but its pages differ between releases of Python; ours are kept.
"""

import argparse
import re
from collections.abc import Iterator

_HEADING = re.compile(r"^(\S.*):$")


def page(
    parser: argparse.ArgumentParser,
    also: list[str],
    local: argparse.ArgumentParser | None = None,
) -> str:
    """The page of a command; `also` are the commands that it refers to.

    `local` reads its command line where that has `--local`.
    """
    name = parser.prog
    about = " ".join((parser.description or "").split())
    first, _, _ = about.partition(". ")
    lines = [
        f'.TH {_quoted(name.upper())} 1 "" "Buildbot Bench" "User Commands"',
        *(".SH NAME", f"{_text(name)} \\- {_text(first.rstrip('.'))}"),
        *(".SH SYNOPSIS", *_literal(synopsis(parser))),
        *(".SH DESCRIPTION", _text(about)),
        *(_without_a_farm(local) if local else ()),
        *_options(parser),
        *_commands(parser),
        *_epilog(parser.epilog or ""),
        *(".SH SEE ALSO", ",\n".join(f".BR {_text(one)} (1)" for one in also).replace(",\n", "\n")),
    ]
    return "\n".join(lines) + "\n"


def _without_a_farm(local: argparse.ArgumentParser) -> Iterator[str]:
    """A section of its own: with `--local` a command takes other options."""
    yield '.SH "WITHOUT A FARM"'
    yield _text(" ".join((local.description or "").split()))
    yield from _options(local, heading=".SS")
    yield from _epilog(local.epilog or "", heading=".SS")


def synopsis(parser: argparse.ArgumentParser) -> str:
    """How a command is called, on a line or several."""
    if parser.usage:
        return "\n".join(line.strip() for line in parser.usage.splitlines())
    options = any(action.option_strings for action in shown(parser))
    places = [place_of(action) for action in shown(parser) if not action.option_strings]
    return " ".join([parser.prog, *(["[options]"] if options else []), *places])


def _options(parser: argparse.ArgumentParser, heading: str = ".SH") -> Iterator[str]:
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action in shown(parser)]
        actions = [action for action in actions if not is_commands(action)]
        if actions:
            yield f"{heading} {_quoted((group.title or 'options').upper())}"
            yield from _tagged(parser, actions)


def _tagged(parser: argparse.ArgumentParser, actions: list[argparse.Action]) -> Iterator[str]:
    for action in actions:
        yield ".TP"
        yield _tag(action)
        yield _text(help_of(parser, action)) or "\\&"


def _tag(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"\\fI{_text(place_of(action))}\\fR"
    value = f" \\fI{_text(place_of(action))}\\fR" if action.nargs != 0 else ""
    return ", ".join(f"\\fB{_text(option)}\\fR{value}" for option in action.option_strings)


def place_of(action: argparse.Action) -> str:
    """How an argument, or the value of an option, is called."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def help_of(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """What is said of an option, with its default in its place as argparse puts it there."""
    words = {name: value for name, value in vars(action).items() if value is not argparse.SUPPRESS}
    return (action.help or "") % {**words, "prog": parser.prog}


def _commands(parser: argparse.ArgumentParser, heading: str = ".SH COMMANDS") -> Iterator[str]:
    """The commands, and in their places those that a command has of its own."""
    for action in filter(is_commands, shown(parser)):
        if heading:
            yield heading
        told = {one.dest: one.help for one in action._choices_actions}
        for name, command in action.choices.items():
            yield f".SS {_quoted(synopsis(command))}"
            about = command.description or told.get(name) or ""
            yield _text(" ".join(about.split()))
            yield from _tagged(command, [one for one in shown(command) if not is_commands(one)])
            yield from _commands(command, "")
            if command.epilog and command.epilog != parser.epilog:
                yield from (".PP", *_literal(command.epilog))


def _epilog(text: str, heading: str = ".SH") -> Iterator[str]:
    """A line that ends with a colon begins a section; the lines beneath stay as they are."""
    held: list[str] = []
    title = "NOTES"
    for line in [*text.splitlines(), "end:"]:
        if found := _HEADING.match(line):
            if any(one.strip() for one in held):
                yield f"{heading} {_quoted(title.upper())}"
                yield from _literal("\n".join(held).strip("\n"))
            title, held = found[1], []
        else:
            held.append(line)


def is_commands(action: argparse.Action) -> bool:
    """Whether an argument stands for the subcommands."""
    return isinstance(action, argparse._SubParsersAction)


def shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments and options that help shows, in order."""
    return [action for action in parser._actions if action.help is not argparse.SUPPRESS]


def _literal(text: str) -> Iterator[str]:
    yield ".nf"
    yield from (_text(line) or "\\&" for line in text.splitlines())
    yield ".fi"


def _quoted(text: str) -> str:
    return '"' + _text(text).replace('"', "\\(dq") + '"'


def _text(text: str) -> str:
    """Words that roff takes for nothing else."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped
