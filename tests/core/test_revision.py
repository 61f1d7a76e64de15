"""How a person may write a revision, and what is refused before git ever sees it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import (
    Ancestor,
    CommitCount,
    Dated,
    Name,
    Revision,
    RevisionRange,
    Spec,
    SvnNumber,
    parse_spec,
    spec_text,
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
        "~3",
        "@{",
        "main@",
        "main@{}",
        "main^{tree}",
        "main^{/fix}",
        "main:sys/kern",
        "main" + "^" * 21,
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
    assert "is not a revision" in refused.value.message
    assert refused.value.hint


REVISION_CHARACTERS = "abimnrv/._-0123456789~^@{}: T\\$;'\"\n"


@given(st.one_of(st.text(), st.text(alphabet=REVISION_CHARACTERS, max_size=30)))
def test_what_is_handed_on_is_safe_on_a_command_line(text: str) -> None:
    """That is a name alone; steps back are counted and dates read here."""
    try:
        spec = parse_spec(text)
    except UsageError:
        return
    assert text.isascii()
    assert not text.startswith(("-", "/", "."))
    assert not set(text) & set("\t\r\n\0'\"\\$`;&|<>()[]*?!#%=")
    while isinstance(spec, Ancestor | Dated):
        spec = spec.of
    if isinstance(spec, Name):
        assert not set(spec.text) & set(" {}~^:@")


@given(st.integers(min_value=0, max_value=999_999_999))
def test_a_label_reads_back_as_its_revision(number: int) -> None:
    assert parse_spec(revision(1, svn=number).label) == SvnNumber(number=number)
    assert parse_spec(revision(number).label) == CommitCount(number=number)


def test_a_range_counts_the_commits_after_its_old_end() -> None:
    chain = RevisionRange(revisions=tuple(revision(position) for position in range(7, 11)))
    assert (chain.old.label, chain.new.label, chain.n) == ("n7", "n10", 3)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("main^", Ancestor(of=Name(text="main"), generations=1)),
        ("main^^1~3", Ancestor(of=Name(text="main"), generations=5)),
        ("main~3~2", Ancestor(of=Name(text="main"), generations=5)),
        ("v1.0^{}", Name(text="v1.0")),
        ("v1.0^{commit}", Name(text="v1.0")),
        ("v1.0^0", Name(text="v1.0")),
        ("main~0", Name(text="main")),
        ("@", Name(text="HEAD")),
        ("@~2", Ancestor(of=Name(text="HEAD"), generations=2)),
        ("main@{2026-01-31}", Dated(of=Name(text="main"), day="2026-01-31")),
        ("@{2026-01-31 08:30}", Dated(of=Name(text="HEAD"), day="2026-01-31 08:30")),
        (
            "main@{2026-01-31T08:30:00Z}~1",
            Ancestor(of=Dated(of=Name(text="main"), day="2026-01-31T08:30:00Z"), generations=1),
        ),
    ],
)
def test_what_git_takes_on_the_first_parent_chain_is_taken(text: str, spec: Spec) -> None:
    assert parse_spec(text) == spec
    assert parse_spec(spec_text(spec)) == spec


def test_a_day_means_its_end_and_a_time_itself_in_utc() -> None:
    day = Dated(of=Name(text="main"), day="1970-01-02")
    time = Dated(of=Name(text="main"), day="1970-01-02T00:00:30Z")
    assert (day.at_s, time.at_s) == (2 * 86400 - 1, 86430)


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("v1..v2", "a range has two ends: name them one by one"),
        ("main:sys/kern", "the text after ':' is a file or a message"),
        (":/fix", "the text after ':' is a file or a message"),
        ("main^2", "leaves the first-parent history; a merge is one commit here, and ^2 one"),
        ("main@{1}", "'1' of 'main@{1}' is no date; write main@{2026-01-31}, in UTC"),
        ("main@{yesterday}", "'yesterday' of 'main@{yesterday}' is no date"),
        ("main@{2026-02-30}", "'2026-02-30' of 'main@{2026-02-30}' is no date"),
        ("main@{1969-01-01}", "is no date"),
        ("main@{u}", "'u' of 'main@{u}' is no date"),
    ],
)
def test_what_was_understood_is_said(text: str, understood: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_spec(text)
    assert understood in str(refused.value)


@given(st.text(alphabet="mainr1v0~^@{}:/.-+ 26T", max_size=40))
def test_what_is_read_is_safe_and_written_back(text: str) -> None:
    try:
        spec = parse_spec(text)
    except UsageError:
        return
    assert parse_spec(spec_text(spec)) == spec
    assert not spec_text(spec).startswith("-")
    assert ".." not in spec_text(spec)
