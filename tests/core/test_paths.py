"""GitHub's path patterns; the cases of its "filter pattern cheat sheet" and more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.triggers import PathFilter, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*", "README.md"),
        ("**", "all/the/files.md"),
        ("*.js", "app.js"),
        ("**.js", "index.js"),
        ("**.js", "src/js/app.js"),
        ("docs/*", "docs/README.md"),
        ("docs/**", "docs/mona/octocat.txt"),
        ("docs/**/*.md", "docs/README.md"),
        ("docs/**/*.md", "docs/mona/hello-world.md"),
        ("**/docs/**", "docs/hello.md"),
        ("**/docs/**", "dir/docs/my-file.txt"),
        ("**/README.md", "README.md"),
        ("**/README.md", "js/README.md"),
        ("**/*src/**", "my-src/code/js/app.js"),
        ("**/migrate-*.sql", "db/sept/migrate-v1.sql"),
        ("*.jsx?", "page.js"),
        ("*.jsx?", "page.jsx"),
        ("v[0-9]+", "v10"),
        ("[a-z].c", "x.c"),
        (r"a\*b", "a*b"),
        ("sys/**", "sys/a\nb.c"),
        ("sys/net[46]/*", "sys/net6/ip.c"),
    ],
)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert compile_pattern(pattern).fullmatch(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*", "docs/README.md"),
        ("*.js", "js/app.js"),
        ("docs/*", "docs/mona/octocat.txt"),
        ("docs/**", "docs"),
        ("docs/**", "adocs/x"),
        ("**/docs/**", "mydocs/x"),
        ("sys", "sys/kern.c"),
        ("*.md", "axmd"),
        ("v[0-9]+", "v"),
        (r"a\*b", "axb"),
        ("sys/**", "SYS/x"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not compile_pattern(pattern).fullmatch(path)


def test_without_paths_all_files_count_but_the_ignored() -> None:
    counts = PathFilter(ignored=("**.md",)).counts
    assert counts("sys/kernel.c")
    assert not counts("doc/README.md")


def test_the_last_pattern_that_matches_decides() -> None:
    counts = PathFilter(paths=("sys/**", "!sys/doc/**", "sys/doc/keep.c")).counts
    assert counts("sys/kernel.c")
    assert not counts("sys/doc/other.c")
    assert counts("sys/doc/keep.c")


def test_ignored_wins_over_paths() -> None:
    assert not PathFilter(paths=("sys/**",), ignored=("sys/doc/**",)).counts("sys/doc/a")


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'\[z-a\]' is not a path pattern"):
        compile_pattern("[z-a]")


@given(st.text(alphabet=st.characters(exclude_characters="*?+[]!\\"), min_size=1))
def test_a_pattern_without_special_characters_is_the_path_itself(path: str) -> None:
    assert compile_pattern(path).fullmatch(path)
    assert not compile_pattern(path).fullmatch(path + "x")


@given(st.text(alphabet="ab/*?+[]-!\\.", max_size=12), st.text(alphabet="ab/.", max_size=12))
def test_any_pattern_is_either_usable_or_refused(pattern: str, path: str) -> None:
    try:
        counts = PathFilter(paths=(pattern,)).counts(path)
    except UsageError:
        return
    assert counts in {True, False}
