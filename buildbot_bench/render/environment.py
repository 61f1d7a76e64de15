"""The Jinja2 environment: templates, quoting for Markdown, and the glossary's address.

Both sites link, mention and embed words that look like it, and only code spans are safe in both
(Phabricator takes no backslash), so a text that could be more than words becomes a code span.
"""

import re
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from buildbot_bench.core import figures
from buildbot_bench.core.report import farm_mails, why_words, words
from buildbot_bench.core.report.context import said, so_far
from buildbot_bench.installed import shipped
from buildbot_bench.render import layout

PAGE = "plugins/bench/glossary.html"
"""Where the page lies beneath the master's address."""

_PAGES = "#/bench"  # behind the master's address, in that of each page of a farm


def glossary_url(page: str | None) -> str:
    """Where a farm's glossary is, by the address of one of its pages; empty without one."""
    master, found, _ = (page or "").partition(_PAGES)
    return f"{master}{PAGE}" if found else ""


_MORE_THAN_WORDS = re.compile(r"[`\[\]{}@#!|&\\*~]|://|<[A-Za-z/!?]|^>")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?#=&%+-]+")
_BACKTICKS = re.compile(r"`+")


def code(text: str) -> str:
    """A code span that holds any one line; a backtick, which would end it, becomes a quote."""
    return f"`{text.replace('`', chr(39))}`"


def cell(text: str) -> str:
    """The same in a table, where GitHub sees a column's end even in a code span."""
    return code(text.replace("|", "/"))


def prose(text: str) -> str:
    """A sentence as it is, or as a code span when it holds more than words and figures."""
    return code(text) if _MORE_THAN_WORDS.search(text) else text


def link(text: str) -> str:
    """A web address as it is, so that it becomes a link; a code span for all else."""
    return text if _ADDRESS.fullmatch(text) else code(text)


def fence(text: str) -> str:
    """A block of lines as they are, between fences longer than any in it."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


@cache
def environment() -> Environment:
    """The one Jinja2 environment: nothing is guessed, and HTML and SVG are escaped.

    So is all else but .txt and .md: what strangers wrote is plain already, and Markdown has quoting
    of its own.

    Buildbot's own does not escape, and a commit's subject is a stranger's text.
    """
    made = Environment(
        loader=FileSystemLoader(shipped("templates")),
        autoescape=select_autoescape(disabled_extensions=("txt", "md"), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for module in (farm_mails, figures, layout, why_words, words):
        made.filters.update(_functions(module))
    made.filters.update(
        {one.__name__: one for one in (cell, code, fence, glossary_url, link, prose, said, so_far)}
    )
    return made


def rendered(template: str, **known: Any) -> str:
    """A template with what it is to know."""
    return environment().get_template(template).render(known)


def _functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The public functions of a module, each of which is a filter of templates by its name."""
    return {
        name: one
        for name, one in vars(module).items()
        if isinstance(one, FunctionType) and one.__module__ == module.__name__ and name[0] != "_"
    }
