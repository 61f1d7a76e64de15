"""Buildbot Bench: the search for the commit that made FreeBSD forward fewer packets."""

from buildbot_bench.hook_environment import leave_hook
from buildbot_bench.one_thread import limit_imports

limit_imports()
leave_hook()
