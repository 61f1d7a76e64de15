"""The REST face of trials under /api/v2/bench/trials: what a path and its JSON mean."""

from __future__ import annotations

import base64
import binascii
import sys
from typing import Any

from buildbot.data import base, types

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries.comparisons import TrialViews, directory_of
from buildbot_bench.plugin.requests.comparison_requests import (
    DEFAULT_ITERATIONS,
    MIN_ITERATIONS,
    MOST_ITERATIONS,
    TrialDesk,
    TrialQuestion,
)
from buildbot_bench.plugin.rest.access import APPROVE, may, owner_of, require
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, answering, newest

LISTED = 50
MOST_PATCHES = 20


def register(master: Any) -> None:
    """Add our resources to Buildbot's, as `searches.register` does."""
    if master.data.getResourceType(Trial.name) is None:
        master.data._scanModule(sys.modules[__name__])  # noqa: SLF001


def question_of(args: dict[str, Any]) -> TrialQuestion:
    """The question in a request's parameters; raises UsageError for what is none."""
    return TrialQuestion(
        base=_text(args, "base"),
        new=_text(args, "new"),
        testbeds=_texts(args, "testbeds"),
        workloads=_texts(args, "workloads"),
        iterations=_iterations(args),
        min_effect=_fraction(args),
        patches=_patches(args),
    )


def _text(args: dict[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"the parameter {name!r} must be text, not {value!r:.80}")
    return value


def _texts(args: dict[str, Any], name: str) -> tuple[str, ...]:
    value = args.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"the parameter {name!r} must be a list of names, not {value!r:.80}")
    return tuple(value)


def _iterations(args: dict[str, Any]) -> int:
    value = args.get("iterations", DEFAULT_ITERATIONS)
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not MIN_ITERATIONS <= value <= MOST_ITERATIONS
    ):
        raise UsageError(
            f"{value!r:.80} boots of each are not in {MIN_ITERATIONS}..{MOST_ITERATIONS}",
            hint=f"Student's t needs {MIN_ITERATIONS}; {DEFAULT_ITERATIONS} are usual",
        )
    return value


def _fraction(args: dict[str, Any]) -> float | None:
    value = args.get("min_effect")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UsageError(f"the parameter 'min_effect' must lie between 0 and 1: {value!r:.80}")
    return float(value)


def _patches(args: dict[str, Any]) -> dict[str, bytes]:
    """Files by name, in base64: a patch need not be text of any encoding."""
    value = args.get("patches") or {}
    if not isinstance(value, dict) or len(value) > MOST_PATCHES:
        raise UsageError(f"the parameter 'patches' must hold at most {MOST_PATCHES} files")
    try:
        return {str(name): base64.b64decode(body, validate=True) for name, body in value.items()}
    except (binascii.Error, TypeError, ValueError) as error:
        raise UsageError("the parameter 'patches' must hold files in base64") from error


class TrialEndpoint(BenchEndpoint):
    """One trial."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/trials/n:trialid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The trial as it stands; None when there is none."""
        return await TrialViews(farm_of(self.master)).describe(kwargs["trialid"])

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`cancel` ends it; `approve` and `reject` decide about a stranger's patches."""
        desk, trial_id = TrialDesk(farm_of(self.master)), kwargs["trialid"]
        match action:
            case "cancel":
                await answering(desk.cancel(trial_id))
            case "approve" | "reject":
                require(args, APPROVE)
                approved = action == "approve"
                await answering(desk.decide(trial_id, owner_of(args), approved=approved))
            case _:
                return await super().act(action, args, kwargs)
        return {}


class TrialsEndpoint(BenchEndpoint):
    """All trials, newest first."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/trials"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest trials, without their reports."""
        farm = farm_of(self.master)
        found = await farm.store.trials(limit=newest(resultSpec, LISTED))
        return [await TrialViews(farm).summarise(trial) for trial in found]

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`start` starts one."""
        if action != "start":
            return await super().act(action, args, kwargs)

        async def work() -> Any:
            desk = TrialDesk(farm_of(self.master))
            trusted = may(args, APPROVE)
            return await desk.start(question_of(args), owner_of(args), trusted=trusted)

        return await answering(work())


class FilesEndpoint(BenchEndpoint):
    """The result directory of one trial."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/trials/n:trialid/files"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """Each file with its path and its text, or its bytes in base64."""
        farm = farm_of(self.master)
        trial = await farm.store.trial(kwargs["trialid"])
        return None if trial is None else await directory_of(farm, trial)


class Trial(base.ResourceType):
    """A comparison of two variants."""

    name = "bench_trial"
    plural = "trials"
    endpoints = [TrialEndpoint, TrialsEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        trialid = types.Integer()
        state = types.String()

    entityType = EntityType(name)


class TrialFile(base.ResourceType):
    """One file of a result directory."""

    name = "bench_file"
    plural = "files"
    endpoints = [FilesEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        path = types.String()

    entityType = EntityType(name)
