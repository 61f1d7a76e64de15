"""A kernel's way: from the builder into the artefacts, and from there to the lab, once."""

import hashlib
from dataclasses import replace

from buildbot.process.remotetransfer import FileReader, FileWriter
from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS
from twisted.spread import pb

from buildbot_bench.core.limits import KERNEL_ARCHIVE, KIB
from buildbot_bench.core.read_files import MOST_BYTES, ReadFiles, pack_read_files
from buildbot_bench.plugin.artefacts.place import BLOCK_BYTES
from buildbot_bench.plugin.steps.transfer import Fetch, KeepReadFiles, Upload
from tests.core.elf_files import CODE, DATA, WRITE, Part, elf
from tests.fakes.stepcase import (
    ExpectDownloadFile,
    ExpectRemoteRef,
    ExpectShell,
    ExpectStat,
    ExpectUploadFile,
    StepCase,
)

KERNEL = b"\x7fELF kernel"
STARTED_AT_S = 1304262222  # of the build in the fake tables of buildbot.test
BUDGET = replace(KERNEL_ARCHIVE, total_bytes=64 * KIB)
DIGEST = hashlib.sha256(KERNEL).hexdigest()
PB_LIMIT = pb.banana.SIZE_LIMIT


def look_for_links(*paths: str) -> ExpectShell:
    """The command that finds which of these are symbolic links."""
    words = ["find", *paths, "-prune", "-type", "l"]
    return ExpectShell("/worker/builder/build", words, want_stderr=False, log_environ=False)


KERNELS_WAY = ("./obj/kernel", "./obj")


def test_a_block_fits_into_what_the_wire_takes():
    assert BLOCK_BYTES < PB_LIMIT


