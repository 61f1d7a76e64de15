"""Lines, columns and numbers, read as C reads them."""

import contextlib
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.cli.ministat import Column, atoi, read_dataset, strtod, strtol
from buildbot_bench.core.errors import UsageError


class BrokenDisk(io.BytesIO):
    """A file that opens and cannot be read."""

    def readline(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, "Input/output error")


def read(text: bytes, column: int = 1, delimiters: str = " \t") -> list[float]:
    return read_dataset("F", io.BytesIO(text), Column(number=column, delimiters=delimiters))


def test_comments_blanks_and_short_lines_are_passed_over():
    assert read(b"# head\n\n1\n   \n 2 # two\n3\n") == [1, 2, 3]
    assert read(b"a 1\nb\nc 2\n# 9\nd #9 9\ne 3\n", column=2) == [1, 2, 3]


def test_a_comment_before_the_column_ends_the_line():
    assert read(b"1 10\n2 20\n3 30\n#4 40\n", column=2) == [10, 20, 30]


def test_trailing_blanks_and_carriage_returns_are_stripped():
    assert read(b"1\r\n2 \t\r\n3\v\f") == [1, 2, 3]


def test_only_the_chosen_column_must_be_a_number():
    assert read(b"r1 1 pps\nr2 2 pps\nr3 3 pps\n", column=2) == [1, 2, 3]


def test_delimiters_are_a_set_and_collapse():
    assert read(b"1,,3\n,;1;4\n1,5,\n", column=2, delimiters=",;") == [3, 4, 5]


@pytest.mark.parametrize("delimiters", ["^", "]", "\\", "-", "a-z]"])
def test_no_delimiter_is_special(delimiters: str):
    one = delimiters[0].encode()
    assert read(
        b"1".join([one, one, b"\n1" + one + b"2\n1" + one]) + b"3\n1" + one + b"4",
        column=2,
        delimiters=delimiters,
    )[-2:] == [3, 4]


def test_bad_data_is_named_by_line_and_file_counting_every_line():
    with pytest.raises(UsageError) as caught:
        read(b"# head\n\n1\n4#5\n")
    assert str(caught.value) == "ministat: Invalid data on line 4 in F"


def test_a_long_line_is_read_in_pieces_of_freebsds_buffer():
    # The 1,023 characters of the first piece end in 1; the rest of the line is one of its own.
    assert read(b" " * 1022 + b"12\n3\n") == [1, 2, 3]


@pytest.mark.parametrize("text", [b"", b"1\n2\n", b"# 1\n# 2\n# 3\n"])
def test_fewer_than_three_points_are_refused(text: bytes):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert str(caught.value) == "Dataset F must contain at least 3 data points"


def test_a_file_that_cannot_be_read_is_named():
    with pytest.raises(UsageError, match="Cannot read F: Input/output error"):
        read_dataset("F", BrokenDisk(), Column())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("-1.5e3", -1500),
        ("+.5", 0.5),
        ("5.", 5),
        ("1E2", 100),
        ("0x10", 16),
        ("-0X1.8p1", -3),
        (" \t7", 7),
        ("", 0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ("0x1p99999", math.inf),
    ],
)
def test_numbers_of_c(text: str, number: float):
    assert strtod(text) == number


@pytest.mark.parametrize("text", ["nan", "-NaN", "nan(0x1)"])
def test_not_a_number_is_a_number_of_c(text: str):
    assert math.isnan(strtod(text) or 0)


@pytest.mark.parametrize(
    "text",
    ["x", "1x", "1_000", "1,5", "1 ", "0x", "e5", ".", "--1", "1e", "infinit", "inf(1)", "\u0661"],
)
def test_what_c_leaves_over_is_no_number(text: str):
    assert strtod(text) is None


@given(st.floats(allow_nan=False))
def test_a_printed_float_is_read_back(number: float):
    assert strtod(repr(number)) == strtod(number.hex()) == number


@pytest.mark.parametrize(
    ("text", "whole", "beginning"),
    [
        ("12", 12, 12),
        (" -3", -3, -3),
        ("", 0, 0),
        ("80x", None, 80),
        ("x", None, 0),
        ("1_0", None, 1),
        ("9" * 5000, None, 999_999_999_999_999_999),
    ],
)
def test_integers_of_c(text: str, whole: int | None, beginning: int):
    assert (strtol(text), atoi(text)) == (whole, beginning)


@given(st.binary(max_size=300), st.integers(1, 3), st.text(min_size=1, max_size=3))
def test_no_input_crashes(text: bytes, column: int, delimiters: str):
    with contextlib.suppress(UsageError):
        assert len(read(text, column, delimiters)) >= 3
