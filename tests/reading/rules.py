"""The rules of plain words: forbidden patterns, and the length of sentences."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

MOST_WORDS = 18
"""The median sentence has so many words or fewer."""

# What stands for a machine or a program, which does not know, say, want or feel.
_THINGS = (
    "lab|testbed|machine|master|worker|builder|farm|kernel|image|branch|boot|commit|host|switch|"
    "DUT|generator|console|database|mirror|server|driver|parser"
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A pattern that no text has, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    instead: str


def _rule(name: str, pattern: str, instead: str) -> Rule:
    return Rule(name=name, pattern=re.compile(pattern, re.IGNORECASE), instead=instead)


RULES = (
    _rule("whoever", r"\b(?:who|whom|which|what)ever\b(?! else\b)", "name who does what"),
    _rule("be had", r"\b(?:be|is|are|was|were|been) had\b", "say who has it"),
    _rule("told", r"\btold\b", "say, report, separate"),
    _rule("knows no", r"\bknows? (?:no|nothing|none)\b", "does not exist, is not known"),
    _rule("nobody", r"\bnobody (?:has|need|said|there|spoke)\b", "say what is, or what to do"),
    _rule("inverted relative", r"\bwhat (?:[\w'-]+ ){0,4}(?:is|are|was|were) there\b", "there is"),
    _rule("inverted relative", r"\bwhat (?:there is|one has|stands behind)\b", "name the thing"),
    _rule("animism", rf"\b(?:{_THINGS})s? (?:tells?|knows?|thinks?|wants?|believes?)\b", "reports"),
    _rule(
        "animism",
        rf"\b(?:{_THINGS})s? (?:is|are|was|were|gets?|became) (?:ill|well|sick|happy|angry)\b",
        "works, does not work",
    ),
    _rule("animism", r"\b(?:in a|of|its|bad|good) mood\b", "say what is measured"),
    _rule("another one's", r"\banother one's\b", "belongs to"),
    _rule("need do", r"\bneed (?:do|be|have|say)\b", "you need not, needs to"),
    _rule("of no use", r"\b(?:is|are|was) of no use\b", "cannot be used"),
    _rule("again well", r"\bwell again\b", "works again"),
    _rule("mend", r"\bmend(?:s|ed|ing)?\b", "fix"),
)

_END = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n(?=\s*[*-] )")
_WORD = re.compile(r"[\w%'.,/-]*\w[\w%'.,/-]*")


def broken_rules(text: str, rules: Iterable[Rule] = RULES) -> Iterator[tuple[Rule, str]]:
    """The rules that a text breaks, each with the words that do."""
    flowing = " ".join(text.split())
    for rule in rules:
        for found in rule.pattern.finditer(flowing):
            yield rule, flowing[max(found.start() - 30, 0) : found.end() + 30]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; a colon or a semicolon ends one, too, as does an empty line."""
    for sentence in _END.split(text):
        if _WORD.search(sentence):
            yield " ".join(sentence.split())


def count_words(sentence: str) -> int:
    """How many words a sentence has; a figure is one."""
    return len(_WORD.findall(sentence))


def median_words(texts: Iterable[str]) -> float:
    """The median number of words of the sentences with three words or more."""
    lengths = [count_words(sentence) for text in texts for sentence in sentences(text)]
    return float(median([length for length in lengths if length > 2]))
