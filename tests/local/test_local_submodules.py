"""The submodules of a revision are there when it is built, from those that the user has."""

import shutil
from pathlib import Path

import pytest

from buildbot_bench.local.builds import Workshop, opened
from buildbot_bench.local.recipe import BuildRecipe, BuildStep
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git
from tests.gitrepo import Commit, git, make_repository

ALLOWED = ("-c", "protocol.file.allow=always")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout whose library `deps/lib` has a library `inner`, and moved on since the first."""
    make_repository(tmp_path / "inner.git", [Commit(files={"inner.h": "1\n"})])
    place = tmp_path / "project"
    for name, other, path in (("lib", "inner.git", "inner"), ("project", "lib", "deps/lib")):
        git(tmp_path, "init", "-q", "-b", "main", name)
        git(tmp_path / name, *ALLOWED, "submodule", "--quiet", "add", f"../{other}", path)
        git(tmp_path / name, "commit", "-q", "-m", "first")
    (tmp_path / "lib" / "lib.h").write_text("2\n")
    git(tmp_path / "lib", "add", "lib.h")
    git(tmp_path / "lib", "commit", "-q", "-m", "second")
    git(place / "deps" / "lib", "pull", "-q")
    git(place, "commit", "-q", "-a", "-m", "second")
    git(place, *ALLOWED, "submodule", "--quiet", "update", "--init", "--recursive")
    for away in ("lib", "inner.git"):
        shutil.move(tmp_path / away, tmp_path / f"{away} is away")
    return place


def built(project: Path, script: str, name: str = "HEAD"):
    with opened(Git.around(project), most_bytes=1 << 30) as repository:
        recipe = BuildRecipe(steps=(BuildStep(script=script, strict=True),))
        workshop = Workshop(repository.git, repository.room, repository.store, recipe)
        made = workshop.build(Revisions(git=repository.git).one(name), 0, beside=False)
        workshop.clear()
    return made, [workshop.notices.get() for _ in range(workshop.notices.qsize())]


def test_they_are_those_of_the_revision_and_of_theirs(project):
    inner = "test -f deps/lib/inner/inner.h && git -C deps/lib describe --always"
    for name, lib in {"HEAD": "test -f", "HEAD~1": "test ! -e"}.items():
        assert built(project, f"{inner} && {lib} deps/lib/lib.h", name)[0].reason is None
    assert git(project, "status", "--short") == ""
    assert git(project, "submodule", "status", "--recursive").count("\n") == 1


def test_without_a_checkout_of_them_they_come_from_the_git_directory(project):
    git(project, "submodule", "--quiet", "deinit", "--force", "--all")
    assert built(project, "test -f deps/lib/inner/inner.h")[0].reason is None


def test_one_that_has_another_name_and_place_by_now_is_found_by_its_commit(project):
    modules = project / ".git" / "modules"
    shutil.move(modules / "deps" / "lib", modules / "vendor")
    git(project, "config", "--rename-section", "submodule.deps/lib", "submodule.vendor")
    shutil.rmtree(project / "deps")
    made, told = built(project, "cat deps/lib/lib.h deps/lib/inner/inner.h")
    assert (made.reason, told) == (None, [])


def test_one_that_the_user_lacks_is_named_with_what_helps(project):
    shutil.rmtree(project / ".git" / "modules")
    shutil.rmtree(project / "deps")
    made, told = built(project, "cat deps/lib/lib.h")
    said = (
        "the submodule deps/lib stays empty, as you have it not: "
        "`git submodule update --init --recursive`"
    )
    assert told == [said]
    assert made.reason.endswith(f"\n{said}")


def test_a_commit_that_the_user_lacks_is_named_with_what_helps(project):
    git(project, "update-index", "--cacheinfo", f"160000,{'a' * 40},deps/lib")
    git(project, "commit", "-q", "-m", "third")
    made, told = built(project, "true")
    assert made.reason is None
    (said,) = told
    assert said.endswith("your checkout lacks aaaaaaaaaaaa of it: `git -C deps/lib fetch`")


def test_one_that_leads_elsewhere_is_not_followed(project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    script = (project / ".gitmodules").read_text()
    (project / ".gitmodules").write_text(script.replace('"deps/lib"', '"../../outside"'))
    git(project, "commit", "-q", "-a", "-m", "third")
    made, _ = built(project, "test ! -e deps/lib/lib.h")
    assert made.reason is None
    assert list(outside.iterdir()) == []
