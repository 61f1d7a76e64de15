"""The demonstration's repositories are what they say: labels, notes, and one slow commit."""

import statistics
import subprocess
from itertools import pairwise

import pytest

from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.demo.cli import make_recorded_history, make_replay_history
from buildbot_bench.demo.generated_history import (
    CRASHES,
    CULPRIT,
    DOES_NOT_COMPILE,
    LABELS,
    UNCHANGED,
    git,
    make_embedded_history,
    publish,
)
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.files import sha256

SETTINGS = EmbeddedSettings(duration_s=0.2)


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    path = tmp_path_factory.mktemp("replay") / "src.git"
    return path, make_replay_history(path)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    path = tmp_path_factory.mktemp("embedded") / "src.git"
    return path, make_embedded_history(path)


@pytest.fixture(scope="module")
def kernels(embedded, tmp_path_factory):
    """The kernel of each label that compiles, built as the builder worker does it."""
    path, shas = embedded
    root = tmp_path_factory.mktemp("kernels")
    git(root, "clone", "--quiet", str(path), "tree")
    built = {}
    for label, sha in shas.items():
        git(root / "tree", "checkout", "--quiet", sha)
        git(root / "tree", "clean", "-fdqx")
        made = subprocess.run(
            ["make", "-C", root / "tree", "kernel"], capture_output=True, check=False
        )
        if made.returncode == 0:
            built[label] = (root / "tree" / "kernel").rename(root / label)
    return built


def svn_of(path, sha):
    return git(path, "notes", "show", sha).strip()


def test_the_recorded_history_has_the_published_kernels_on_their_branches(tmp_path):
    path = tmp_path / "src.git"
    shas = make_recorded_history(path)
    assert git(path, "rev-parse", "main").strip() == shas["r317849"]
    assert git(path, "rev-parse", "stable/10").strip() == shas["r295802"]
    main = git(path, "rev-list", "--first-parent", "main").split()
    for label in ("r295150", "r299288", "r311848", "r313448", "r317849"):
        assert shas[label] in main
        assert git(path, "show", f"{shas[label]}:kernel") == f"{label}\n"
    assert git(path, "merge-base", "main", "stable/10").strip() == shas["r256281"]
    assert svn_of(path, shas["r295802"]) == "svn path=/stable/10/; revision=295802"
    assert svn_of(path, shas["r317849"]) == "svn path=/head/; revision=317849"


def test_the_replay_history_has_the_model_cases_numbers(replay):
    path, shas = replay
    assert git(path, "rev-list", "--reverse", "main").split() == list(shas.values())
    assert list(shas) == [f"r{svn}" for svn in range(311848, 313449)]
    for label in ("r311848", "r311849", "r312905", "r313448"):
        assert git(path, "show", f"{shas[label]}:kernel") == f"{label}\n"
        assert svn_of(path, shas[label]) == f"svn path=/head/; revision={label[1:]}"
    assert "iflib" in git(path, "log", "-1", "--format=%s", shas["r311849"])


@pytest.mark.parametrize("make", [make_replay_history, make_embedded_history])
def test_a_history_has_the_same_hashes_each_time(tmp_path, make):
    assert make(tmp_path / "one.git") == make(tmp_path / "two.git")


def test_commits_arrive_together_with_their_notes(embedded, tmp_path):
    path, shas = embedded
    target = tmp_path / "published" / "src.git"
    for label in (LABELS[0], "r311845", "r311845", LABELS[-1]):
        publish(path, target, label, shas)
        assert git(target, "rev-parse", "main").strip() == shas[label]
        noted = git(target, "notes", "list").splitlines()
        assert len(noted) == LABELS.index(label) + 1
        assert svn_of(target, shas[label]).endswith(f"revision={label[1:]}")


def test_a_history_is_made_without_the_persons_own_git_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    shas = make_embedded_history(tmp_path / "src.git")
    assert "somebody" not in git(tmp_path / "src.git", "log", "--format=%an %cn")
    assert len(shas) == len(LABELS)


def test_every_commit_but_the_broken_one_compiles(kernels):
    assert set(LABELS) - set(kernels) == DOES_NOT_COMPILE


def test_commits_that_change_no_byte_are_the_ones_named_and_no_others(kernels):
    digests = {label: sha256(path) for label, path in kernels.items()}
    same = {new for old, new in pairwise(LABELS) if digests.get(old) == digests.get(new)}
    assert same == UNCHANGED


def test_one_commit_crashes_and_only_the_culprit_is_slow(kernels, tmp_path):
    def boot(label):
        kernel = kernels[label]
        with Dut(EmbeddedDriver(SETTINGS, tmp_path), kernel, sha256(kernel)) as dut:
            dut.boot()
            dut.verify()
            return dut.blast("forwarding").values["packets/CPU-s"]

    before = statistics.median(boot(LABELS[0]) for _ in range(3))
    crashed = set()
    for label in kernels:
        if label in CRASHES:
            with pytest.raises(UntestableRevision, match="SIGSEGV when it booted"):
                boot(label)
            crashed.add(label)
            continue
        slow = LABELS.index(label) >= LABELS.index(CULPRIT)
        expected = pytest.approx(0.75 if slow else 1.0, abs=0.08)
        # One boot may be unlucky on a machine that has other work; the middle of three is not.
        if boot(label) / before != expected:
            assert statistics.median(boot(label) for _ in range(3)) / before == expected, label
    assert crashed == CRASHES


@pytest.mark.parametrize("culprit", ["r311841", "r311849", "r311853"])
@pytest.mark.parametrize(
    ("planted", "word"),
    [("slowdown", "layer_queue"), ("drops", "frame_queue"), ("batching", "count < batch")],
)
def test_each_change_can_be_planted_anywhere(tmp_path, culprit, planted, word):
    shas = make_embedded_history(tmp_path / "src.git", culprit, planted)
    bad = [
        label
        for label, sha in shas.items()
        if word in git(tmp_path / "src.git", "show", f"{sha}:src/netif.c")
    ]
    assert bad == list(LABELS[LABELS.index(culprit) :])


def test_nothing_can_be_planted_before_the_first_change(tmp_path):
    with pytest.raises(UsageError, match="there are r311841 to r311853"):
        make_embedded_history(tmp_path / "src.git", culprit=LABELS[0])
