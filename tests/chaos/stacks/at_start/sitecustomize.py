"""Python's start-up hook that logs the stack of each thread on SIGUSR2.

SIGUSR1 is Buildbot's own.
"""

import faulthandler
import signal

faulthandler.register(signal.SIGUSR2, all_threads=True)
