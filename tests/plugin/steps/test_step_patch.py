"""A variant's patches on a builder: applied in their order, by git, or told to be unfit."""

from buildbot.process.remotetransfer import StringFileReader
from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS

from buildbot_bench.plugin.artefacts.place import BLOCK_BYTES
from buildbot_bench.plugin.steps.build import Patch
from tests.fakes.stepcase import (
    SHUTDOWN,
    ExpectDownloadFile,
    ExpectRemoteRef,
    ExpectShell,
    StepCase,
)

FIRST = b"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-1\n+one\n@@ -9 +9 @@\n-9\n+nine \xe9\n"
SECOND = b"--- f.c\n+++ f.c\n@@ -5 +5 @@\n-5\n+five\n"
UNFIT = "error: patch failed: f.c:9\nerror: f.c: patch does not apply\n"


class TestPatch(StepCase):
    async def patched(self, outcome: int, *bodies: bytes, last=0, stderr="", stopped=None):
        """Apply patches to r4, of which the last ends so; the image afterwards."""
        rows = [
            await self.farm.store.add_patch(body=body, origin="D85", requester="ann", now=1.0)
            for body in bodies
        ]
        plain = await self.past.image(4, state="wanted")
        variant = "+".join([plain.sha, *(f"patch:{row.digest}" for row in rows)])
        image = await self.farm.store.ensure_image(
            sha=plain.sha, variant=variant, ordinal=0, position=4, label="r4+D85", now=1.0
        )
        self.prepare(Patch(), image=image.id)
        commands = []
        for row in rows:
            ends = row is rows[-1]
            level = "-p1" if row.body == FIRST else "-p0"
            command = ["git", "apply", "--index", "--whitespace=nowarn", level]
            commands += [
                ExpectDownloadFile(
                    maxsize=None,
                    reader=ExpectRemoteRef(StringFileReader),
                    blocksize=BLOCK_BYTES,
                    workdir="",
                    workerdest=f"patches/{row.digest}",
                    mode=0o600,
                ).exit(0),
                ExpectShell(
                    workdir="build",
                    command=[*command, f"../patches/{row.digest}"],
                    env={"LC_ALL": "C"},
                    log_environ=False,
                )
                .stderr(stderr if ends else "")
                .behavior(self.stop_build(stopped if ends else None))
                .exit(last if ends else 0),
            ]
        self.expect_commands(*commands)
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.image(image.id)

    async def test_a_plain_image_has_nothing_to_apply(self):
        assert (await self.patched(SKIPPED)).state == "wanted"

    async def test_patches_are_applied_in_their_order_at_their_own_depth(self):
        assert (await self.patched(SUCCESS, FIRST, SECOND)).state == "wanted"

    async def test_a_patch_that_does_not_fit_names_the_hunk(self):
        image = await self.patched(FAILURE, SECOND, FIRST, last=1, stderr=UNFIT)
        assert image.state == "untestable"
        assert image.reason == "D85 does not apply: f.c, hunk 2"

    async def test_a_full_disk_says_nothing_of_the_patch(self):
        fatal = "fatal: unable to write new index file\n"
        assert (await self.patched(EXCEPTION, FIRST, last=128, stderr=fatal)).state == "wanted"

    async def test_a_master_that_is_shut_down_applies_it_again_later(self):
        image = await self.patched(EXCEPTION, FIRST, last=-1, stopped=SHUTDOWN)
        assert image.state == "wanted"

    async def test_a_patch_that_nobody_kept_is_told(self):
        image = await self.farm.store.ensure_image(
            sha="a" * 40,
            variant=f"{'a' * 40}+patch:{'0' * 64}",
            ordinal=0,
            position=4,
            label="r4+D85",
            now=1.0,
        )
        self.prepare(Patch(), image=image.id)
        self.expect_outcome(FAILURE)
        await self.run_step()
        assert "nobody kept" in (await self.farm.store.image(image.id)).reason
