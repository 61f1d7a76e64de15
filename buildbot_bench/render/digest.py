"""A digest of improvements as text of 80 columns and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.report import Report
from buildbot_bench.render.environment import environment


def digest_text(reports: Sequence[Report]) -> str:
    """All of them as text that ends in a newline; at least one, all of one farm."""
    return environment().get_template("digest.txt").render(reports=reports)


def digest_html(reports: Sequence[Report]) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("digest.html").render(reports=reports)
