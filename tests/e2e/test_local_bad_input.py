"""What a bad command comes to through --local: an error of the right kind, with its last lines.

No process is left of any of them, and no file of theirs.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.lab import bearing
from tests.gitrepo import Commit, git, make_repository
from tests.running import ran

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="it looks into Linux's /proc"),
]

NUMBER = ("--value", "last-number")
USAGE, INCONCLUSIVE, INFRASTRUCTURE = 2, 3, 4


@dataclass(frozen=True, kw_only=True)
class Bad:
    """A command that gives no value: `says` is in the first line, `shows` is its last output.

    `mine` is what the machine or the command is to blame for, not the revision.
    """

    run: str
    says: str
    shows: str = ""
    more: tuple[str, ...] = NUMBER
    mine: bool = False
    hint: str = ""


# `MARK` becomes a word that the processes of one test bear.
SLEEPER = f"{sys.executable} -c 'import time; time.sleep(99)' MARK"
BAD = {
    "is-not-there": Bad(
        run="./nosuchprogram", says="No such file or directory", mine=True, hint="installed here"
    ),
    "is-not-there-in-sh": Bad(
        run="nosuchprogram --fast >seen",
        says="ended with status 127: a program is not there",
        shows="nosuchprogram",
        mine=True,
    ),
    "may-not-run": Bad(run="./data.txt", says="Permission denied", mine=True),
    "fails": Bad(
        run="echo to be seen; exit 3",
        says="ended with status 3",
        shows="to be seen",
    ),
    "crashes": Bad(
        run="echo 5; kill -SEGV $$",
        says="killed by SIGSEGV",
        shows="5",
    ),
    "says-no-number": Bad(run="echo none here", says="prints no number", shows="none here"),
    "says-nothing": Bad(run="true", says="prints no number"),
    "says-two-numbers": Bad(
        run="echo 1 MB/s, then 2 MB/s",
        says="more than once: 1, 2",
        shows="1 MB/s, then 2 MB/s",
        more=("--value", r"regex:(\d+) MB/s"),
    ),
    "says-nan": Bad(run="echo nan", says="nan, not a number", shows="nan"),
    "says-a-negative": Bad(run="echo -3.5", says="the value is -3.5", shows="-3.5"),
    "says-ten-megabytes": Bad(
        run="head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end",
        says="it printed 9.54 MiB",
        shows="the end",
    ),
    "says-binary": Bad(
        run="head -c 300000 /dev/urandom | tr -d 0-9A-Za-z; echo; echo the end",
        says="prints no number",
        shows="the end",
    ),
    "hangs": Bad(
        run=f"echo on; setsid {SLEEPER} & {SLEEPER}",
        says="had not ended after 1 s",
        shows="on",
        more=(*NUMBER, "--timeout", "1s"),
    ),
    "leaves-children-and-fails": Bad(
        run=f"setsid {SLEEPER} >/dev/null 2>&1 & echo gone; exit 4",
        says="ended with status 4",
        shows="gone",
    ),
    "fills-the-disk": Bad(
        run="echo on; dd if=/dev/zero of=big bs=1M count=9",
        # The second where others write to the same disk, or the machine is busy for a second.
        says="writes too large a file|fills the disk",
        shows="on",
        more=(*NUMBER, "--disk", "4M"),
        hint="--disk",
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout of two commits."""
    commits = [Commit(files={"data.txt": f"{n}\n"}, subject=f"Change {n}") for n in (1, 2)]
    make_repository(tmp_path / "origin.git", commits)
    git(tmp_path, "clone", "-q", "origin.git", "project")
    return tmp_path / "project"


def local(project: Path, program: str, bad: Bad, mark: str) -> subprocess.CompletedProcess[str]:
    (project.parent / "tmp").mkdir()
    return ran(
        [
            str(Path(sys.executable).with_name(program)),
            *("--local", "HEAD~1", "HEAD", "--run", bad.run.replace("MARK", mark), *bad.more),
        ],
        cwd=project,
        env={**os.environ, "TMPDIR": str(project.parent / "tmp"), "COLUMNS": "80"},
        timeout=180,
    )


@pytest.mark.parametrize("program", ["bench-bisect", "bench-compare"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_command_is_told_with_its_last_lines_and_leaves_nothing(
    name: str, program: str, project: Path
) -> None:
    bad = BAD[name]
    mark = f"bench-{os.getpid()}-{name}-{program}"
    done = local(project, program, bad, mark)
    told = done.stderr.splitlines()
    the_revisions = USAGE if program == "bench-bisect" else INCONCLUSIVE
    assert done.returncode == (INFRASTRUCTURE if bad.mine else the_revisions), done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    first = next(line for line in told if line.startswith(f"{program}: "))
    assert any(words in first for words in bad.says.split("|")), done.stderr
    if not bad.mine:
        assert "HEAD" in first or "OLD" in first
    shown = [line for line in told if line.startswith("  | ")]
    assert any(bad.shows in line for line in shown) or not bad.shows, done.stderr
    assert told[-1].startswith(f"{program}: ")
    assert bad.hint in done.stderr
    assert "\x00" not in done.stderr
    assert "\x1b" not in done.stderr
    assert all(len(line) < 400 for line in told), done.stderr
    assert list(bearing(mark)) == []
    assert list((project.parent / "tmp").iterdir()) == []
    assert git(project, "worktree", "list").count("\n") == 0
    assert git(project, "status", "--short") == ""
