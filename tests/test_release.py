"""`make release` on a small project: what it makes, and what it refuses."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import CHECKOUT
from tests.running import ran

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "small-thing"
version = "1.2.0"
requires-python = ">=3.11"
description = "A project without dependencies"
readme = {file = "CHANGELOG.md", content-type = "text/markdown"}
license = "BSD-2-Clause"
"""
# A hook of hatchling that puts chance into the wheel.
CHANCE = """\
import secrets
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        with open(self.root + "/small_thing/made.py", "w") as made:
            made.write(f"NUMBER = '{secrets.token_hex()}'")
        build_data["artifacts"].append("small_thing/made.py")
"""
MADE = [
    *("LICENCES.txt", "SHA256SUMS", "small-thing-1.2.0.cdx.json"),
    *("small_thing-1.2.0-py3-none-any.whl", "small_thing-1.2.0.tar.gz"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clean checkout of a release that is to be made."""
    root = tmp_path / "project"
    (root / "small_thing").mkdir(parents=True)
    (root / "small_thing" / "__init__.py").write_text('"""Small."""\n')
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0 (2026-12-01)\n\n* The first.\n")
    (root / ".gitignore").write_text("/dist/\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root)
    return root


def git(root: Path, *words: str) -> None:
    me = ("-c", "user.name=A Committer", "-c", "user.email=committer@example.org")
    subprocess.run(["git", *me, *words], cwd=root, check=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=A change")


def release(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ran([sys.executable, str(CHECKOUT / ".ci" / "release"), *words], cwd=root)


def refusal(root: Path, *words: str) -> str:
    """The one sentence with which nothing was released."""
    done = release(root, *words)
    assert done.returncode == 1, done.stderr
    assert not (root / "dist").exists()
    *_, sentence = done.stderr.splitlines()
    assert sentence.startswith("release: ")
    assert sentence.endswith(".")
    return sentence


def test_a_release_is_made_whole(project: Path) -> None:
    done = release(project, "build", "--no-isolation")
    assert done.returncode == 0, done.stderr
    dist = project / "dist"
    assert sorted(path.name for path in dist.iterdir()) == MADE
    table = [line.split() for line in done.stdout.splitlines() if "  dist/" in line]
    assert table == [[f"{(dist / name).stat().st_size:,}", f"dist/{name}"] for name in MADE]
    sums = dict(line.split()[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert sorted({*sums, "SHA256SUMS"}) == MADE
    for name, digest in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
    assert (dist / "LICENCES.txt").read_text() == "small-thing 1.2.0: BSD-2-Clause\n"
    bom = json.loads((dist / "small-thing-1.2.0.cdx.json").read_text())
    assert bom["bomFormat"] == "CycloneDX"
    assert bom["metadata"]["component"]["name"] == "small-thing"
    assert str(project.parent) not in json.dumps(bom)


def test_two_builds_that_differ_are_no_release(project: Path) -> None:
    (project / "hatch_build.py").write_text(CHANCE)
    with (project / "pyproject.toml").open("a") as settings:
        settings.write("[tool.hatch.build.targets.wheel.hooks.custom]\n")
    commit(project)
    assert "small_thing/made.py: keep times" in refusal(project, "build", "--no-isolation")


def test_changes_that_are_in_no_commit_are_no_release(project: Path) -> None:
    (project / "small_thing" / "new.py").write_text("")
    said = refusal(project, "build")
    assert "1 changes are in no commit, the first in small_thing/new.py: commit" in said


def test_a_version_without_a_section_is_no_release(project: Path) -> None:
    (project / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0.1\n\n## 11.2.0\n")
    commit(project)
    assert "CHANGELOG.md has no section 1.2.0: call *Unreleased*" in refusal(project, "build")


def test_a_version_is_released_once(project: Path) -> None:
    git(project, "tag", "--annotate", "--message=Released", "v1.2.0")
    (project / "small_thing" / "new.py").write_text("")
    commit(project)
    assert "v1.2.0 is the tag of another commit" in refusal(project, "build")


def test_metadata_that_a_registry_would_refuse_is_no_release(project: Path) -> None:
    (project / "README.rst").write_text("Heading\n==\n\n.. no-such-directive::\n")
    settings = (project / "pyproject.toml").read_text()
    settings = settings.replace("CHANGELOG.md", "README.rst").replace("markdown", "x-rst")
    (project / "pyproject.toml").write_text(settings)
    commit(project)
    said = refusal(project, "build", "--no-isolation")
    assert "`twine` failed: correct what is said above" in said


def test_a_trial_needs_a_wheel(project: Path) -> None:
    assert "run `make release` first" in refusal(project, "test")
