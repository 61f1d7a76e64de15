"""A `run:` step: what its failure says of the revision, and what only of the machine."""

import pytest
from buildbot.process.results import EXCEPTION, FAILURE, SUCCESS

from buildbot_bench.plugin.steps.build import Compile, Symptoms
from buildbot_bench.workflow.jobs import SandboxSettings
from tests.fakes.stepcase import ExpectShell, StepCase

CLANG = """\
cc -c em.c
em.c:12:3: error: no member named 'rxr' in 'struct adapter'
1 error generated.
*** Error code 1
"""


def diagnosis(output: str, exit_code: int | None = 1, script: str = "") -> tuple[str, str]:
    symptoms = Symptoms(script)
    for line in output.splitlines():
        symptoms.outLineReceived(line)
    kind, reason = symptoms.diagnosis(exit_code)
    return str(kind), reason


def test_the_first_error_line_is_the_reason():
    kind, reason = diagnosis(CLANG)
    assert kind == "untestable"
    assert reason == "em.c:12:3: error: no member named 'rxr' in 'struct adapter'"


def test_without_an_error_line_the_last_line_is_the_reason():
    assert diagnosis("linking\n  panicked\n\n") == ("untestable", "panicked")


def test_silence_is_said_to_be_silence():
    assert diagnosis("") == ("untestable", "no output")


@pytest.mark.parametrize(
    "word",
    ["terror.c", "errors.o", "error_handler", "-Wno-error=format", "sys/error.c", "error/x.c"],
)
def test_a_word_that_only_holds_error_is_no_error(word):
    assert diagnosis(f"cc {word}\nlast")[1] == "last"


@pytest.mark.parametrize(
    "line",
    [
        "cc: fatal error: error writing to /tmp/x: No space left on device",
        "virtual memory exhausted: Cannot allocate memory",
        "ld: cannot open kernel: Read-only file system",
        "read: Input/output error",
        "sh: 3: gmake: not found",
        "bash: cmake: command not found",
        "clang: error: unable to execute command: Killed",
        "LLVM ERROR: out of memory",
    ],
)
def test_a_machine_that_fails_says_nothing_of_the_revision(line):
    assert diagnosis(f"a.c:1: error: x\n{line}") == ("infrastructure", line)


@pytest.mark.parametrize(
    "told", ["make: *** [Makefile:3: kernel] Error 127", "*** Error code 127", "*** Error code 126"]
)
def test_a_tool_that_make_does_not_find_is_named(told):
    assert diagnosis(f"make: config: No such file or directory\n{told}") == (
        "infrastructure",
        "make: config: No such file or directory",
    )


@pytest.mark.parametrize("exit_code", [None, -1, -9, 64, 75, 126, 127])
def test_a_script_that_was_killed_or_could_not_run_says_nothing_of_the_revision(exit_code):
    assert diagnosis("a.c:1: error: x", exit_code)[0] == "infrastructure"


def test_a_file_that_is_missing_in_the_source_is_the_revisions_fault():
    assert diagnosis("a.c:1:10: fatal error: 'net/iflib.h' file not found")[0] == "untestable"


@pytest.mark.parametrize(
    "line",
    [
        "make: *** No rule to make target 'vmlinuz'.  Stop.",
        "make: don't know how to make vmlinuz. Stop",
        "make[1]: make[1]: don't know how to make vmlinuz. Stop",
    ],
)
def test_a_target_that_make_does_not_know_is_the_fault_of_who_asked_for_it(line):
    assert diagnosis(line, 2, "cd obj; make -j2 vmlinuz") == ("infrastructure", line)
    assert diagnosis(line, 2, "make kernel") == ("untestable", line)


def test_a_file_that_a_target_needs_is_the_revisions_fault():
    line = "make: *** No rule to make target 'main.c', needed by 'kernel'.  Stop."
    assert diagnosis(line, 2, "make main.c kernel")[0] == "untestable"


def test_a_reason_is_short_however_long_the_line():
    assert len(diagnosis("error: " + "x" * 10_000)[1]) == 300


class TestCompile(StepCase):
    async def compiled(self, outcome: int, *, exit_code=0, stderr="", stopped=None):
        """Run `make kernel` for r4; its image afterwards."""
        image = await self.past.image(4, state="building")
        step = Compile(name="Compile", script="make kernel", env={"CC": "cc"})
        self.prepare(step, image=image.id)
        command = ExpectShell(
            workdir="build",
            command=["sh", "-e", "-c", "make kernel"],
            env={"CC": "cc"},
            log_environ=False,
        )
        command.behavior(self.stop_build(stopped))
        self.expect_commands(command.stderr(stderr).exit(exit_code))
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.image(image.id)

    async def built_in(self, sandbox: SandboxSettings, *options: str, patched: bool = True) -> None:
        """Run `make kernel` with these options of the sandbox; none without any."""
        variant = self.past.shas[4] + (f"+patch:{'a' * 64}" if patched else "")
        image = await self.past.image(4, variant=variant, state="building")
        step = Compile(name="Compile", script="make kernel", env={}, sandbox=sandbox)
        self.prepare(step, image=image.id)
        around = ["bench-build", "sandboxed", *options, "--"] if options else []
        words = [*around, "sh", "-e", "-c", "make kernel"]
        self.expect_commands(ExpectShell("build", words, env={}, log_environ=False).exit(0))
        self.expect_outcome(SUCCESS)
        await self.run_step()

    async def test_a_patch_is_built_in_a_sandbox(self):
        await self.built_in(SandboxSettings(), "--use=auto", "--directory=/worker/builder")

    async def test_a_commit_is_not_unless_the_job_says_so(self):
        await self.built_in(SandboxSettings(), patched=False)

    async def test_a_job_may_have_all_in_a_sandbox_and_show_it_more(self):
        named = SandboxSettings(use="bubblewrap", read=("/opt/llvm",), write=("~/cache",))
        options = ["--directory=/worker/builder", "--read=/opt/llvm", "--write=~/cache"]
        await self.built_in(named, "--use=bubblewrap", *options, patched=False)

    async def test_a_job_may_have_none(self):
        await self.built_in(SandboxSettings(use="none"))

    async def test_a_script_that_succeeds_says_nothing_yet(self):
        assert (await self.compiled(SUCCESS)).state == "building"

    async def test_a_revision_that_does_not_compile_is_untestable_with_its_error(self):
        image = await self.compiled(FAILURE, exit_code=2, stderr=CLANG)
        assert (image.state, image.reason) == ("untestable", CLANG.splitlines()[1])

    async def test_a_builder_that_fails_is_an_exception_and_the_image_is_still_wanted(self):
        full = "write: No space left on device\n"
        image = await self.compiled(EXCEPTION, exit_code=1, stderr=full)
        assert (image.state, image.reason) == ("building", full.strip())

    async def test_a_script_that_asks_for_what_there_is_not_must_be_mended(self):
        unknown = "make: *** No rule to make target 'kernel'.  Stop.\n"
        image = await self.compiled(EXCEPTION, exit_code=2, stderr=unknown)
        assert (image.state, image.reason) == ("building", unknown.strip())

    async def test_a_person_who_stops_the_build_says_nothing_of_the_revision(self):
        image = await self.compiled(EXCEPTION, stopped="by ann", exit_code=1, stderr=CLANG)
        assert (image.state, image.reason) == ("building", None)
