"""Hostile numbers, names, queries and parameters for a farm."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import product
from urllib.parse import quote

from tests.contracts.pages.named import COLLECTIONS, METHODS
from tests.fakes.served import API

# The first numbers that a column, SQLite's largest integer and Python's own parser do not take.
LARGE = ("2147483648", "9223372036854775808", "9" * 30)
BEYOND = (*LARGE, *(f"-{number}" for number in LARGE), "9" * 5000)
NUMBERS = (
    *BEYOND,
    *("-1", "0", "2147483647", "1.0", "1e3", "0x1", "abc", "", "1_0", "+1"),
    *("%00", "1%00", "%FF", "%ED%A0%80", quote("٣"), quote("' OR 1=1"), quote("1;")),
)
NAMES = (
    *("", "%00", "%FF", "%ED%A0%80", "..", "%2E%2E", "a%2Fb", "%0D%0Ax:%20y", "%25s%7B0%7D"),
    *(quote("' OR 1=1--"), "x" * 5000, quote("\u202e\U0001f4a9")),
)
# Refused wherever there is a list.
REFUSED = (
    *(f"{name}={number}" for name in ("limit", "offset") for number in ("-1", "abc", "", "1.5")),
    *(f"{name}=-{number}" for name in ("limit", "offset") for number in LARGE),
    *(f"limit={number}" for number in ("2001", "99999999", *LARGE)),
    *("limit=%FF", "limit=%00", "offset=%ED%A0%80", "limit=" + "9" * 5000),
    *("order=nonsense", "order=-nonsense", "order=", "order=-", "order=%FF", "order=%ED%A0%80"),
    *("field=nonsense", "field=", "field=%FF", "nonsense=1", "%FF=1", "%ED%A0%80=1"),
)
# Answered, or refused, as each resource likes.
_QUERIES = (
    *(f"{name}={number}" for name in ("limit", "offset") for number in ("0", "1", *BEYOND)),
    *(
        "limit=1&limit=-1",
        "limit=2&offset=1",
        "property=x",
        "property=%FF",
        "nonsense__lt=1",
        "__=1",
    ),
)
_OPERATORS = ("", "__eq", "__ne", "__lt", "__le", "__gt", "__ge", "__contains", "__in", "__notin")
_CHEAP = {"bench/judgements", "bench/searches/n:searchid/probes"}
_VALUES = ("", "abc", "0", "1", *LARGE, "%00", "%FF", "%ED%A0%80", quote("' OR 1=1--"), "%25_")
# Longer than what PostgreSQL takes into an index, however well it compresses.
_WORDS = [sha256(b"%d" % n).hexdigest() for n in range(100)]
_OPTIONS = "+".join(["r3", *(f"X{word[:60].upper()}" for word in _WORDS)])
_SETTINGS = "+".join(["r3", *(f"sysctl:net.a{n}.b={word}" for n, word in enumerate(_WORDS))])
_ANYTHING: Sequence[object] = (
    *(None, True, -1, 0, 2**31, 2**63, 10**400, 5e-324, 0.5, 1 - 2**-53, ""),
    *("\0", "\ud800", "\u202e", "'; --", "../x", "x" * 5000, _OPTIONS, _SETTINGS, "r999999999"),
    *([], ["\ud800"], [None], [["apu"]], {}, {"\ud800": "\0"}, {"x": 2**63}),
)
_PARAMETERS = {
    "forecast": {"old": "r1", "new": "r9", "testbed": "apu", "min_effect": 0.1, "error": 0.1},
    "start": {"old": "r1", "new": "r9", "testbed": "apu", "workload": "forwarding", "with": "r12"},
    "mark": {"mark": "fixed", "revision": "r12"},
    "measure": {"revision": "r8", "iterations": 1, "fresh": False},
    "release": {"false_alarm": True},
    "extend": {
        "variants": ["r9"],
        "labels": {"r9": "x"},
        "iterations": 6,
        "images": 4,
        "more": 1,
        "patches": {},
    },
}
_COMPARISON = {"variants": ["r3", "r3+VIMAGE"], "labels": {"r3": "x"}}
_COMPARISON |= {"testbeds": ["apu"], "workloads": ["forwarding"]}
_COMPARISON |= {"iterations": 3, "images": 2, "min_effect": 0.02, "patches": {}}


def queries(pattern: str) -> Iterator[str]:
    """Query strings for a resource that may be answered; all that there are for the cheapest."""
    yield from _QUERIES if pattern in COLLECTIONS else REFUSED[:1] + _QUERIES[-4:]
    for field in COLLECTIONS.get(pattern, ()):
        yield from (f"order=-{field}", f"field={field}&limit=1", f"{field}__lt={LARGE[0]}")
        yield from (f"{field}__contains=1", f"{field}__contains=1&{field}__contains=2")
        if pattern in _CHEAP:
            yield from (f"{field}={value}" for value in _VALUES)
            yield from (f"{field}{by}={value}" for by, value in product(_OPERATORS, ("1", "abc")))
            yield from (f"{field}{by}=1&{field}{by}=2" for by in _OPERATORS)


def paths(pattern: str, there: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Targets in which one part after the other is what nobody means."""
    parts = pattern.split("/")
    usual = [there.get(part, [part])[0] for part in parts]
    for place, part in enumerate(parts):
        if ":" in part:
            for odd in NUMBERS if part.startswith("n:") else NAMES:
                yield API + "/".join([*usual[:place], odd, *usual[place + 1 :]])


def calls() -> Iterator[tuple[str, str, dict[str, object]]]:
    """The pattern, method and parameters of each control call, one parameter at a time odd."""
    for pattern, methods in METHODS.items():
        for method in methods:
            usual = _COMPARISON if pattern == "bench/comparisons" else _PARAMETERS.get(method, {})
            yield pattern, method, {}
            for name in usual:
                yield from ((pattern, method, usual | {name: odd}) for odd in _ANYTHING)
