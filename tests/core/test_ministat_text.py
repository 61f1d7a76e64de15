"""The text around the figures: options, quirks of the plot, what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.ministat import compare
from buildbot_bench.core.ministat_text import Options, render, render_options, verdict_text

A = ("a", [1.0, 2.0, 3.0])
B = ("b", [11.0, 12.0, 13.0])
NO_PLOT = "[no plot, span is zero width]\n"

values = st.floats(-1e100, 1e100)
datasets = st.lists(
    st.tuples(st.sampled_from(["r1", "r2"]), st.lists(values, min_size=3, max_size=8)),
    min_size=1,
    max_size=7,
)


def plot_rows(text: str) -> list[str]:
    """The lines inside the frame, without its right and left sides."""
    return [line[1:-1] for line in text.splitlines() if line.startswith("|")]


def test_two_data_sets_as_ministat_prints_them(golden):
    golden("ministat/two.txt", render([A, B], width=40))
    golden("ministat/two_shared.txt", render([A, B], width=40, separate=False))


def test_without_plot_the_verdict_stays():
    assert render([A, B], plot=False) == (
        "x a\n+ b\n"
        "    N           Min           Max        Median           Avg        Stddev\n"
        "x   3             1             3             2             2             1\n"
        "+   3            11            13            12            12             1\n"
        "Difference at 95.0% confidence\n"
        "\t10 +/- 2.26659\n"
        "\t500% +/- 487.45%\n"
        "\t(Student's t, pooled s = 1)\n"
    )


def test_without_plot_header_and_comparison_one_row_of_figures_is_left():
    assert render([A], plot=False, header=False, compare=False) == (
        "x   3             1             3             2             2             1\n"
    )


def test_without_header_the_plot_stays():
    lines = render([A, B], header=False).splitlines()
    assert lines[0] == f"+{'-' * 74}+"
    assert not any("Stddev" in line or line in {"x a", "+ b"} for line in lines)


def test_a_population_has_its_own_deviation_and_no_verdict():
    text = render_options([A, B], Options(population=True, plot=False, header=False))
    assert text == (
        "x   3             1             3             2             2    0.81649658\n"
        "+   3            11            13            12            12    0.81649658\n"
    )


def test_every_data_set_is_compared_with_the_first():
    text = render([A, B, ("c", [1.0, 2.0, 3.0])], plot=False)
    assert text.count("Difference at") == 1
    assert text.endswith("No difference proven at 95.0% confidence\n")


def test_the_confidence_is_named_with_one_decimal():
    assert "Difference at 99.5% confidence\n" in render([A, B], confidence=99.5)
    assert "\t10 +/- 1.25169\n" in render([A, B], confidence=80)


def test_large_values_lose_digits_in_the_table_as_in_c():
    row = render([("a", [123456789.0] * 3)], plot=False).splitlines()[-1]
    assert row == "x   3" + " 1.2345679e+08" * 4 + "             0"


def test_more_than_999_values_widen_the_table():
    last = render([("a", [float(k) for k in range(1000)])], plot=False).splitlines()[-1]
    assert last.startswith("x 1000             0           999 ")


def test_a_reference_of_zero_prints_inf_and_nan():
    text = render([("a", [0.0] * 3), ("b", [1.0, 2.0, 3.0])], plot=False)
    assert "\tinf% +/- nan%\n" in text


def test_the_verdict_alone_is_what_the_whole_text_holds():
    for pair in ((A, B), (A, A)):
        verdict = verdict_text(compare(pair[0][1], pair[1][1]))
        assert render(pair).endswith(verdict)
        assert verdict.endswith("\n")


def test_points_of_one_column_stack_upward():
    rows = plot_rows(render([("a", [1.0, 1.0, 1.0, 5.0])], width=30))
    assert len(rows) == 4
    assert [row.count("x") for row in rows[:3]] == [1, 1, 2]


def test_the_deviation_widens_the_axis():
    top, bar = plot_rows(render([("a", [0.0, 0.0, 6.0, 6.0])], width=11))[1:]
    assert (top, bar) == (" x       x ", "|____A____|")


def test_the_lowest_value_stands_in_the_middle_of_its_column():
    # From 1 to 9 a column is 1 wide: 5.4 is nearest to 5, in the fifth, and 5.6 to 6.
    rows = plot_rows(render([("a", [1.0, 1.0, 5.4, 5.6, 9.0, 9.0])], width=9))
    assert rows[-2] == "x   xx  x"


@pytest.mark.parametrize(
    ("sets", "symbol"),
    [
        ((1, 2), "*"),
        ((1, 3), "*"),
        ((2, 3), "*"),
        ((1, 4), "#"),
        ((2, 4), "@"),
        ((1, 2, 4), "O"),
    ],
)
def test_symbols_that_meet_are_ored(sets: tuple[int, ...], symbol: str):
    # All data sets share four points; those in question meet at 50, the others avoid it.
    spots = {number: 50.0 if number in sets else 20.0 for number in range(1, 5)}
    shown = [(str(number), [0.0, 40.0, spots[number], 60.0, 100.0]) for number in range(1, 5)]
    assert plot_rows(render(shown, width=101))[0][50] == symbol


def test_each_data_set_has_its_symbol():
    named = [(str(number), [1.0, 2.0, 3.0]) for number in range(7)]
    assert [line[0] for line in render(named).splitlines()[:7]] == list("x+*%#@O")


def test_the_last_data_set_alone_decides_the_height():
    tall, flat = ("tall", [1.0, 1.0, 1.0, 9.0]), ("flat", [2.0, 4.0, 6.0])
    assert [row.count("x") for row in plot_rows(render([tall, flat]))[:-2]] == [2]
    assert len(plot_rows(render([flat, tall]))[:-2]) == 3


def test_a_row_gained_again_is_blank():
    tall, flat = ("tall", [1.0, 1.0, 1.0, 9.0]), ("flat", [2.0, 4.0, 6.0])
    last = ("last", [8.0, 8.0, 5.0])
    second, first, *_ = plot_rows(render([tall, flat, last]))
    assert second.strip() == "*"  # the last one's own; the tall one's x there is gone
    assert "x" in first


def test_each_data_set_has_a_bar_line_when_separate():
    bars = plot_rows(render([A, B], width=37))[1:]
    assert bars == ["|__A__|" + " " * 30, " " * 30 + "|__A__|"]


def test_on_a_shared_line_the_later_bar_overwrites_all_but_with_underscores():
    wide, narrow = ("wide", [0.0, 50.0, 100.0]), ("narrow", [40.0, 52.0, 70.0])
    (bar,) = plot_rows(render([wide, narrow], width=101, separate=False))[1:]
    assert bar[0] == bar[100] == "|"
    assert (bar[50], bar[52], bar[54]) == ("A", "M", "A")
    assert (bar[39], bar[69]) == ("|", "|")
    assert bar[45] == "_"
    reverse = plot_rows(render([narrow, wide], width=101, separate=False))[1]
    assert reverse[39] == reverse[69] == "|"  # kept: an underscore fills blanks alone


def test_the_mean_hides_the_median():
    assert "M" not in "".join(plot_rows(render([A])))


def test_equal_values_have_a_bar_of_one_letter():
    bars = plot_rows(render([("a", [5.0] * 3), ("b", [7.0] * 3)], width=20))[-2:]
    assert [bar.strip() for bar in bars] == ["A", "A"]


@pytest.mark.parametrize("numbers", [[5.0] * 3, [1.0, math.nan, 2.0]])
def test_without_a_span_there_is_no_plot(numbers: list[float]):
    assert NO_PLOT in render([("a", numbers)])


def test_the_rounding_of_thrice_a_tenth_is_plotted():
    assert NO_PLOT not in render([("a", [0.1] * 3)])


def test_a_width_of_zero_is_an_empty_frame():
    assert set(render([A, B], width=0, header=False, compare=False).splitlines()[:4]) == {
        "++",
        "||",
    }


@pytest.mark.parametrize("width", [-1, 1])
def test_a_width_that_crashes_ministat_is_refused(width: int):
    with pytest.raises(UsageError, match=r"width .* too narrow"):
        render([A], width=width)
    assert render([A], width=width, plot=False) == render([A], plot=False)


@pytest.mark.parametrize("width", [10**9, 10**18])
def test_a_plot_beyond_all_screens_is_refused(width: int):
    with pytest.raises(UsageError, match=f"1 rows of {width} characters"):
        render([A], width=width)


@pytest.mark.parametrize("count", [0, 8])
def test_one_to_seven_data_sets_are_taken(count: int):
    with pytest.raises(UsageError, match=f"{count} data sets"):
        render([A] * count)


def test_a_data_set_that_is_refused_is_named():
    with pytest.raises(UsageError, match=r"r311849: a sample of 2 values"):
        render([A, ("r311849", [1.0, 2.0])])


@given(datasets, st.integers(2, 100), st.booleans())
def test_every_plot_is_a_closed_frame(shown, width: int, separate: bool):
    lines = render(shown, width=width, separate=separate).splitlines()[len(shown) :]
    frame = f"+{'-' * width}+"
    if lines[0] != NO_PLOT.strip():
        inside = lines[1 : lines.index(frame, 1)]
        assert lines[0] == frame
        assert all(len(line) == width + 2 and line[0] == line[-1] == "|" for line in inside)
        assert sum("A" in line for line in inside) == (len(shown) if separate else 1)


@given(st.lists(st.integers(-1000, 1000), min_size=3, max_size=40), st.integers(2, 100))
def test_a_single_data_set_shows_each_point_once(numbers: list[int], width: int):
    text = render([("a", [float(number) for number in numbers])], width=width, header=False)
    if not text.startswith(NO_PLOT):
        assert "".join(plot_rows(text)).count("x") == len(numbers)
