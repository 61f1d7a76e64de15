"""How Sphinx makes the manual of docs/: strictly, offline, and beside no file of the sources."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "Buildbot Bench"
copyright = "the authors of Buildbot Bench"  # noqa: A001
extensions = ["myst_parser", "manual.sphinx_reference"]
nitpicky = True

# Links go to headings by their slugs, as GitHub makes them.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence"]
# Words behind the language of a block are for tests; see CONTRIBUTING.md.
highlight_language = "text"

html_theme = "furo"
html_title = project
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False

# `make docs-links` asks other sites. What follows stands for a reader's own host or number.
linkcheck_ignore = [r"https?://localhost.*", r"https?://[\w.]*example\.org.*"]
linkcheck_timeout = 20
