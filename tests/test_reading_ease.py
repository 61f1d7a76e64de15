"""The documents are easy to read: short sentences, and none of the turns that readers stumble over.

Each rule has an example that it must find, so no rule can become blind.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tests.reading.rules import RULES as SHOWN
from tests.reading.rules import broken_rules
from tests.readme import CHECKOUT, DOCUMENTS

MOST_WORDS, LONGEST = 18, 60
_THING = (
    r"(?:^|[.;:] )What (?!if\b|\w+(?: \w+)?\?)[^.?!:]{3,60}? (?:is|are|has|was|were|goes|ends)\b"
)
# What must not stand in a sentence: why, the pattern, and an example.
RULES = {
    "an inverted relative: name the person": (r"\bwhoever\b", "whoever asks waits"),
    "an inverted relative: begin with the thing": (
        _THING,
        "What is broken is refused",
    ),
    "an inverted relative: begin with the person": (
        r"(?:^|[.;] )Who (?!is\b|may\b)[^.?!]*\.",
        "Who asks waits.",
    ),
    "`is had`: say who has it": (r"\b(?:be|is|are|was|were) had\b", "an order that is had"),
    "`is told`: say who tells whom": (r"\b(?:be|is|are|was|were) told\b", "it is told"),
    "animism: a thing is not ill": (r"\b(?:is|are|was) (?:ill|sick)\b", "a builder that is ill"),
    "animism: a lab reports": (r"\b(?:lab|farm|history) tells\b", "the lab tells"),
    "contorted: say which one": (r"\bis another one's\b", "its turn is another one's"),
    "contorted: say what it lacks": (r"\bknows? (?:no|nothing)\b", "it knows no farm"),
    "contorted: say what there is": (r"\bas there (?:is|are) of it\b", "as there is of it"),
}
# These pages include others, whose own place is checked, or are a list of releases.
LEFT_OUT = {"CHANGELOG.md", "docs/CHANGELOG.md", "docs/ARCHITECTURE.md", "docs/index.md"}
PAGES = [page for page in DOCUMENTS if str(page.relative_to(CHECKOUT)) not in LEFT_OUT]

_BLOCK = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
_LITERAL = re.compile(r"(?:^(?:    |\t)(?! *[*\d]).*\n?)+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^ *(?:[*-]|\d+\.) +")
_END = re.compile(r"(?<=[.!?:])[)*_\"]* +(?=[A-Z`*(\"])")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page's prose: of paragraphs and list items, not of tables."""
    text = _LITERAL.sub("\n", _BLOCK.sub("\n", text))
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        table = line.lstrip().startswith(("|", "#"))
        if not line.strip() or table or _ITEM.match(line):
            whole = _LINK.sub(r"\1", " ".join(paragraph))
            yield from (one.strip() for one in _END.split(whole) if one.strip())
            paragraph = []
        if line.strip() and not table:
            paragraph.append(_ITEM.sub("", line).strip())


def words(sentence: str) -> int:
    """Code counts as one word, however much it is."""
    return len(re.findall(r"[\w'%+-]*\w[\w'%-]*", re.sub(r"`+[^`]*`+", "code", sentence)))


def prose(page: Path) -> list[str]:
    return [one for one in sentences(page.read_text(encoding="utf-8")) if words(one) > 1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_half_of_the_sentences_are_short_and_none_is_endless(page: Path) -> None:
    found = prose(page)
    if not found:
        return
    assert median(map(words, found)) <= MOST_WORDS
    assert [one for one in found if words(one) > LONGEST] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_sentence_has_a_turn_that_readers_stumble_over(page: Path) -> None:
    found = [
        f"{why}: {one}"
        for one in prose(page)
        for why, (pattern, _) in RULES.items()
        if re.search(pattern, re.sub(r"`+[^`]*`+", "code", one))
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_sentence_breaks_a_rule_of_what_programs_show(page: Path) -> None:
    found = [
        f"{rule.name}: {one} ({rule.instead})"
        for one in prose(page)
        for rule, _ in broken_rules(re.sub(r"`+[^`]*`+", "code", one), SHOWN)
    ]
    assert found == []


@pytest.mark.parametrize(("pattern", "example"), RULES.values(), ids=RULES)
def test_each_rule_finds_what_it_is_for(pattern: str, example: str) -> None:
    assert re.search(pattern, example)
    assert not re.search(pattern, "The farm measures each commit and mails you what it found.")


def test_sentences_are_told_apart() -> None:
    block = "```console\n$ ls\n```"
    text = f"# Head\n\nOne two. Three `a. b` four:\n\n{block}\n\n* Five\n  six.\n* Seven.\n"
    assert list(sentences(text)) == ["One two.", "Three `a. b` four:", "Five six.", "Seven."]
    assert words("Three `a. b` four:") == 3
