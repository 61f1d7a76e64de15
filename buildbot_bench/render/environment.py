"""The Jinja2 environment, and the directory of its templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from buildbot_bench.core import figures
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.report import opinions, why_words, words
from buildbot_bench.core.report.farm_mails import given_up_line, testbed_line
from buildbot_bench.render import addresses, layout, quoting

_PACKAGE = Path(__file__).parent.parent
_HOMES = (_PACKAGE / "_templates", _PACKAGE.parent / "templates")  # installed; in a checkout


def templates() -> Path:
    """The directory of the templates."""
    for home in _HOMES:
        if home.is_dir():
            return home
    raise UsageError(
        f"no templates in {_HOMES[0]} nor in {_HOMES[1]}",
        hint="install buildbot-bench again, or run from a whole checkout",
    )


@cache
def environment() -> Environment:
    """The one Jinja2 environment: nothing is guessed, and HTML and SVG are escaped.

    So is all else but .txt and .md: what strangers wrote is plain already, and Markdown has quoting
    of its own.

    Buildbot's own does not escape, and a commit's subject is a stranger's text.
    """
    made = Environment(
        loader=FileSystemLoader(templates()),
        autoescape=select_autoescape(disabled_extensions=("txt", "md"), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        testbed_line=testbed_line,
        given_up_line=given_up_line,
        cell=quoting.cell,
        changed_lines=why_words.changed_lines,
        code=quoting.code,
        cost_change=why_words.cost_change,
        cost_figure=why_words.cost_figure,
        cost_title=why_words.cost_title,
        count=words.count,
        cost=words.cost,
        duration=words.duration,
        extent=words.extent,
        fence=quoting.fence,
        glossary_url=addresses.glossary_url,
        function_place=why_words.function_place,
        link=quoting.link,
        overlap=why_words.overlap,
        moment=layout.moment,
        named=words.named,
        opening=words.opening,
        in_words=figures.unit_in_words,
        percent=words.percent,
        points=why_words.points,
        prose=quoting.prose,
        quantity=words.quantity,
        reach=words.reach,
        sentence=words.sentence,
        share=why_words.share,
        size=words.size,
        said=opinions.said,
        so_far=opinions.so_far,
        standing=words.standing,
        sureness=words.sureness,
        threshold=words.threshold,
        unexplained=why_words.unexplained,
        where=words.where,
        wrap=layout.wrap,
    )
    return made
