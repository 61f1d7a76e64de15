"""The first-parent history of a repository, read from a bare mirror by pygit2."""

from buildbot_bench.history.fix_patch import Fit
from buildbot_bench.history.mirror import MirrorHistory, mirror_path
from buildbot_bench.history.progress import Progress

__all__ = ["Fit", "MirrorHistory", "Progress", "mirror_path"]
