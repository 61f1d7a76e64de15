"""GitHub's rules of `on`: cron lines with the last moment at which one was due, and path patterns.

pathspec reads git's patterns, which are others: of 33 examples of GitHub's and ours it decides 7
otherwise (`*.js` matches in every directory, `?` and `+` repeat nothing, `sys` matches sys/kern.c).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

DAY_S = 24 * 3600
WEEK_S = 7 * DAY_S
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday; Monday is 0


def last_weekly(now_s: float, *, weekday: int, minute: int) -> float:
    """The last moment up to `now_s` that is so many minutes into that day, in UTC.

    Times are seconds since the epoch; `weekday` is 0 for Monday to 6 for Sunday.
    """
    first_s = ((weekday - _EPOCH_WEEKDAY) % 7) * DAY_S + minute * 60
    return first_s + (now_s - first_s) // WEEK_S * WEEK_S


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# https://docs.github.com/en/actions/reference/workflows-and-actions/
# events-that-trigger-workflows#schedule
_FIELDS: tuple[tuple[str, int, int, Sequence[str]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_PART = re.compile(r"(\*|(\w+)(?:-(\w+))?)(?:/(\d{1,2}))?", re.ASCII)
_LONGEST = 200
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# 29 February is the same day of the week every 28 years, and every 40 where a century's year
# between is no leap year.
_MOST_DAYS = 41 * 366


@dataclass(frozen=True, kw_only=True, slots=True)
class CronLine:
    """The minutes, hours, days and months at which something is due, in UTC; Sunday is 0.

    `either_day`: one of the two kinds of days is enough, as POSIX has it when neither is `*`. As
    in cron(8), `*/2` counts as `*` there.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def takes(self, day: date) -> bool:
        """Whether something is due on a day."""
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        fits = of_month or of_week if self.either_day else of_month and of_week
        return fits and day.month in self.months

    def last_due(self, at_s: float) -> float:
        """The newest time, in seconds since 1970, that is not later than another one."""
        now = datetime.fromtimestamp(at_s, UTC)
        for back in range(_MOST_DAYS):
            day = now.date() - timedelta(days=back)
            if not self.takes(day):
                continue
            latest = (now.hour, now.minute) if not back else (23, 59)
            times = [(h, m) for h in self.hours for m in self.minutes if (h, m) <= latest]
            if times:
                hour, minute = max(times)
                return datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC).timestamp()
        raise UsageError("no year has such a day")


def parse_cron(text: str) -> CronLine:
    """Read five fields: minute, hour, day of the month, month, day of the week.

    Each is `*`, a number, a name (JAN, SUN), a range, a list of these, with `/STEP` if wanted.
    """
    fields = text.split() if len(text) <= _LONGEST else []
    if text.startswith("@"):
        raise UsageError(f"{quoted(text)} is no cron line here", hint="write '0 3 * * *'")
    if len(fields) != len(_FIELDS):
        raise UsageError(
            "should be five fields, minute, hour, day, month and weekday in UTC, not"
            f" {quoted(text)}",
            hint="each night at three is '0 3 * * *'",
        )
    minutes, hours, days, months, weekdays = (
        _values(field, *kind) for field, kind in zip(fields, _FIELDS, strict=True)
    )
    line = CronLine(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        either_day=not any(field.startswith("*") for field in (fields[2], fields[4])),
    )
    if not line.either_day and not any(
        day <= _LONGEST_MONTHS[month - 1] for month in months for day in days
    ):
        raise UsageError(f"{quoted(text)} is never due: no year has such a day")
    return line


def _values(field: str, what: str, low: int, high: int, names: Sequence[str]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise UsageError(f"{quoted(part)} is no {what}", hint=f"{low} to {high}, *, 1-5 or */2")
        whole, first, last, step = match.groups()
        begin, end = low, high
        if whole != "*":
            begin = _number(first, what, low, high, names)
            end = begin if last is None and step is None else high
            end = _number(last, what, low, high, names) if last is not None else end
        if begin > end:
            raise UsageError(f"the {what} {quoted(part)} goes backwards")
        if step is not None and int(step) == 0:
            raise UsageError(f"the {what} {quoted(part)} has a step of 0")
        found.update(range(begin, end + 1, int(step or 1)))
    return frozenset(found)


def _number(word: str, what: str, low: int, high: int, names: Sequence[str]) -> int:
    if word.lower() in names:
        return names.index(word.lower()) + low
    if re.fullmatch(r"\d{1,2}", word, re.ASCII) and low <= int(word) <= high:
        return int(word)
    listed = f" or {names[0].upper()} to {names[-1].upper()}" if names else ""
    raise UsageError(f"{quoted(word)} is no {what}", hint=f"{low} to {high}{listed}")


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
