"""$part of the farm in $directory; `run` beside this directory starts it."""

import os

from buildbot.master import BuildMaster
from twisted.application import service
from twisted.python.log import FileLogObserver, ILogObserver
from twisted.python.logfile import LogFile

basedir = '$directory/$part'
configfile = '../master.cfg'
# What the database and logs hold is for the farm's own user alone.
umask = 0o077
os.umask(umask)

# By this line `buildbot` knows a master's directory.
application = service.Application('buildmaster')
logfile = LogFile.fromFullPath(
    os.path.join(basedir, "twistd.log"), rotateLength=10_000_000, maxRotatedFiles=10
)
application.setComponent(ILogObserver, FileLogObserver(logfile).emit)

master = BuildMaster(basedir, configfile, umask)
master.setServiceParent(application)
master.log_rotation.rotateLength = 10_000_000
master.log_rotation.maxRotatedFiles = 10
