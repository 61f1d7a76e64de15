"""The steps of the kernel job: the checkout, a variant's patches, the `run:` scripts."""

import re
from typing import Any

from buildbot.process.logobserver import LogLineObserver
from buildbot.process.properties import Interpolate
from buildbot.process.remotecommand import RemoteCommand, RemoteShellCommand
from buildbot.process.remotetransfer import StringFileReader
from buildbot.process.results import EXCEPTION, SKIPPED, SUCCESS
from buildbot.steps.source.git import Git
from buildbot.util.twisted import async_to_deferred

from buildbot_bench.core.build_log import BuildLog
from buildbot_bench.core.patch import misfit, strip_level
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.artefacts.place import BLOCK_BYTES
from buildbot_bench.plugin.buildbot_fixes.poller import GIT_CONFIG
from buildbot_bench.plugin.db.rows import ImageRow, PatchRow
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.steps.transfer import ShellStep, image_of, skipped, untestable
from buildbot_bench.programs import identity
from buildbot_bench.workflow.jobs import SandboxSettings

REMOVES_LOCKS = ("find", ".git", "-name", "*.lock", "-type", "f", "-delete")
# No history is read. A power cut leaves a symbolic reference empty, for git brings those later to
# the disk; then it refuses all work.
READS_REFERENCES = ("--git-dir=.git", "rev-list", "--all", "--max-count=1")
_MERGED_AT_S = 1_000_000_000  # what is built of a merge must not know when it was made


class Checkout(Git):
    """Buildbot's own Git step, clean to the last file."""

    name = "checkout"

    def __init__(self, *, repository: Any) -> None:
        """`repository` is its URL, or what Buildbot renders to it."""
        super().__init__(
            repourl=repository,
            mode="full",
            method="fresh",
            config=dict(GIT_CONFIG),
            logEnviron=False,
            haltOnFailure=True,
        )

    @async_to_deferred
    async def _sourcedirIsUpdatable(self) -> str:
        """Clone anew where a reference is broken; Buildbot would fetch into that for ever.

        And a git that was killed left a lock, at which all later ones would end.
        """
        action: str = await super()._sourcedirIsUpdatable()
        if action != "update":
            return action
        unlock = RemoteShellCommand(
            self.workdir, [*REMOVES_LOCKS], logEnviron=False, timeout=self.timeout
        )
        unlock.useLog(self.stdio_log, False)
        await self.runCommand(unlock)
        return "clobber" if await self._dovccmd([*READS_REFERENCES], False) else action


class CheckoutFromMirror(ShellStep):
    """A worktree of a mirror that the builder keeps; a failure says nothing of the revision."""

    name = "checkout"

    def __init__(self, *, repository: Any, mirror: str, **kwargs: Any) -> None:
        command = [
            "bench-build",
            "checkout",
            f"--mirror={mirror}",
            Interpolate("--repository=%(kw:repository)s", repository=repository),
            Interpolate("--revision=%(prop:revision)s"),
        ]
        super().__init__(command=command, workdir="build", **kwargs)

    @async_to_deferred
    async def run(self) -> int:
        """Run the command; the image is asked for again when git or the network failed."""
        command = await self.makeRemoteShellCommand(collectStderr=True)
        await self.runCommand(command)
        if command.rc == 0:
            return SUCCESS
        if self.build.stopped_reason is None:
            farm, image = farm_of(self.master), await image_of(self)
            reason = command.stderr.strip()[-300:] or "the checkout failed"
            await farm.change(image, reason=reason)
        return EXCEPTION


class Merge(ShellStep):
    """Merges what is checked out with other commits; the same ones make the same commit."""

    name = "merge"

    def __init__(self, **kwargs: Any) -> None:
        env = {"LC_ALL": "C", **identity("bench", _MERGED_AT_S)}
        super().__init__(env=env, workdir="build", hideStepIf=skipped, **kwargs)

    @async_to_deferred
    async def run(self) -> int:
        """Merge them in order; one that conflicts here makes the image untestable."""
        image = await image_of(self)
        merged = parse_recipe(image.variant).merged
        if not merged:
            return SKIPPED
        for one in merged:
            if not await self._has(one.sha):
                await self._git("fetch", "--quiet", "--force", "origin")
        for one in merged:
            into = [f"-Xsubtree={one.under}"] if one.under else []
            words = ("--quiet", "--no-ff", "--no-verify", "-m", "merged", *into, one.sha)
            status = await self._git("merge", *words)
            if status == 1 and await self._has(one.sha):
                why = f"{one.sha[:12]} does not merge on this builder"
                return await untestable(self, image, why)
            if status != 0:
                return EXCEPTION
        return SUCCESS

    async def _has(self, sha: str) -> bool:
        return await self._git("cat-file", "-e", f"{sha}^{{commit}}") == 0

    async def _git(self, *words: str) -> int | None:
        """How a git ended; None when the build was stopped."""
        command = await self.makeRemoteShellCommand(
            command=["git", "-c", "core.hooksPath=/dev/null", *words]
        )
        await self.runCommand(command)
        status: int | None = command.rc
        return None if self.build.stopped_reason is not None else status


