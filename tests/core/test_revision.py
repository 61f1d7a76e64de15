"""How a person may write a revision, and what is refused before git ever sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import (
    CommitCount,
    Name,
    Revision,
    RevisionRange,
    SvnNumber,
    parse_spec,
)


def revision(position: int, svn: int | None = None) -> Revision:
    return Revision(sha=f"{position:040x}", position=position, svn=svn)


def test_r_and_digits_is_a_subversion_number() -> None:
    assert parse_spec("r311849") == SvnNumber(number=311849)


def test_n_and_digits_is_a_commit_count() -> None:
    assert parse_spec("n245062") == CommitCount(number=245062)


@pytest.mark.parametrize(
    "text",
    ["main", "stable/14", "release/14.1.0", "f2fa1b708ab8", "f" * 40, "r311849M", "n", "_wip"],
)
def test_all_else_that_git_could_name_is_a_name(text: str) -> None:
    assert parse_spec(text) == Name(text=text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-x",
        "--output=/etc/passwd",
        "r1..r2",
        "main^",
        "main~3~2",
        "main~3^",
        "~3",
        "main@{1}",
        "a b",
        "main\n",
        "$(reboot)",
        ":/fix",
        "/etc/passwd",
        ".hidden",
        "rá",
        "r٣",  # a digit, but none of ours
        "a" * 201,
    ],
)
def test_options_ranges_and_shell_characters_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_spec(text)
    assert "r311849, n245062" in refused.value.hint


@given(st.text())
def test_what_is_accepted_is_safe_on_a_command_line(text: str) -> None:
    try:
        parse_spec(text)
    except UsageError:
        return
    assert text.isascii()
    assert not text.startswith(("-", "/", "."))
    assert not set(text) & set(" \t\r\n\0'\"\\$`;&|<>(){}[]*?!~^:@#%=")


@given(st.integers(min_value=0, max_value=999_999_999))
def test_a_label_reads_back_as_its_revision(number: int) -> None:
    assert parse_spec(revision(1, svn=number).label) == SvnNumber(number=number)
    assert parse_spec(revision(number).label) == CommitCount(number=number)


def test_a_range_counts_the_commits_after_its_old_end() -> None:
    chain = RevisionRange(revisions=tuple(revision(position) for position in range(7, 11)))
    assert (chain.old.label, chain.new.label, chain.n) == ("n7", "n10", 3)
