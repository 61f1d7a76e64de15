"""Commits that git takes and libgit2 refuses are commits like others, with what can be read."""

from pathlib import Path

import pygit2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.revision import Revision
from buildbot_bench.history import Fit, MirrorHistory
from tests.gitrepo import Commit, add_commits, add_raw_commit, git, make_repository, numbered
from tests.gitrepo import write_object as written

DATE = b"1484000000 +0000"
ANN = b"Ann <ann@example.org>"


def on_progress(
    author: bytes, committer: bytes, subject: bytes = b"odd", more: bytes = b""
) -> bytes:
    return b"author %s\ncommitter %s\n%s\n%s\n" % (author, committer, more, subject)


ODD = {
    "a date beyond int64": on_progress(*[ANN + b" 99999999999999999999 +0000"] * 2),
    "a date that is no number": on_progress(*[ANN + b" soon +0000"] * 2),
    "no brackets": on_progress(b"Ann of example.org " + DATE, b"Ann"),
    "no author": b"committer %s %s\n\nodd\n" % (ANN, DATE),
    "nobody": b"\nodd\n",
    "no blank line": b"author %s %s\n" % (ANN, DATE),
    "brackets the wrong way round": on_progress(b">Ann< " + DATE, b">Ann< " + DATE),
    "no date": on_progress(ANN, ANN),
    "another order": b"committer %s %s\nauthor %s %s\n\nodd\n" % (ANN, DATE, ANN, DATE),
    "NUL": on_progress(b"An\0n <ann@example.org> " + DATE, ANN + b" " + DATE, b"o\0dd"),
}


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, origin: Path) -> str:
    """An odd commit, r4's child and the parent of two more."""
    make_repository(origin, numbered(1, 4))
    sha = add_raw_commit(origin, ODD[request.param])
    add_commits(origin, [Commit(files={"sys/kernel.c": "6"}, svn=6), Commit(svn=7)])
    return sha


def test_git_takes_the_push(origin: Path, odd: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "upstream")
    git(origin, "push", "-q", str(tmp_path / "upstream"), "refs/heads/main")
    assert git(tmp_path / "upstream", "rev-parse", "main~2") == odd


def test_the_history_is_read_across_it(history: MirrorHistory, odd: str) -> None:
    history.fetch()
    found = history.range(history.resolve("r3"), history.resolve("r7")).revisions
    assert [one.label for one in found] == ["r3", "r4", "n5", "r6", "r7"]
    assert [one.label for one in history.since("main", found[0])] == ["r4", "n5", "r6", "r7"]
    assert history.tip("main").position == 7
    assert history.touching(found[1:], ["sys/**"], []) == {one.sha for one in found[1:4]}


@pytest.mark.parametrize("packed", [False, True])
def test_it_is_found_by_its_names(
    origin: Path, history: MirrorHistory, odd: str, packed: bool
) -> None:
    git(origin, "update-ref", "refs/heads/fix", odd)
    git(origin, "update-ref", "refs/tags/light", odd)
    tagged = f"object {odd}\ntype commit\ntag heavy\ntagger Ann soon\n\nodd\n"
    git(origin, "update-ref", "refs/tags/heavy", written(origin, tagged.encode(), "tag"))
    if packed:
        git(origin, "repack", "-a", "-d", "--quiet")
    history.fetch()
    revision = history.resolve("n5")
    for name in (odd, odd[:12], "fix", "light", "heavy"):
        assert history.resolve(name) == revision
    assert (revision.sha, revision.position, revision.parent_sha) == (
        odd,
        5,
        history.resolve("r4").sha,
    )


def test_a_fetch_that_tidies_the_mirror_up_ends(
    origin: Path, history: MirrorHistory, odd: str
) -> None:
    """Debian 12's git 2.39 never ends a commit-graph with a date beyond 64 bits."""
    history.fetch()
    for name, value in {"fetch.unpackLimit": "1", "gc.autoPackLimit": "1"}.items():
        git(history.path, "config", name, value)
    for number in (8, 9):
        add_commits(origin, numbered(number, number))
        history.fetch(timeout_s=60)
    packs = list(history.path.glob("objects/pack/*.pack"))
    assert len(packs) == 1
    assert history.tip("main").label == "r9"


def test_what_it_changes_is_read(history: MirrorHistory, odd: str) -> None:
    history.fetch()
    revision = history.resolve(odd)
    assert history.particulars(revision).paths == ("sys/kernel.c",)
    assert "+odd" in history.changed_lines(revision)
    assert b"+odd" in history.patch(revision)
    names = ["n3", "n4", "n5", "n7"]
    fits = history.fits(revision, [history.resolve(name).sha for name in names])
    assert [*fits.values()] == [Fit.NOT, Fit.FITS, Fit.IN, Fit.IN]
    later = history.fits(history.resolve("r6"), [history.resolve(name).sha for name in names])
    assert [*later.values()] == [Fit.NOT, Fit.NOT, Fit.FITS, Fit.IN]


def read(origin: Path, history: MirrorHistory, text: bytes) -> Revision:
    make_repository(origin, numbered(1, 1))
    sha = add_raw_commit(origin, text)
    history.fetch()
    return history.resolve(sha)


