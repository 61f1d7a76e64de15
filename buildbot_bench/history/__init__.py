"""The first-parent history of a repository, read from a bare mirror by pygit2."""

from buildbot_bench.history.fetching import Progress
from buildbot_bench.history.git import Fit
from buildbot_bench.history.mirror import MirrorHistory, mirror_path

__all__ = ["Fit", "MirrorHistory", "Progress", "mirror_path"]
