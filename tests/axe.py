"""The findings of axe-core on a page in the real browser.

The library is axe-core's own file, as the package axe-playwright-python brings it; Playwright
itself is not used.
"""

import importlib.util
import json
from functools import cache
from pathlib import Path

from tests.chromium import Page

# https://www.w3.org/TR/WCAG21/, levels A and AA, as axe-core tags its rules.
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
_RUN = """
axe.run({within}, {{runOnly: {rules}}}).then(({{violations}}) => violations.flatMap((rule) =>
  rule.nodes.map((node) => `${{rule.id}}: ${{node.html.slice(0, 160)}}: ${{
    node.failureSummary.replaceAll("\\n", " ").slice(0, 300)}}`)))"""


def violations(page: Page, within: str) -> list[str]:
    """What breaks a rule of WCAG 2.1 AA inside of the elements that a selector names."""
    page.run(_axe())
    return page.run(_RUN.format(within=json.dumps(within), rules=json.dumps(_RULES)))


@cache
def _axe() -> str:
    package = importlib.util.find_spec("axe_playwright_python")
    assert package is not None
    assert package.submodule_search_locations is not None
    return Path(package.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")
