"""Which commits may change a kernel, by the files that its build read."""

import string
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core import read_files
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.read_files import (
    FileChange,
    ReadFiles,
    pack_read_files,
    parse_read_files,
    union,
)

READ = ReadFiles(
    names=frozenset(
        {"sys/net/if.c", "sys/net/if.h", "sys/kern/NOTES.md", "usr.sbin/config/", "share/mk/"}
    )
)
NAMES = st.text(string.ascii_letters + string.digits + "/._- é", min_size=1, max_size=60)


def edits(*paths: str) -> list[FileChange]:
    return [FileChange(path=path, edited=True) for path in paths]


@pytest.mark.parametrize(
    "path",
    [
        "sys/net/if.c",
        "sys/net/if.h",
        "sys/kern/NOTES.md",  # prose that a compiler read is no prose
        "usr.sbin/config/config.y",  # beside what a tool was built from
        "usr.sbin/config/main.c",
        "sys/kern/vnode_if.src",  # read by a script that lists nothing
        "sys/tools/vnode_if.awk",
        "configure",  # of the tree's own top
        "sys/conf/files",
        "sys/amd64/conf/GENERIC",
        "bin/cat/Makefile",  # rules count wherever they lie
        "Makefile.inc1",
        "lib/x.mk",
        "etc/syslog.conf",
        "CMakeLists.txt",
    ],
)
def test_a_commit_that_touches_what_may_be_read_may_change_the_kernel(path: str) -> None:
    assert READ.touched_by(edits("README.md", path))


@pytest.mark.parametrize(
    "path",
    [
        "sys/netinet/sctp.c",  # of the kernel's tree, but not compiled
        "sys/arm/arm/locore.S",
        "sys/dev/other/other.h",
        "bin/cat/cat.c",
        "bin/cat/cat.sh",
        "usr.sbin/config/config.8",
        "usr.sbin/config/tests/x.awk",  # a directory counts without those below
        "README.md",
        "sys/README.net",
        "share/man/man4/em.4",
    ],
)
def test_a_commit_that_touches_nothing_that_was_read_changes_no_kernel(path: str) -> None:
    assert not READ.touched_by(edits(path))


def test_what_is_added_removed_or_a_link_counts_as_read() -> None:
    assert READ.touched_by([FileChange(path="bin/cat/new.c", edited=False)])


def test_a_commit_without_files_changes_nothing() -> None:
    assert not READ.touched_by([])


@given(st.frozensets(NAMES, min_size=1))
def test_a_list_is_read_as_it_was_packed(names: frozenset[str]) -> None:
    assert parse_read_files(pack_read_files(ReadFiles(names=names))) == ReadFiles(names=names)


@given(st.frozensets(NAMES, min_size=1), st.frozensets(NAMES, min_size=1), NAMES)
def test_what_one_of_two_builds_read_counts(one, other, path) -> None:
    change = edits(path)
    both = union([ReadFiles(names=one), ReadFiles(names=other)])
    either = any(ReadFiles(names=names).touched_by(change) for names in (one, other))
    assert both.touched_by(change) or not either


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a\nb.c"],
        ["sys/\udcff.c"],
        ["x" * 401],
        [f"{n}.c" for n in range(read_files.MOST_FILES + 1)],
    ],
)
def test_what_cannot_be_listed_whole_is_not_listed(names: list[str]) -> None:
    with pytest.raises(UsageError):
        pack_read_files(ReadFiles(names=frozenset(names)))


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"sys/net/if.c\n",
        pack_read_files(READ)[:-9],
        zlib.compress(b"bench-read-files 2\na.c\n"),
        zlib.compress(b"bench-read-files 1\na.c\nb."),
        zlib.compress(b"bench-read-files 1\n"),
        zlib.compress(b"bench-read-files 1\na\x01.c\n"),
        zlib.compress(b"bench-read-files 1\n\xff.c\n"),
        zlib.compress(b"bench-read-files 1\n" + b"x" * read_files.MOST_TEXT),
    ],
)
def test_what_is_no_whole_list_is_refused(packed: bytes) -> None:
    with pytest.raises(UsageError):
        parse_read_files(packed)


@given(st.binary(max_size=200))
def test_strange_bytes_are_refused(packed: bytes) -> None:
    with pytest.raises(UsageError):
        parse_read_files(packed)


def test_a_list_of_many_names_stays_small() -> None:
    names = frozenset(f"sys/dev/driver{n // 20}/file{n}.c" for n in range(12_000))
    assert len(pack_read_files(ReadFiles(names=names))) < 100_000
