"""The store, the lock, the kept builds and the revisions of a local search."""

import math
import os
import sqlite3
import stat
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.metric import Metric
from buildbot_bench.local.builds import Room, Workshop, opened
from buildbot_bench.local.recipe import BuildRecipe, BuildStep
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.local.store import NewBuild, NewRun, Store
from buildbot_bench.local.trees import pack, unpack
from buildbot_bench.programs import Git
from tests.gitrepo import Commit, add_commits, git


def test_a_second_process_is_kept_out(repository, checkout):
    with (
        pytest.raises(InfraError, match=f"process {os.getpid()} measures in"),
        opened(Git.around(checkout), most_bytes=1),
    ):
        pass


def test_the_evidence_is_for_its_owner_alone(repository):
    evidence = repository.room.home / "evidence.sqlite"
    assert stat.S_IMODE(evidence.stat().st_mode) == 0o600


def test_evidence_of_another_release_is_refused(tmp_path):
    path = tmp_path / "evidence.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(InfraError, match="has version 7 of the tables"):
        Store(path)


def test_evidence_from_before_suites_is_kept_and_a_value_of_one_takes_twenty_bytes(tmp_path):
    path = tmp_path / "evidence.sqlite"
    named = {
        Metric(name=f"BM_long_name/{n}", unit="ns", higher_is_better=False): 1e6 * math.pi**n
        for n in range(300)
    }
    one = NewRun(image_id=1, unit="s", value=2.5, at_s=9.0, duration_s=1.0)
    made = NewBuild(recipe="r", sha="1", ordinal=0, place="p", build_s=1.0, kernel="k")
    store = Store(path)
    campaign = store.campaign("digest", {}, now=0.0)
    store.put_image(made, now=0.0)
    store.put_iteration(campaign, one)
    store.close()
    with sqlite3.connect(path) as db:  # as version 2 had it
        db.execute("ALTER TABLE iterations DROP COLUMN named")
        db.execute("ALTER TABLE iterations DROP COLUMN suite_id")
        db.execute("DROP TABLE suites")
        db.execute("PRAGMA user_version = 2")
    store = Store(path)
    for _ in range(3):
        store.put_iteration(campaign, replace(one, value=300.0, named=named))
    old, *new = store.iterations(campaign)
    assert (old.value, old.named) == (2.5, {})
    assert [run.named for run in new] == [pytest.approx(named, rel=1e-11)] * 3
    with sqlite3.connect(path) as db:
        sizes = db.execute("SELECT length(named) FROM iterations WHERE named IS NOT NULL")
        assert all(size <= 20 * 300 for (size,) in sizes.fetchall())
        assert db.execute("SELECT count(*) FROM suites").fetchone() == (1,)


def test_what_is_no_evidence_is_refused(tmp_path):
    path = tmp_path / "evidence.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(InfraError, match="not a database; make room, or move the file away"):
        Store(path)


def test_the_least_used_builds_go_when_there_are_too_many(repository, checkout):
    room = Room(home=repository.room.home, most_bytes=25_000)
    store = repository.store
    workshop = Workshop(repository.git, room, store, BuildRecipe())
    between = Revisions(git=repository.git).between("n1", "n4")
    images = [
        store.put_image(workshop.build(one, 0, beside=False), now=float(now))
        for now, one in enumerate(between.revisions)
    ]
    campaign = store.campaign("digest", {}, now=0.0)
    run = NewRun(image_id=images[0].id, unit="s", value=1.0, at_s=9.0, duration_s=1.0)
    store.put_iteration(campaign, run)
    workshop.trim({images[3].id})
    assert [workshop.has(image) for image in images] == [True, False, False, True]
    assert [image.is_kept for image in store.images(images[0].recipe)] == [1, 0, 0, 1]


def test_no_worktree_is_left(repository):
    workshop = Workshop(
        repository.git,
        repository.room,
        repository.store,
        BuildRecipe(steps=(BuildStep(script="exit 1"),)),
    )
    made = workshop.build(Revisions(git=repository.git).one("main"), 0, beside=True)
    workshop.clear()
    assert made.reason == "the build ended with status 1\n(it printed nothing)"
    assert len(repository.git.text("worktree", "list").splitlines()) == 1
    assert not repository.room.trees.exists()


def test_a_worktree_of_the_users_on_a_disk_that_is_away_stays(repository, tmp_path):
    users, ours = tmp_path / "disk" / "tree", repository.room.trees / "killed"
    for tree in (users, ours):
        repository.git.bytes("worktree", "add", "--detach", str(tree), "main")
    repository.git.bytes("worktree", "lock", str(ours))
    git(users, "rm", "-q", "number")
    (tmp_path / "disk").rename(tmp_path / "away")
    workshop = Workshop(repository.git, repository.room, repository.store, BuildRecipe())
    workshop.clear()
    one = Revisions(git=repository.git).one("main")
    for _ in range(2):
        workshop.build(one, 0, beside=False)
    (tmp_path / "away").rename(tmp_path / "disk")
    assert git(users, "status", "--short") == "D  number"
    assert str(ours) not in repository.git.text("worktree", "list")


