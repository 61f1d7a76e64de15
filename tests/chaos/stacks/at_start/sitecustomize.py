"""Python reads it as it starts: SIGUSR2 has it write down where each of its threads is.

SIGUSR1 is Buildbot's own.
"""

import faulthandler
import signal

faulthandler.register(signal.SIGUSR2, all_threads=True)
