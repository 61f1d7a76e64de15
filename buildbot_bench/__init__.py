"""Buildbot Bench: the search for the commit that made FreeBSD forward fewer packets."""

from buildbot_bench.process_environment import leave_hook, limit_imports

limit_imports()
leave_hook()
