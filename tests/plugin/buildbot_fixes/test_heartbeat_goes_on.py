"""A master says that it is alive again after it could not."""

from twisted.application.internet import TimerService
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from buildbot_bench.plugin.buildbot_fixes.heartbeat import beat_on


class HeartbeatGoesOn(TestCase):
    """Of a service as Buildbot makes it, with a clock of the test."""

    def test_a_beat_that_failed_is_followed_by_another(self) -> None:
        beats: list[str] = []

        def beat(name: str) -> None:
            beats.append(name)
            if len(beats) == 1:
                raise OSError("database or disk is full")

        service = TimerService(60, beat, "own")
        service.clock = clock = Clock()
        beat_on(service)
        service.startService()
        clock.pump([60, 60])
        assert beats == ["own"] * 3
        (noted,) = self.flushLoggedErrors(OSError)
        assert "disk is full" in str(noted.value)
        return service.stopService()
