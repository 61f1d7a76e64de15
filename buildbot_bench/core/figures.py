"""The notation of figures in mails, pages and commands."""

import math
from collections.abc import Sequence

_WHOLE_FROM = 1000  # in the unit of the value: from here four digits leave no fraction
_LEAST_P = 0.001  # a smaller p-value rests on tails that a few boots do not show
# A duration is said in two or three digits: 9.9 s, 99 s, 99 min, 2.5 h.
_TENTHS_BELOW_S = 10
_SECONDS_BELOW_S = 100
_MINUTES_BELOW_S = 100 * 60
# A time to wait is said in the unit that a person would: 89 s, 89 min, 47 h, 2 days.
_WAITED_SECONDS, _WAITED_MINUTES_H, _WAITED_HOURS = 90, 1.5, 48

_UNITS = {
    "pps": "packets per second",
    "packets/CPU-s": "packets per CPU-second",
    "instructions/packet": "instructions per packet",
}


def percent(fraction: float) -> str:
    """A signed change: `-25.6 %`."""
    return f"{100 * fraction:+.1f} %"


def fine_percent(fraction: float) -> str:
    """A signed change with two decimals, beside ministat's: `-25.59 %`."""
    return f"{100 * fraction:+.2f} %"


def size(fraction: float) -> str:
    """How large a change is, in either direction: `25.6 %`."""
    return f"{100 * abs(fraction):.1f} %"


def threshold(fraction: float) -> str:
    """An unsigned share, as it was configured: `2 %`, `0.5 %`."""
    return f"{100 * fraction:g} %"


def whole_percent(fraction: float) -> str:
    """A share in whole percent: `41 %`."""
    return f"{100 * fraction:.0f} %"


def sureness(probability: float) -> str:
    """A probability for a reader, rounded down to whole percent and never above 99 %."""
    whole = stated_percent(probability)
    return f"{whole} %" if whole >= 1 else "less than 1 %"


def quantity(value: float) -> str:
    """A measured value without digits that no measurement supports: `464,782`, `12.35`."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"


def unit_in_words(unit: str) -> str:
    """A unit as a sentence has it: `packets per CPU-second`; one that is not known as it is."""
    return _UNITS.get(unit, unit)


def count(number: int, noun: str) -> str:
    """A number with its noun in the right form: `1 commit`, `1,600 commits`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(texts: Sequence[str]) -> str:
    """Some texts in a row: `a, b and c`."""
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def few(p_value: float) -> str:
    """A p-value as one reads it, without blanks at which a line might break: `p=0.012`."""
    return f"p<{_LEAST_P}" if p_value < _LEAST_P else f"p={p_value:.2g}"


def duration(duration_s: float) -> str:
    """A duration as a person says it: `3.2 s`, `41 s`, `12 min`, `2.5 h`."""
    if duration_s < _TENTHS_BELOW_S:
        return f"{duration_s:.1f} s"
    if duration_s < _SECONDS_BELOW_S:
        return f"{duration_s:.0f} s"
    if duration_s < _MINUTES_BELOW_S:
        return f"{duration_s / 60:.0f} min"
    return f"{duration_s / 3600:.1f} h"


def hours_text(hours: float) -> str:
    """A time to wait, in the unit a person would say."""
    seconds = 3600 * hours
    if seconds < _WAITED_SECONDS:
        return f"{seconds:.0f} s"
    if hours < _WAITED_MINUTES_H:
        return f"{60 * hours:.0f} min"
    return f"{hours:.1f} h" if hours < _WAITED_HOURS else f"{hours / 24:.1f} days"


MOST_SURE = 99  # percent: no model of a lab earns more; 100 is never claimed
_ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996


def stated_percent(probability: float) -> int:
    """A probability as it is stated: in whole percent, rounded down, and never above 99."""
    return min(MOST_SURE, math.floor(100 * probability + _ROUNDING))