class TestUpload(StepCase):
    async def uploaded(
        self, outcome: int, *, stopped=None, exit_code=0, content=KERNEL, there: int | None = None
    ):
        """Upload r4's kernel; its image afterwards."""
        image = await self.past.image(4, state="building")
        self.prepare(Upload(path="obj/kernel", budget=BUDGET), image=image.id)
        command = ExpectUploadFile(
            blocksize=BLOCK_BYTES,
            workdir="build",
            workersrc="obj/kernel",
            maxsize=BUDGET.total_bytes,
            keepstamp=False,
            writer=ExpectRemoteRef(FileWriter),
        )
        command.behavior(self.stop_build(stopped))
        if exit_code == 0:
            command.upload_string(content)
        stat = ExpectStat(file="/worker/builder/build/obj/kernel")
        stat = stat.exit(1) if there is None else stat.stat_file(size=there).exit(0)
        is_failure = outcome == FAILURE and exit_code and stopped is None
        look = look_for_links(*KERNELS_WAY).exit(0 if exit_code == 0 else 1)
        self.expect_commands(look, command.exit(exit_code), *([stat] if is_failure else []))
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.image(image.id)

    async def test_a_kernel_is_kept_by_its_digest_and_the_image_is_built(self):
        image = await self.uploaded(SUCCESS)
        assert (image.state, image.digest, image.size) == ("built", DIGEST, len(KERNEL))
        assert (image.kernel_digest, image.manifest) == (DIGEST, None)
        assert (await self.farm.artefacts.local(DIGEST)).read_bytes() == KERNEL
        assert image.build_s == self.farm.now() - STARTED_AT_S
        assert image.text_bytes is None
        (kept,) = await self.farm.store.artefacts()
        assert (kept.digest, kept.size) == (DIGEST, len(KERNEL))

    async def test_what_a_kernel_takes_in_memory_stands_beside_it(self):
        code = Part(name=".text", content=bytes(70), flags=CODE)
        data = Part(name=".data", content=bytes(8), flags=DATA | WRITE)
        image = await self.uploaded(SUCCESS, content=elf(code, data))
        assert (image.text_bytes, image.data_bytes, image.bss_bytes) == (70, 8, 0)
        assert image.modules is None

    async def test_a_build_that_made_no_kernel_makes_the_revision_untestable(self):
        image = await self.uploaded(FAILURE, exit_code=1)
        assert (image.state, image.reason) == ("untestable", "the build made no obj/kernel")

    async def test_a_kernel_that_is_larger_than_any_is_told_as_that(self):
        image = await self.uploaded(FAILURE, exit_code=1, there=BUDGET.total_bytes + 1)
        assert (image.state, image.reason) == ("untestable", "obj/kernel has more than 64 KiB")
        assert list((self.there / "artefacts" / "incoming").iterdir()) == []

    async def test_an_archive_without_a_kernel_makes_the_revision_untestable(self):
        image = await self.uploaded(FAILURE, content=bytes(10240))
        assert (image.state, image.kernel_digest, image.digest) == ("untestable", None, None)
        assert image.reason == "obj/kernel is no kernel: the artefact holds nothing but zeros"
        assert await self.farm.store.artefacts() == []
        assert list((self.there / "artefacts" / "incoming").iterdir()) == []

    async def refused(self, look: ExpectShell, outcome: int):
        """Do not upload r4's kernel; its image afterwards."""
        image = await self.past.image(4, state="building")
        self.prepare(Upload(path="obj/kernel", budget=BUDGET), image=image.id)
        self.expect_commands(look)
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.image(image.id)

    async def link_is_refused(self, link: str) -> None:
        look = look_for_links(*KERNELS_WAY).stdout(f"{link}\n").exit(0)
        image = await self.refused(look, FAILURE)
        why = "is a symbolic link, which is not followed: upload the file itself"
        assert (image.state, image.reason) == ("untestable", f"{link[2:]} {why}")

    async def test_a_link_in_place_of_a_kernel_is_not_followed(self):
        await self.link_is_refused("./obj/kernel")

    async def test_nor_is_one_in_place_of_its_directory(self):
        await self.link_is_refused("./obj")

    async def test_what_cannot_be_looked_at_is_not_uploaded(self):
        image = await self.refused(look_for_links(*KERNELS_WAY).exit(127), EXCEPTION)
        assert (image.state, image.reason) == ("building", None)

    async def test_a_build_that_was_stopped_says_nothing_of_the_revision(self):
        image = await self.uploaded(FAILURE, exit_code=1, stopped="by ann")
        assert (image.state, image.reason) == ("building", None)

    async def test_nothing_of_an_upload_stays_behind(self):
        await self.uploaded(SUCCESS)
        assert list((self.there / "artefacts" / "incoming").iterdir()) == []


LIST = pack_read_files(ReadFiles(names=frozenset({"sys/net/if.c"})))