def worker_path(digest: str) -> str:
    """Where a builder worker keeps a patch, relative to its builder's directory."""
    return f"patches/{digest}"


class Patch(ShellStep):
    """Applies each patch by git, which refuses paths that lead out of the tree."""

    name = "patch"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(env={"LC_ALL": "C"}, workdir="build", hideStepIf=skipped, **kwargs)

    @async_to_deferred
    async def run(self) -> int:
        """Apply the patches in order; one that does not fit makes the image untestable."""
        farm = farm_of(self.master)
        image = await image_of(self)
        digests = parse_recipe(image.variant).patches
        if not digests:
            return SKIPPED
        for digest in digests:
            patch = await farm.store.patch(digest)
            if patch is None:
                return await untestable(self, image, f"nobody kept the patch {digest[:12]}")
            if not await self._download(patch):
                return EXCEPTION
            result = await self._apply(image, patch)
            if result != SUCCESS:
                return result
        return SUCCESS

    async def _download(self, patch: PatchRow) -> bool:
        arguments = {
            "maxsize": None,
            "reader": StringFileReader(patch.body),
            "blocksize": BLOCK_BYTES,
            "workdir": "",
            "workerdest": worker_path(patch.digest),
            "mode": 0o600,
        }
        command = RemoteCommand("downloadFile", arguments)
        await self.runCommand(command)
        return not command.didFail()

    async def _apply(self, image: ImageRow, patch: PatchRow) -> int:
        text = patch.body.decode("utf-8", "replace")
        command = await self.makeRemoteShellCommand(
            command=[
                "git",
                "apply",
                "--index",
                "--whitespace=nowarn",
                f"-p{strip_level(text)}",
                f"../{worker_path(patch.digest)}",
            ],
            collectStderr=True,
        )
        await self.runCommand(command)
        if command.rc == 0:
            return SUCCESS
        if self.build.stopped_reason is not None or _is_builder_fault(command.rc, command.stderr):
            return EXCEPTION
        return await untestable(
            self, image, f"{patch.origin} does not apply: {misfit(text, command.stderr)}"
        )


def _is_builder_fault(rc: int | None, complaint: str) -> bool:
    """Whether git failed for a reason that is not the patch's; it then begins with `fatal:`."""
    return rc not in {1, 128} or "fatal:" in complaint


class Symptoms(LogLineObserver):
    """Shows the log of a script to a reader who finds why it failed."""

    def __init__(self, script: str = "") -> None:
        super().__init__()
        self._log = BuildLog(re.split(r"[\s;&|()'\"]+", script))

    def outLineReceived(self, line: str) -> None:
        """Look at one line of the script's output."""
        self._log.take(line)

    errLineReceived = outLineReceived

    def diagnosis(self, exit_code: int | None) -> tuple[FailureKind, str]:
        """Does the revision not compile, or does the builder fail? With the line that says so."""
        found = self._log.diagnosis(exit_code)
        kind = FailureKind.INFRASTRUCTURE if found.is_builder_fault else FailureKind.UNTESTABLE
        return kind, found.reason


NO_SANDBOX = SandboxSettings(use="none")


class Compile(ShellStep):
    """Runs a script as GitHub Actions does, by `sh -e`; a failure makes the image untestable."""

    def __init__(
        self,
        *,
        name: str,
        script: str,
        env: dict[str, Any],
        sandbox: SandboxSettings = NO_SANDBOX,
        **kwargs: Any,
    ) -> None:
        self._script = script
        self._sandbox = sandbox
        command = ["sh", "-e", "-c", script]
        super().__init__(name=name, command=command, env=env, sigtermTime=30, **kwargs)

    @async_to_deferred
    async def run(self) -> int:
        """Run the script; on failure say of the image what is known."""
        symptoms = Symptoms(self._script)
        self.addLogObserver("stdio", symptoms)
        command = await self.makeRemoteShellCommand(command=await self._words())
        await self.runCommand(command)
        if command.rc == 0:
            return SUCCESS
        if self.build.stopped_reason is not None or command.rc is None:
            return EXCEPTION
        kind, reason = symptoms.diagnosis(command.rc)
        farm, image = farm_of(self.master), await image_of(self)
        if kind is FailureKind.INFRASTRUCTURE:
            await farm.change(image, reason=reason)
            return EXCEPTION
        return await untestable(self, image, reason)

    async def _words(self) -> list[str]:
        words, settings = ["sh", "-e", "-c", self._script], self._sandbox
        if settings.use == "none":
            return words
        image = await image_of(self)
        if settings.use == "auto" and not parse_recipe(image.variant).patches:
            return words
        return [
            "bench-build",
            "sandboxed",
            f"--use={settings.use}",
            f"--directory={self.getProperty('builddir')}",
            *(f"--read={path}" for path in settings.read),
            *(f"--write={path}" for path in settings.write),
            "--",
            *words,
        ]
