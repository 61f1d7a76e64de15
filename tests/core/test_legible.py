"""Text of strangers neither steers a terminal nor turns the writing, and ordinary text stays."""

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import buildbot_bench
from buildbot_bench.core.legible import (
    MESSAGE_COLUMNS,
    display_width,
    long_line,
    one_line,
    quoted,
    several_lines,
    shorten,
    spelled_out,
    writable,
)
from buildbot_bench.core.patch import MOST_BYTES
from tests.fakes import reports

# Escape sequences begin with a control; overrides and isolates turn the writing; all of these hide.
HARMFUL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
NASTY = "\u2028\x85\x0b\x1b[31m\u200f\ud800\u202e\u2066\x9b2J\x7f\r\u00a0\ue000"
FORMS: list[Callable[[str], str]] = [
    one_line,
    long_line,
    several_lines,
    lambda text: spelled_out(text.encode("utf-8", "surrogatepass")),
]

strange = st.text() | st.text("\x1b[]()<>;m0J\r\n\t \u202e\u2066\u200b\u00a0\u2028\ud800a")
# What people write: letters, figures, punctuation, symbols, single spaces.
ordinary = st.lists(
    st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), max_size=9
).map(" ".join)


@pytest.mark.parametrize("form", FORMS)
@given(text=strange)
@example(text=reports.HOSTILE)
@example(text=NASTY)
def test_nothing_that_steers_or_hides_is_left(form, text):
    shown = form(text)
    assert not {c for c in shown if unicodedata.category(c) in HARMFUL} - set("\n\t")
    assert "\u00a0" not in shown
    shown.encode("utf-8")


@pytest.mark.parametrize("form", FORMS)
@given(text=strange)
@example(text=NASTY)
def test_what_was_made_legible_stays_as_it_is(form, text):
    assert form(form(text)) == form(text)


@pytest.mark.parametrize("form", FORMS)
@given(text=ordinary)
@example(text='Jörg <j@example.org>: "日本語" & 100 % — naïve')
def test_ordinary_text_is_left_alone(form, text):
    if display_width(text) <= 160:
        assert form(text) == text


@given(strange | st.lists(strange), st.integers(1, 60))
@example(reports.HOSTILE, 60)
@example(NASTY, 60)
def test_what_is_quoted_is_one_line_and_bounded(value, columns):
    line = quoted(value, columns=columns)
    assert line.isprintable()
    assert display_width(line) <= columns + 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("main", "'main'"),
        ("\0" * 64, "'<64 times U+0000>'"),
        ("a\u202eb", "'a<U+202E>b'"),
        ("\t\t", "'<U+0009><U+0009>'"),
        ("x" * 99, f"'{'x' * 79}…'"),
        ("it's", '"it\'s"'),
        (7, "7"),
        (["a"], "['a']"),
    ],
)
def test_a_sentence_quotes_what_is_not_seen_by_its_name(value, shown):
    assert quoted(value) == shown


def test_each_sentence_quotes_by_the_same_rule():
    package = Path(buildbot_bench.__file__).parent
    texts = ((path, path.read_text(encoding="utf-8")) for path in package.rglob("*.py"))
    others = r"""\bf"[^"\n]*\{(?!error!)[^{}"\n]*!r[:}]"""
    assert [f"{path}: {found}" for path, text in texts for found in re.findall(others, text)] == []


@given(strange, st.integers(1, 60))
@example(reports.HOSTILE, 60)
@example(NASTY, 60)
def test_one_line_is_one_and_bounded(text, columns):
    line = one_line(text, columns=columns)
    assert len(line.splitlines()) <= 1
    assert line.isprintable()
    assert display_width(line) <= columns
    assert one_line(line, columns=columns) == line


@given(strange, st.integers(1, 60))
def test_several_lines_are_bounded_and_keep_their_breaks(text, most):
    shown = several_lines(text, most=most)
    assert len(shown) <= most
    assert several_lines(shown, most=most) == shown
    kept = shown.removesuffix("…") if len(text) > most else shown
    breaks = [i for i, c in enumerate(text[: len(kept)]) if c in "\n\t"]
    assert [i for i, c in enumerate(kept) if c in "\n\t"] == breaks


@given(st.binary(max_size=300))
def test_a_patch_is_shown_whole_whatever_its_bytes(body):
    text = body.decode("utf-8", "replace")
    shown = spelled_out(body)
    assert len(text) <= len(shown) <= 10 * len(text)
    assert spelled_out(shown.encode()) == shown


def test_what_is_not_seen_is_replaced_and_not_dropped():
    assert several_lines("naïve 包\n\tok") == "naïve 包\n\tok"
    assert several_lines("a\x1b[2Jb\x9bc\u202ed\u2028e\udc80") == "a�[2Jb�c�d�e�"
    assert one_line("a\n\n b\tc\r") == "a b c"


@given(strange)
def test_a_stream_that_knows_few_characters_is_written_to_all_the_same(text):
    writable(one_line(text), "ascii").encode("ascii")
    assert writable(one_line(text), None) == one_line(text)


def test_what_is_too_long_says_so():
    assert len(long_line("x" * 10_000)) == MESSAGE_COLUMNS
    assert several_lines("x" * 9, most=5) == "xxxx…"
    assert shorten("日本語日本語", 7) == "日本語…"
    assert one_line("日本語日本語", columns=7) == "日本語…"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"+\treturn (0);\n", "+\treturn (0);\n"),
        ("+// \u202e } \u2066if (isAdmin)".encode(), "+// <U+202E> } <U+2066>if (isAdmin)"),
        ("+zero\u200bwidth".encode(), "+zero<U+200B>width"),
        ("+no\u00a0break\u2028".encode(), "+no<U+00A0>break<U+2028>"),
        (b"+\x1b[2Jgone\r", "+<U+001B>[2Jgone<U+000D>"),
        ("+Grüße, 日本".encode(), "+Grüße, 日本"),
        (b"+\xff", "+\ufffd"),
    ],
)
def test_whoever_judges_a_patch_sees_all_of_it(body, shown):
    assert spelled_out(body) == shown


@pytest.mark.parametrize("character", ["\u202e", "\r", "\N{HIRAGANA LETTER A}", "a"])
def test_the_largest_patch_is_spelled_out_in_a_moment_of_the_processor(character):
    """It took 24 s for what one request of a stranger had stored."""
    body = (character * 200 + "\n").encode() * (MOST_BYTES // (200 * len(character.encode()) + 1))
    began = process_time()
    shown = spelled_out(body)
    assert process_time() - began < 3
    assert shown.count("\n") == body.count(b"\n")
