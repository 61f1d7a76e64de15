"""GitHub's path patterns, which select the changed files that count.

pathspec reads git's patterns, which are others: of 33 examples of GitHub's and ours it decides 7
otherwise (`*.js` matches in every directory, `?` and `+` repeat nothing, `sys` matches sys/kern.c).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

_TOKEN = re.compile(
    r"""(?P<directories> (?<![^/]) \*\*/ )
      | (?P<anything>    \*\*[*?+]* )
      | (?P<segment>     \*[?+]* )
      | (?P<set>         \[ [^\]/]+ \] )
      | (?P<quantifier>  (?<=.) [?+]+ )
      | (?P<literal>     \\? . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PathFilter:
    """The files that count: those that `paths` select (all, if it is empty) and `ignored` do not.

    Both follow GitHub: patterns are read in order, and one with `!` in front takes back what
    those before it selected.
    """

    paths: Sequence[str] = ()
    ignored: Sequence[str] = ()

    @property
    def takes_all(self) -> bool:
        """Whether every file counts, so that nobody looks at any."""
        return not self.paths and not self.ignored

    def counts(self, path: str) -> bool:
        """Whether a file, named from the repository's root, is one that counts."""
        return (not self.paths or _selects(self.paths, path)) and not _selects(self.ignored, path)


def _selects(patterns: Sequence[str], path: str) -> bool:
    selected = False
    for pattern in patterns:
        if compile_pattern(pattern.removeprefix("!")).fullmatch(path):
            selected = not pattern.startswith("!")
    return selected


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    r"""A pattern as a regular expression for whole paths.

    `*` stands for any run of characters but "/", `**` for any run, `**/` for any directories or
    none, `[a-z]` for one character; `?` allows zero or one and `+` one or more of the character
    before it; a backslash makes the next character plain. (GitHub's "filter pattern cheat sheet".)
    """
    try:
        return re.compile(
            "".join(_translate(token) for token in _TOKEN.finditer(pattern)), re.DOTALL
        )
    except re.error as error:
        raise UsageError(f"{quoted(pattern)} is not a path pattern: {error}") from error


def _translate(token: re.Match[str]) -> str:
    text = token[0]
    match token.lastgroup:
        case "directories":
            return "(?:.*/)?"
        case "anything":
            return ".*"
        case "segment":
            return "[^/]*"
        case "set":
            return "[" + re.escape(text[1:-1]).replace(r"\-", "-") + "]"
        case "quantifier":
            return text[0]
        case _:
            return re.escape(text[-1])
