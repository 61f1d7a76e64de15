"""The glossary as one HTML page, from docs/reference/glossary.md."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt

from buildbot_bench.render.environment import environment
from buildbot_bench.shipped import shipped


@cache
def glossary_html() -> str:
    """The whole page, which loads nothing; HTML within the Markdown is escaped."""
    text = shipped("docs/reference/glossary.md").read_text(encoding="utf-8")
    body = MarkdownIt("commonmark", {"html": False}).render(text)
    return environment().get_template("glossary.html").render(body=body)