@pytest.mark.parametrize(
    ("line", "author", "at_s"),
    [
        (ANN + b" " + DATE, "Ann <ann@example.org>", 1484000000),
        (ANN + b" 1484000000", "Ann <ann@example.org>", 1484000000),
        (ANN + b" 253402300799 +0000", "Ann <ann@example.org>", 253402300799),
        (ANN + b" 253402300800 +0000", "Ann <ann@example.org>", 0),
        (ANN + b" 99999999999999999999 +0000", "Ann <ann@example.org>", 0),
        (ANN + b" -5 +0000", "Ann <ann@example.org>", 0),
        (ANN + b" soon +0000", "Ann <ann@example.org>", 0),
        (b"<ann@example.org> " + DATE, "<ann@example.org>", 1484000000),
        (b"Ann of example.org " + DATE, "Ann of example.org", 1484000000),
        (b"Ann of 42", "Ann of 42", 0),
        (b"Ann <ann@example.org", "Ann <ann@example.org", 0),
        (b"\xe2\x80\xaenA <a@b> " + DATE, "\ufffdnA <a@b>", 1484000000),
        (b"J\xf6rg <j@b> " + DATE, "J\ufffdrg <j@b>", 1484000000),
        (b"", "", 0),
    ],
)
def test_who_and_when_are_read_as_far_as_they_are_legible(
    origin: Path, history: MirrorHistory, line: bytes, author: str, at_s: int
) -> None:
    revision = read(origin, history, on_progress(line, line))
    assert (revision.author, revision.committed_at_s) == (author, at_s)
    assert revision.subject == "odd"
    assert history.particulars(revision).committer == author


@pytest.mark.parametrize(
    ("encoding", "subject", "shown"),
    [
        (b"ISO-8859-1", b"J\xf6rg", "Jörg"),
        (b"koi8-r", b"\xd1\xc4\xd2\xcf", "ядро"),
        (b"utf-8", b"J\xf6rg", "J\ufffdrg"),
        (b"hex", b"4a", "4a"),
        (b"unicode_escape", b"\\x41", "\\x41"),
        (b"idna", b"xn--a", "xn--a"),
        (b"no such thing", b"J\xc3\xb6rg", "Jörg"),
        (b"x\0y", b"J\xc3\xb6rg", "Jörg"),
        (b"9" * 5000, b"J\xc3\xb6rg", "Jörg"),
    ],
    ids=range(9),
)
def test_the_text_is_read_in_its_own_encoding_where_that_is_one_for_text(
    origin: Path, history: MirrorHistory, encoding: bytes, subject: bytes, shown: str
) -> None:
    who = subject + b" <a@b> " + DATE
    revision = read(origin, history, on_progress(who, who, subject, b"encoding %s\n" % encoding))
    assert (revision.subject, revision.author) == (shown, f"{shown} <a@b>")


def test_notes_that_no_libgit2_reads_are_read(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(1, 3))
    tree = git(origin, "rev-parse", "refs/notes/commits^{tree}")
    odd = written(origin, b"tree %s\nauthor Ann\n\nNotes\n" % tree.encode())
    git(origin, "update-ref", "refs/notes/commits", odd)
    history.fetch()
    assert history.resolve("r2").position == 2


@pytest.mark.parametrize("kind", ["blob", "tag"])
def test_notes_that_are_none_leave_the_commits_without_numbers(
    origin: Path, history: MirrorHistory, kind: str
) -> None:
    make_repository(origin, numbered(1, 3))
    other = git(origin, "rev-parse", "main:sys/kernel.c")
    if kind == "tag":
        other = written(origin, f"object {other}\ntype blob\ntag x\n\nx\n".encode(), "tag")
    git(origin, "update-ref", "refs/notes/commits", other)
    history.fetch()
    assert history.tip("main").label == "n3"


HEADS = st.lists(
    st.one_of(
        st.binary(max_size=60),
        st.builds(
            lambda word, text: word + b" " + text,
            st.sampled_from([b"tree", b"parent", b"author", b"committer", b"encoding", b"gpgsig"]),
            st.one_of(
                st.binary(max_size=60),
                st.sampled_from([b"PARENT", b"TREE", ANN + b" " + DATE, b"ISO-8859-1", b"utf-16"]),
            ),
        ),
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> MirrorHistory:
    home = tmp_path_factory.mktemp("bare")
    make_repository(home / "origin", numbered(1, 2))
    history = MirrorHistory(home / "mirror", str(home / "origin"))
    history.fetch()
    return history


@given(heads=HEADS, message=st.binary(max_size=300), proper=st.booleans())
@example(heads=[], message=b"", proper=False)
def test_any_object_is_a_revision_or_an_error_of_ours(
    bare: MirrorHistory, heads: list[bytes], message: bytes, proper: bool
) -> None:
    parent = bare.tip("main").sha.encode()
    tree = git(bare.path, "rev-parse", "main^{tree}").encode()
    lines = [line.replace(b"PARENT", parent).replace(b"TREE", tree) for line in heads]
    if proper:
        lines = [b"tree " + tree, b"parent " + parent, *lines]
    raw = b"\n".join(lines) + b"\n\n" + message
    repository = pygit2.Repository(str(bare.path))
    sha = str(repository.write(pygit2.enums.ObjectType.COMMIT, raw))
    try:
        revision = bare.resolve(sha)
        bare.particulars(revision)
        bare.range(bare.resolve("n1"), revision)
        bare.since("main", revision)
    except BenchError:
        return
    assert isinstance(revision, Revision)
    assert 0 <= revision.committed_at_s < 1 << 63
    for text in (revision.subject, revision.author):
        assert len(text) <= 200
        assert "\n" not in text
        assert "\0" not in text
        text.encode()
    if proper:
        assert (revision.position, revision.parent_sha) == (3, parent.decode())
