"""How a lab job is followed to its end, however often the command that prints it ends before.

The job outlives that command. Only the job's own last event says that it is over; until then it
may still run, and whoever asks for it again by its name attaches to it. It records nothing.
"""

from __future__ import annotations

from typing import Any

from buildbot_bench.plugin.steps.last_words import harmless
from buildbot_bench.plugin.steps.record import EventReader

# So many commands in a row that bring nothing new are enough for one build.
MOST_FRUITLESS = 3
# How bench-lab ends when what it was told cannot be: to say it again would not help.
USAGE = 2


async def follow(step: Any, reader: EventReader, arguments: list[str]) -> Any:
    """Run the command until the job's end was read; returns the last remote command.

    It is given up, without that end, when it is wrong, when it takes too long, when it brings
    nothing new several times, and when the build is stopped.
    """
    most = fruitless = 0
    while True:
        reader.begin()
        command = await step.makeRemoteShellCommand(command=arguments)
        await step.runCommand(command)
        await reader.drained()
        fruitless = 0 if reader.heard > most else fruitless + 1
        most = max(most, reader.heard)
        if (
            reader.ending is not None
            or command.rc == USAGE
            or command.remote_failure_reason is not None
            or step.build.stopped_reason is not None
            or fruitless >= MOST_FRUITLESS
        ):
            return command


def why_left(reader: EventReader, command: Any) -> str:
    """Why a job was not followed to its end, in one harmless line; empty when nothing tells it."""
    return harmless(reader.last_words.reason(command) or reader.missed or reader.fault)
