"""A farm whose commit messages and authors attack the pages that show them."""

import shutil
from pathlib import Path

from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from tests.core.profiles import SIMPLE_TX
from tests.e2e.replay_farm import History, Shape

OLD, NEW = 311848, 311856
MARKUP = "<img src=x onerror=window.harmed=1><script>window.harmed=1</script>"
HOSTILE = f"{MARKUP}\u202e{{{{7*7}}}}"
HARMED = "window.harmed !== undefined"


def hostile_history(path: Path, *, more: str = "") -> History:
    """Nine commits; the recorded r311849 slows forwarding down by a quarter."""
    commits = [
        GeneratedCommit(
            svn=svn,
            author="\u202emallory&amp;\"'",
            message=f"{HOSTILE} {svn}\n{more}",
            files={"kernel": f"r{svn}\n"},
        )
        for svn in range(OLD, NEW + 1)
    ]
    return History(path=path, shas=write_history(path, commits))


def hostile_shape(captures: Path, data: Path) -> Shape:
    """Three boots of half a second each, with captures of the culprit and its predecessor."""
    for svn, name in zip((OLD, OLD + 1), SIMPLE_TX, strict=True):
        graph = captures / f"r{svn}.forwarding.pmc.graph.gz"
        shutil.copyfile(data / "pmc" / f"{name}.pmc.graph.gz", graph)
    return Shape(tip=f"r{NEW}", blast_s=0.5, iterations=3, captures=captures)
