"""A build that fails before its first step ends, as one that is to be repeated."""

from types import SimpleNamespace

import pytest
from buildbot.process.results import CANCELLED, EXCEPTION, RETRY, SUCCESS

from buildbot_bench.plugin.buildbot_fixes.sturdy_build import SturdyBuild, SturdyFactory


class Builder:
    """The little of a builder that a build speaks to: which builds go on, and how they ended."""

    name = "kernel"
    config = None
    config_version = 1

    def __init__(self, master):
        self.master = master
        self.building = []
        self.ended = []

    def buildFinished(self, build, worker):  # noqa: N802 - Buildbot's name
        self.building.remove(build)
        self.ended.append((build.results, worker))


class WorkerForBuilder:
    """A worker that is let go, or was not yet."""

    def __init__(self, worker=None):
        self.worker = worker
        self.free = False

    def buildFinished(self):  # noqa: N802 - Buildbot's name
        self.free = True


@pytest.fixture
def told():
    """What is told of steps."""
    return []


@pytest.fixture
def build(told):
    async def state(step: int, text: str) -> None:
        told.append((step, text))

    async def end(step: int, results: int, _hidden: bool) -> None:
        told.append((step, results))

    updates = SimpleNamespace(setStepStateString=state, finishStep=end)
    request = SimpleNamespace(mergeSourceStampsWith=lambda _: [], mergeReasons=lambda _: "")
    master = SimpleNamespace(data=SimpleNamespace(updates=updates))
    builder = Builder(master)
    build = SturdyBuild([request], builder)
    builder.building.append(build)
    build._preparation_step = SimpleNamespace(stepid=7)
    return build


async def test_a_worker_that_went_ends_the_preparation(build, told):
    build.workerforbuilder = SimpleNamespace(worker=None)
    await build.buildPreparationFailure(False, "worker_prepare")
    assert told == [(7, "the worker went"), (7, EXCEPTION)]


async def test_a_build_whose_worker_went_before_it_began_is_repeated(build):
    gone = WorkerForBuilder()
    await build.startBuild(gone)
    assert gone.free
    assert build.builder.ended == [(RETRY, gone)]


async def test_a_worker_is_let_go_when_the_end_of_its_build_cannot_be_written(build):
    async def hang_up(*_args):
        raise ConnectionError("the database went away")

    build.master.data.updates.setBuildStateString = hang_up
    build.stopBuildConsumer = SimpleNamespace(stopConsuming=lambda: None)
    build.workerforbuilder = worker = WorkerForBuilder()
    await build.buildFinished(["build", "successful"], SUCCESS)
    assert worker.free
    assert build.builder.ended == [(RETRY, worker)]


@pytest.mark.parametrize("result", [SUCCESS, EXCEPTION, CANCELLED])
async def test_what_a_shutdown_stops_is_repeated_even_in_a_step_that_had_not_begun(build, result):
    async def no_summary():
        return {}

    build.conn = object()
    await build.stopBuild("Master Shutdown", RETRY)
    step = SimpleNamespace(name="merge", getBuildResultSummary=no_summary, haltOnFailure=True)
    assert await build.stepDone(result, step)
    assert build.results == RETRY


def test_the_farms_builders_make_such_builds():
    assert SturdyFactory().buildClass is SturdyBuild
