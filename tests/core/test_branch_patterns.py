"""Which branches a list of patterns takes, and in which order."""

import pytest

from buildbot_bench.core.revision import is_literal, selected_branches

THERE = (
    "main",
    "stable/9",
    "stable/13",
    "stable/14",
    "releng/14.0",
    "releng/14.1",
    "releng/14.10",
    "releng/15.0",
    "vendor/llvm/release",
)


@pytest.mark.parametrize(
    ("patterns", "taken"),
    [
        (("main",), ("main",)),
        (("stable/*", "main"), ("stable/9", "stable/13", "stable/14", "main")),
        (("main", "releng/14.*"), ("main", "releng/14.0", "releng/14.1", "releng/14.10")),
        (("main", "stable/*", "!stable/9"), ("main", "stable/13", "stable/14")),
        (("main", "stable/*", "!stable/1[0-9]", "stable/14"), ("main", "stable/9", "stable/14")),
        (("main", "!main"), ()),
        (("*",), ("main",)),
        (("**", "!vendor/**", "!releng/**"), ("main", "stable/9", "stable/13", "stable/14")),
        (("stable/1[34]",), ("stable/13", "stable/14")),
        (("trunk",), ()),
    ],
)
def test_patterns_are_read_as_github_reads_them(patterns, taken) -> None:
    assert selected_branches(patterns, reversed(THERE)) == taken


@pytest.mark.parametrize(
    "name", ["stable/<script>", "stable/\u202e41", "-rf", "stable/\ufffd", "x" * 201, "a\nb", ""]
)
def test_a_name_that_nobody_means_well_by_is_passed_over(name: str) -> None:
    assert selected_branches(("**",), [name, "main"]) == ("main",)


def test_a_name_is_no_pattern() -> None:
    assert is_literal("releng/14.1")
    assert not is_literal("releng/14.*")
    assert not is_literal("!main")