def test_a_packed_tree_comes_back_whole_and_its_digest_knows_no_times(tmp_path):
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin" / "run").write_text("#!/bin/sh\n")
    (tree / "bin" / "run").chmod(0o755)
    (tree / "link").symlink_to("bin/run")
    digest, _ = pack(tree, (), tmp_path / "a.tar")
    unpack(tmp_path / "a.tar", tmp_path / "again")
    assert os.access(tmp_path / "again" / "link", os.X_OK)
    os.utime(tree / "bin" / "run", (1, 1))
    assert pack(tree, (), tmp_path / "b.tar")[0] == digest
    (tree / "bin" / "run").write_text("#!/bin/sh \n")
    assert pack(tree, (), tmp_path / "c.tar")[0] != digest


def test_only_what_is_named_is_kept(tmp_path):
    (tmp_path / "tree").mkdir()
    for name in ("bench", "README"):
        (tmp_path / "tree" / name).write_text(name)
    pack(tmp_path / "tree", ("ben*",), tmp_path / "a.tar")
    unpack(tmp_path / "a.tar", tmp_path / "again")
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["bench"]
    with pytest.raises(UntestableRevision, match="made no missing"):
        pack(tmp_path / "tree", ("missing",), tmp_path / "b.tar")
    with pytest.raises(UsageError, match="/etc"):
        pack(tmp_path / "tree", ("/etc",), tmp_path / "b.tar")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("main", "main~2", "did you mean main~2 for OLD and main for NEW"),
        ("main", "main", "are the same commit"),
        ("nothing", "main", "'nothing' is no commit"),
        ("--all", "main", "'--all' is no commit"),
        ("n99", "main", "n99 is not among n1 to n12"),
        ("orphan", "main", "they share no history"),
    ],
)
def test_ends_that_make_no_range_are_refused(checkout, old, new, said):
    add_commits(checkout, [Commit(files={"a": "b"})], branch="orphan")
    with pytest.raises(UsageError) as caught:
        Revisions(git=Git.around(checkout)).between(old, new)
    assert said in str(caught.value)


def test_a_range_has_first_parents_with_their_counts(checkout):
    between = Revisions(git=Git.around(checkout)).between("main~2", "main")
    assert [(one.position, one.subject) for one in between.revisions] == [
        (10, "Change 10"),
        (11, "Change 11"),
        (12, "Change 12"),
    ]


def test_a_shallow_clone_is_said_so(checkout, tmp_path):
    url = f"file://{checkout}"
    git(tmp_path, "clone", "-q", "--depth", "3", url, "shallow")
    git(
        tmp_path / "shallow",
        "fetch",
        "-q",
        "--depth",
        "1",
        "origin",
        git(checkout, "rev-parse", "main~8"),
    )
    for old in ("FETCH_HEAD", "main~9", "n99"):
        with pytest.raises(UsageError, match="git fetch --unshallow"):
            Revisions(git=Git.around(tmp_path / "shallow")).between(old, "HEAD")


def test_no_repository_is_said_so(tmp_path):
    with pytest.raises(UsageError, match="is in no git repository"):
        Git.around(tmp_path)


def built(repository, *scripts: str, upload: str, directory: str = "."):
    steps = tuple(BuildStep(script=one, directory=directory, strict=True) for one in scripts)
    recipe = BuildRecipe(steps=steps, upload=upload)
    workshop = Workshop(repository.git, repository.room, repository.store, recipe)
    made = workshop.build(Revisions(git=repository.git).one("main"), 0, beside=False)
    return workshop, repository.store.put_image(made, now=1.0)


def test_what_a_workflow_uploads_is_what_is_unpacked(repository):
    pack_it = "mkdir out; echo $BENCH_REVISION > out/made; tar -czf out.tar.gz -C out made"
    workshop, image = built(repository, "echo other > left", pack_it, upload="out.tar.gz")
    place = workshop.unpacked(image)
    assert [path.name for path in place.iterdir()] == ["made"]
    assert (place / "made").read_text() == "n12\n"
    assert [path.name for path in repository.room.trees.iterdir()] == [place.name]


def test_a_program_that_is_uploaded_alone_has_the_farms_name(repository):
    script = "printf '#!/bin/sh\\necho 3\\n' > run"
    workshop, image = built(repository, script, upload="run")
    assert [path.name for path in workshop.unpacked(image).iterdir()] == ["artefact"]


@pytest.mark.parametrize(
    ("script", "directory", "reason"),
    [
        ("false; true", ".", "the build ended with status 1"),
        ("true", ".", "the build made no out.tar"),
        ("ln -s number out.tar", ".", "out.tar is a symbolic link, which is not followed"),
        ("cp number out.tar", ".", "the artefact is neither a tar archive nor a program"),
        ("true", "elsewhere", "the build's directory elsewhere is not there"),
    ],
)
def test_a_revision_without_its_artefact_is_untestable(script, directory, reason, repository):
    _, image = built(repository, script, upload="out.tar", directory=directory)
    assert image.reason.startswith(reason)
    assert list(repository.room.trees.iterdir()) == []
