"""Which line of a failed build says why, on logs in the shape of make's and clang's own."""

import pytest

from buildbot_bench.core.build_log import BuildLog, Diagnosis

# A parallel make: what several jobs print stands in between one another.
PARALLEL = """\
--- if_foo.o ---
/src/sys/dev/foo/if_foo.c:12: warning: variable 'error' set but not used [-Wunused-but-set-variable]
        int error;
            ^
1 warning generated.
--- ip_foo.o ---
clang -c -O2 -Werror -Wno-error=unused-function /src/sys/netinet/ip_foo.c
--- if_foo.o ---
ctfconvert -L VERSION -g if_foo.o
--- ip_foo.o ---
/src/sys/netinet/ip_foo.c:842:1: error: implicit declaration of function 'FOO1'
FOO1(1, "%d: error", __LINE__);
^
1 error generated.
*** [ip_foo.o] Error code 1

bmake[2]: stopped in /obj/src/amd64.amd64/sys/BENCH
"""


def diagnosis(output: str, exit_code: int = 2) -> Diagnosis:
    log = BuildLog()
    for line in output.splitlines():
        log.take(line)
    return log.diagnosis(exit_code)


def test_a_warning_of_a_variable_called_error_is_no_error():
    assert diagnosis(PARALLEL).reason == (
        "/src/sys/netinet/ip_foo.c:842:1: error: implicit declaration of function 'FOO1'"
    )


def test_without_a_compilers_error_the_line_of_make_says_what_failed():
    told = """\
warning: variable 'error' is uninitialized
        if (error) {
*** [vnode_if.h] Error code 2

bmake[2]: stopped in /obj
1 error
"""
    assert diagnosis(told).reason == "*** [vnode_if.h] Error code 2"


@pytest.mark.parametrize(
    "line",
    [
        "ld.lld: error: undefined symbol: in_foo",
        "awk: syntax error at source line 3",
        'config: Error: device "foo" is unknown',
        "/src/sys/amd64/amd64/locore.S:9:2: fatal error: 'assym.inc' file not found",
        "error: unknown type name 'foo'",
    ],
)
def test_what_a_program_says_goes_before_what_make_says(line):
    assert diagnosis(f"        int error;\n*** [x.o] Error code 1\n{line}").reason == line


def test_what_bench_build_says_goes_before_what_it_shows_of_its_log():
    """A script of the farm calls it; its last line has the remedy."""
    told = "bench-build: toolchain: a.c:1:10: fatal error: 'archive.h' file not found; install it"
    assert diagnosis(f"note: x\na.c:1:10: fatal error: 'archive.h' file not found\n{told}", 75) == (
        Diagnosis(is_builder_fault=True, reason=told)
    )


def test_a_note_beside_a_warning_is_no_error():
    note = "/src/a.c:3:6: note: initialize the variable 'error' to silence this warning"
    assert diagnosis(f"{note}\n/src/a.c:9:1: error: expected ';'").reason.endswith("expected ';'")


@pytest.mark.parametrize(
    "line",
    [
        "clang: error: unknown argument: '-mfoo=bar'",
        "clang-14: error: unsupported option '-zfoo'",
        "error: unknown warning option '-Wno-error-foo' [-Werror,-Wunknown-warning-option]",
        "ld.lld: error: unknown argument '-z foo'",
    ],
)
def test_a_compiler_that_does_not_know_the_trees_words_is_the_builders(line):
    assert diagnosis(line) == Diagnosis(is_builder_fault=True, reason=line)


@pytest.mark.parametrize(
    "output",
    [
        "cc1: x.c: No space left on device\nmake: *** [Makefile:2: x.o] Error 1",
        "gcc: fatal error: Killed signal terminated program cc1\nmake: *** [x.o] Error 1",
        "gcc: fatal error: Terminated signal terminated program cc1",
        "make: *** [Makefile:2: all] Terminated",
        "make: *** [Makefile:2: all] Error 137",
        "*** Signal 15",
        "/bin/sh: 1: cmake: not found\nmake: *** [Makefile:2: all] Error 127",
        "make: cmake: No such file or directory\nmake: *** [Makefile:2: all] Error 127",
        "/bin/sh: line 1: cmake: command not found",
        "sh: /opt/cross/bin/cc: not found",
    ],
)
def test_what_the_machine_did_or_lacks_is_not_the_revisions(output):
    found = diagnosis(output)
    assert found.is_builder_fault
    assert found.reason in output


@pytest.mark.parametrize("status", [126, 127, 130, 137, 143, -9, None])
def test_a_build_that_somebody_ended_says_nothing_of_the_revision(status):
    assert diagnosis("", status).is_builder_fault


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("/bin/sh: 1: ./configure: not found", 127),
        ("make: tools/gen: Permission denied\nmake: *** [all] Error 127", 2),
        ("x.sh: git: command not found\nx.c:1: error: expected ';'\nmake: *** [x.o] Error 1", 2),
        ("cc: x.c: No such file or directory", 1),
        ("segmentation fault", 139),
    ],
)
def test_what_the_tree_lacks_or_a_compiler_refuses_is_the_revisions(output, status):
    assert not diagnosis(output, status).is_builder_fault
