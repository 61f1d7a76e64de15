"""The run of one build step against a scripted worker, with our farm behind it."""

import unittest as standard
import warnings
from types import SimpleNamespace

import pytest
from buildbot.process.results import SUCCESS
from twisted.trial import unittest

from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from tests.fakes.past import Past

with warnings.catch_warnings():
    # To import buildbot.test makes every warning an error, in all that is imported after it.
    from buildbot.test.reactor import TestReactorMixin
    from buildbot.test.steps import (
        Expect,
        ExpectDownloadFile,
        ExpectListdir,
        ExpectRemoteRef,
        ExpectRmdir,
        ExpectShell,
        ExpectStat,
        ExpectUploadFile,
        TestBuildStepMixin,
    )

__all__ = [
    "SHUTDOWN",
    "Expect",
    "ExpectDownloadFile",
    "ExpectListdir",
    "ExpectRemoteRef",
    "ExpectRmdir",
    "ExpectShell",
    "ExpectStat",
    "ExpectUploadFile",
    "StepCase",
]

# And gives every test of the process five seconds, however busy the machine is.
if "timeout" in vars(standard.TestCase):
    del standard.TestCase.timeout

BUILD = 92
BUILD_DIRECTORY = "/worker/builder"
SHUTDOWN = "Master Shutdown"


class StepCase(TestBuildStepMixin, TestReactorMixin, unittest.TestCase):
    """`farm` and `past` are the fixtures; a step is about the image and the probe it is given."""

    timeout = 120
    pytestmark = pytest.mark.filterwarnings("ignore:No path_separator found")

    @pytest.fixture(autouse=True)
    def _farm(self, farm: Farm, past: Past, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)  # Buildbot's fake master makes its directory where it stands
        self.farm = farm
        self.past = past
        self.there = tmp_path

    async def setUp(self) -> None:
        self.setup_test_reactor()
        await self.setup_test_build_step()
        self.master.service_manager = SimpleNamespace(
            namedServices={SERVICE_NAME: SimpleNamespace(farm=self.farm)}
        )

    def prepare(self, step, *, image: int | None = None, probe: int | None = None) -> None:
        """Make the step part of a build that our broker asked for."""
        self.setup_step(step, want_default_work_dir=False)
        self.build.stopped_reason = None
        self.build.results = SUCCESS  # as a build's are until a step says otherwise
        for name, value in {
            "bench_image": image,
            "bench_probe": probe,
            "builddir": BUILD_DIRECTORY,
        }.items():
            self.build.setProperty(name, value, "Test")

    def stop_build(self, reason: str | None):
        """A command's behaviour: while it runs, somebody stops the build; None: nobody does."""

        def stop(_command: object) -> None:
            self.build.stopped_reason = reason

        return stop