class TestKeepReadFiles(StepCase):
    async def kept(self, outcome: int, *, content: bytes | None = LIST, exit_code=0):
        """Keep the list beside r4's kernel, which an earlier build left another; its image."""
        image = await self.past.image(4, state="building", read_files="f" * 64, built_by="x")
        self.prepare(KeepReadFiles(path="obj/kernel", job="the job"), image=image.id)
        stat = ExpectStat(file="/worker/builder/build/obj/kernel.read-files")
        if content is None:
            self.expect_commands(stat.exit(1))
        else:
            upload = ExpectUploadFile(
                blocksize=BLOCK_BYTES,
                workdir="build",
                workersrc="obj/kernel.read-files",
                maxsize=MOST_BYTES,
                keepstamp=False,
                writer=ExpectRemoteRef(FileWriter),
            )
            if exit_code == 0:
                upload.upload_string(content)
            look = look_for_links("./obj/kernel.read-files", "./obj").exit(0)
            there = stat.stat_file(size=len(content)).exit(0)
            self.expect_commands(there, look, upload.exit(exit_code))
        self.expect_outcome(outcome)
        await self.run_step()
        assert not list((self.there / "artefacts").glob("incoming/*"))
        return await self.farm.store.image(image.id)

    async def test_a_list_is_kept_by_its_digest(self):
        image = await self.kept(SUCCESS)
        digest = hashlib.sha256(LIST).hexdigest()
        assert (image.read_files, image.built_by, image.state) == (digest, "the job", "building")
        assert await self.farm.store.read_files([digest, "0"]) == {digest: LIST}

    async def test_a_job_that_leaves_no_list_says_nothing(self):
        assert (await self.kept(SKIPPED, content=None)).read_files is None

    async def test_a_damaged_list_is_as_none_and_fails_no_build(self):
        assert (await self.kept(FAILURE, content=LIST[:-5])).read_files is None
        assert self.build.results == SUCCESS

    async def test_a_link_in_place_of_a_list_is_not_followed(self):
        image = await self.past.image(4, state="building")
        self.prepare(KeepReadFiles(path="obj/kernel", job="the job"), image=image.id)
        stat = ExpectStat(file="/worker/builder/build/obj/kernel.read-files")
        link = "./obj/kernel.read-files"
        look = look_for_links(link, "./obj").stdout(f"{link}\n").exit(0)
        self.expect_commands(stat.stat_file(size=9).exit(0), look)
        self.expect_outcome(FAILURE)
        await self.run_step()
        assert (await self.farm.store.image(image.id)).read_files is None

    async def test_a_list_that_does_not_come_is_as_none(self):
        assert (await self.kept(FAILURE, exit_code=1)).read_files is None


class TestFetch(StepCase):
    def stat(self) -> ExpectStat:
        return ExpectStat(file=f"/worker/builder/../artefacts/{DIGEST}")

    def download(self) -> ExpectDownloadFile:
        return ExpectDownloadFile(
            blocksize=BLOCK_BYTES,
            workdir="",
            workerdest=f"../artefacts/{DIGEST}",
            reader=ExpectRemoteRef(FileReader),
            mode=0o600,
        )

    async def about_r4(self) -> None:
        incoming = self.farm.artefacts.incoming("build-1")
        incoming.write_bytes(KERNEL)
        artefact = await self.farm.artefacts.look(incoming)
        await self.farm.artefacts.adopt(incoming, artefact)
        image = await self.past.image(4, digest=DIGEST, size=len(KERNEL))
        self.prepare(Fetch(), image=image.id)

    async def test_a_kernel_that_the_lab_has_whole_is_not_sent_again(self):
        await self.about_r4()
        self.expect_commands(self.stat().stat_file(size=len(KERNEL)).exit(0))
        self.expect_outcome(SUCCESS, "the worker has it")
        await self.run_step()

    async def test_a_kernel_that_the_lab_has_not_is_sent(self):
        await self.about_r4()
        sent: list[bytes] = []
        download = self.download().download_string(sent.append)
        self.expect_commands(self.stat().exit(1), download.exit(0))
        self.expect_outcome(SUCCESS)
        await self.run_step()
        assert b"".join(sent) == KERNEL

    async def test_a_kernel_that_is_missing_is_to_be_built_again(self):
        await self.about_r4()
        await self.farm.artefacts.delete(DIGEST)
        self.expect_commands(self.stat().exit(1))
        self.expect_outcome(EXCEPTION)
        await self.run_step()
        (image,) = await self.farm.store.images()
        assert image.state == "dropped"

    async def test_a_kernel_of_which_the_lab_has_a_part_is_sent_whole(self):
        await self.about_r4()
        self.expect_commands(
            self.stat().stat_file(size=len(KERNEL) - 1).exit(0), self.download().exit(0)
        )
        self.expect_outcome(SUCCESS)
        await self.run_step()

    async def test_a_build_that_somebody_forced_says_whom_to_ask_instead(self):
        self.prepare(Fetch())
        self.expect_outcome(EXCEPTION)
        await self.run_step()
        (logged,) = self.flushLoggedErrors()
        assert "ask with bench-bisect" in str(logged.value)
