"""What is read from commits: the paths that they touch, and text that nobody may trust."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.read_files import FileChange
from buildbot_bench.history import MirrorHistory
from tests.gitrepo import Commit, add_commits, git, make_repository, numbered


def test_only_commits_that_touch_a_watched_path_count(origin: Path, history: MirrorHistory) -> None:
    shas = make_repository(
        origin,
        [
            Commit(files={"sys/a.c": "1", "README.md": "1"}),
            Commit(files={"README.md": "2"}),
            Commit(files={"sys/doc/a.md": "1"}),
            Commit(files={"sys/a.c": None, "sys/doc/a.md": "2"}),
            Commit(),
        ],
    )
    history.fetch()
    revisions = history.range(history.resolve("n1"), history.resolve("n5")).revisions
    assert history.touching(revisions, ["sys/**"], ["sys/doc/**"]) == {shas[0], shas[3]}
    assert history.touching(revisions, [], ["**.md"]) == {shas[0], shas[3]}
    assert history.touching(revisions, ["**"], []) == set(shas[:4])
    assert history.touching(revisions, [], []) == set(shas)


def test_a_merge_brings_all_that_its_side_branch_changed(
    origin: Path, history: MirrorHistory
) -> None:
    shas = make_repository(origin, [Commit(files={"README.md": "1"})] * 2)
    side = add_commits(origin, [Commit(files={"sys/a.c": "1"})], branch="side", on=shas[0])
    brought: dict[str, str | None] = {"sys/a.c": "1"}  # fast-import merges no files by itself
    merge = add_commits(origin, [Commit(merged=side[0], files=brought)], on=shas[1])
    history.fetch()
    revisions = history.since("main", history.resolve("n1"))
    assert history.touching(revisions, ["sys/**"], []) == {merge[0]}


def test_file_names_that_look_like_gits_own_output_mislead_nobody(
    origin: Path, history: MirrorHistory
) -> None:
    first = make_repository(origin, [Commit(files={"sys/a": "1"})])[0]
    hostile: dict[str, str | None] = {first: "1", ":100644 sys": "1", '"x\\nsys/y"': "1"}
    add_commits(origin, [Commit(files=hostile)])
    history.fetch()
    new_first = [history.resolve("n2"), history.resolve("n1")]
    assert history.touching(new_first, ["sys/**"], []) == {first}


def test_an_edited_file_is_told_from_what_is_added_removed_or_linked(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(
        origin,
        [
            Commit(files={"sys/a.c": "1", "sys/gone.c": "1", "sys/link.h": "a.h"}),
            Commit(files={"sys/a.c": "2", "sys/gone.c": None, "sys/new.c": "1"}),
            Commit(),
        ],
    )
    blob = git(origin, "rev-parse", "main:sys/link.h")
    stream = "commit refs/heads/main\ncommitter a <a@b> 1484000240 +0000\ndata 1\nx\n"
    stream += f"from refs/heads/main^0\nM 120000 {blob} sys/link.h\n"
    command = ["git", "-C", str(origin), "fast-import", "--quiet"]
    subprocess.run(command, input=stream.encode(), check=True)
    history.fetch()
    revisions = history.since("main", history.resolve("n1"))
    assert history.file_changes(revisions) == [
        (
            FileChange(path="sys/a.c", edited=True),
            FileChange(path="sys/gone.c", edited=False),
            FileChange(path="sys/new.c", edited=False),
        ),
        (),
        (FileChange(path="sys/link.h", edited=False),),
    ]


def test_1600_commits_are_asked_at_once(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, numbered(311848, 313448))
    history.fetch()
    revisions = history.since("main", history.resolve("n1"))
    assert len(history.touching(revisions, ["sys/**"], [])) == 1600


def test_a_commit_that_the_mirror_lacks_is_no_commit_without_changes(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(origin, numbered(1, 1))
    history.fetch()
    stranger = replace(history.tip("main"), sha="0123456789" * 4)
    with pytest.raises(InfraError, match="lacks 0123456789"):
        history.touching([stranger], ["sys/**"], [])


def test_subjects_and_authors_keep_no_control_characters(
    origin: Path, history: MirrorHistory
) -> None:
    subject = "safe\x1b[2J\u202e\u2066txt\x9b\u200b\tend".encode() + b"\xff\r\nBcc: all@x"
    author = "Mal\x1blory\u202e <m@example.org>"
    make_repository(origin, [Commit(subject=subject, author=author)])
    history.fetch()
    tip = history.tip("main")
    assert tip.subject == "safe\ufffd[2J\ufffd\ufffdtxt\ufffd\ufffd end\ufffd"
    assert tip.author == "Mal\ufffdlory\ufffd <m@example.org>"


def test_a_subject_of_a_megabyte_is_cut(origin: Path, history: MirrorHistory) -> None:
    make_repository(origin, [Commit(subject="é" * 1_000_000)])
    history.fetch()
    assert history.tip("main").subject == "é" * 199 + "…"


def test_a_commit_without_a_message_has_an_empty_subject(
    origin: Path, history: MirrorHistory
) -> None:
    make_repository(origin, [Commit(subject="")])
    history.fetch()
    assert history.tip("main").subject == ""


def test_particulars_are_committer_reviews_and_paths(origin: Path, history: MirrorHistory) -> None:
    message = (
        "Convert em(4) to iflib\n\nSee also D1, and read\n"
        "Differential Revision:\thttps://reviews.freebsd.org/D8299\n"
        "Differential Revision: D5213\n"
        "Differential Revision: https://reviews.freebsd.org/D8299\n"
        "Differential Revision: D12; reboot\n"
    )
    make_repository(origin, [Commit(files={"sys/dev/e1000/if_em.c": "1"}, subject=message)])
    history.fetch()
    known = history.particulars(history.resolve("n1"))
    assert known.reviews == (8299, 5213)
    assert known.paths == ("sys/dev/e1000/if_em.c",)
    assert known.committer == "A Committer <committer@example.org>"


def test_the_changed_lines_of_a_commit_name_the_function_that_they_are_in(
    origin: Path, history: MirrorHistory
) -> None:
    body = "int\nip_input(void)\n{\n\tint a;\n\treturn (%s);\n}\n"
    first, second = ({"sys/a.c": body % value, "b.bin": f"\0{value}"} for value in "12")
    make_repository(origin, [Commit(files=first), Commit(files=second)])
    history.fetch()
    diff = history.changed_lines(history.resolve("n2"))
    assert "diff --git a/sys/a.c b/sys/a.c\n" in diff
    assert "@@ -5 +5 @@ ip_input(void)\n-\treturn (1);\n+\treturn (2);\n" in diff
    assert "\0" not in diff
    assert "+int\n" in history.changed_lines(history.resolve("n1"))
