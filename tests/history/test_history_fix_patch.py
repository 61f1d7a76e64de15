"""Whether a fix is in a revision, fits it, or does not: asked of real git, in a bare mirror."""

from pathlib import Path

import pytest

from buildbot_bench.history import Fit, MirrorHistory
from tests.running import ran

FILE = "sys/net/if.c"
LINES = "".join(f"line {n}\n" for n in range(1, 21))
BROKEN = LINES.replace("line 10\n", "line ten\n")


def git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), "-c", "user.name=ann", "-c", "user.email=ann@x", *arguments]
    return ran(command, check=True).stdout.strip()


class Story:
    """r0 is well, r1 breaks line 10, r2 changes another file, r3 repairs it, r4 goes on."""

    def __init__(self, home: Path) -> None:
        self.place = home / "src"
        (self.place / "sys" / "net").mkdir(parents=True)
        git(home, "init", "--quiet", "--initial-branch=main", str(self.place))
        self.shas = [
            self.commit(LINES),
            self.commit(BROKEN),
            self.commit(BROKEN, other="new\n"),
            self.commit(LINES.replace("line 10\n", "line 10 repaired\n"), other="new\n"),
            self.commit(LINES.replace("line 10\n", "line 10 repaired\n"), other="newer\n"),
        ]
        self.history = MirrorHistory(home / "mirror.git", str(self.place))
        self.history.fetch()

    def commit(self, text: str, *, other: str = "old\n") -> str:
        (self.place / FILE).write_text(text)
        (self.place / "other.bin").write_bytes(b"\0" + other.encode())
        git(self.place, "add", "--all")
        git(self.place, "commit", "--quiet", "--allow-empty", "--message=change")
        return git(self.place, "rev-parse", "HEAD")

    def fits(self, fix: str, *shas: str) -> list[Fit]:
        asked = shas or tuple(self.shas)
        self.history.fetch()
        found = self.history.fits(self.history.resolve(fix), asked)
        return [found[sha] for sha in asked]


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_a_fix_fits_what_is_broken_and_is_in_from_then_on(story: Story) -> None:
    # What was never broken has no line to repair.
    assert story.fits(story.shas[3]) == [Fit.NOT, Fit.FITS, Fit.FITS, Fit.IN, Fit.IN]


def test_the_patch_is_what_git_takes_and_repairs(story: Story, tmp_path: Path) -> None:
    fix = story.history.resolve(story.shas[3])
    (tmp_path / "fix.patch").write_bytes(story.history.patch(fix))
    git(story.place, "checkout", "--quiet", story.shas[2])
    git(story.place, "apply", "--index", str(tmp_path / "fix.patch"))
    assert (story.place / FILE).read_text() == git_text(story, 3)


def git_text(story: Story, position: int) -> str:
    return git(story.place, "show", f"{story.shas[position]}:{FILE}") + "\n"


def test_a_binary_file_is_carried_too(story: Story) -> None:
    assert story.fits(story.shas[2])[:3] == [Fit.FITS, Fit.FITS, Fit.IN]
    assert b"GIT binary patch" in story.history.patch(story.history.resolve(story.shas[2]))


def test_a_fix_of_another_branch_is_in_where_it_was_merged(story: Story) -> None:
    git(story.place, "checkout", "--quiet", "-b", "side", story.shas[2])
    fix = story.commit(BROKEN.replace("line 2\n", "line two\n"), other="new\n")
    git(story.place, "checkout", "--quiet", "main")
    git(story.place, "merge", "--quiet", "--no-ff", "--message=merge", "side")
    merged = git(story.place, "rev-parse", "HEAD")
    assert story.fits(fix, *story.shas[:3], story.shas[4], merged) == [
        Fit.FITS,
        Fit.FITS,
        Fit.FITS,
        Fit.FITS,
        Fit.IN,
    ]


def test_a_fix_that_was_picked_by_hand_does_not_fit_twice(story: Story) -> None:
    git(story.place, "checkout", "--quiet", "-b", "stable", story.shas[1])
    git(story.place, "cherry-pick", story.shas[3], "--strategy-option=theirs")
    picked = git(story.place, "rev-parse", "HEAD")
    assert story.fits(story.shas[3], picked) == [Fit.NOT]


def test_a_fix_for_a_file_that_is_not_there_does_not_fit(story: Story) -> None:
    git(story.place, "checkout", "--quiet", "main")
    (story.place / "new.c").write_text("one\n")
    story.commit(LINES)
    (story.place / "new.c").write_text("two\n")
    fix = story.commit(LINES)
    assert story.fits(fix, story.shas[0]) == [Fit.NOT]


def test_the_mirror_is_left_as_it_was(story: Story) -> None:
    before = sorted(path.name for path in story.history.path.iterdir())
    story.fits(story.shas[3])
    assert sorted(path.name for path in story.history.path.iterdir()) == before
