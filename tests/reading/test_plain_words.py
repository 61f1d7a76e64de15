"""What people read is in plain words: short sentences, and no pattern that rules.py lists."""

from collections.abc import Callable, Iterable

import pytest

from tests.reading.rules import (
    MOST_WORDS,
    broken_rules,
    count_words,
    median_words,
    sentences,
)
from tests.reading.shown_texts import Shown, of_code, of_docstrings, of_scripts, of_templates

SOURCES = {
    "templates": of_templates,
    "scripts": of_scripts,
    "code": of_code,
    "docstrings": of_docstrings,
}
LONGEST = 40  # words: no sentence of a mail has more


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_no_text_breaks_a_rule(source: Callable[[], Iterable[Shown]]) -> None:
    found = [
        f"{shown.place}: {rule.name}: …{words}… ({rule.instead})"
        for shown in source()
        for rule, words in broken_rules(shown.text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_median_sentence_is_short(source: Callable[[], Iterable[Shown]]) -> None:
    texts = [shown.text for shown in source()]
    assert len(texts) > 10
    assert 3 <= median_words(texts) <= MOST_WORDS


def test_no_sentence_of_a_template_is_very_long() -> None:
    longest = [
        f"{shown.place}: {sentence}"
        for shown in of_templates()
        for sentence in sentences(shown.text)
        if count_words(sentence) > LONGEST
    ]
    assert not longest, "\n".join(longest)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Whoever asks is answered.", "whoever"),
        ("No second image can be had.", "be had"),
        ("The reason is told once.", "told"),
        ("It knows nothing of this.", "knows no"),
        ("Nobody has said yet whether it was one.", "nobody"),
        ("Show what of it is there.", "inverted relative"),
        ("The lab tells 2 facts.", "animism"),
        ("The testbed is ill.", "animism"),
        ("An order that does not boot is another one's turn.", "another one's"),
        ("Nobody need do anything.", "need do"),
        ("The branch works\n\twell  again.", "again well"),
    ],
)
def test_a_contorted_sentence_breaks_its_rule(text: str, rule: str) -> None:
    assert rule in {broken.name for broken, _ in broken_rules(text)}


@pytest.mark.parametrize(
    "text",
    [
        "r311849 made forwarding 27.3 % slower (350,076 → 254,373 packets per CPU-second).",
        "Both sides were measured: 5 boots each.",
        "No report of this farm has been reviewed yet.",
        "You need not do anything.",
        "The image has no digest.",
    ],
)
def test_a_plain_sentence_breaks_none(text: str) -> None:
    assert list(broken_rules(text)) == []


def test_a_long_sentence_is_counted_whole() -> None:
    text = "One two three. Four five six seven 1,600.\n\nEight nine ten: eleven twelve thirteen."
    assert [count_words(sentence) for sentence in sentences(text)] == [3, 5, 3, 3]
    assert median_words([text]) == 3
    assert median_words([" ".join(["word"] * 30)]) > MOST_WORDS
