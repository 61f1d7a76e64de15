"""Where a build of FreeBSD is, told by make's own lines, in the shape of real ones."""

import pytest

from buildbot_bench.core.build_log import Stage, Stages

RULE = "-" * 62
BOOTSTRAP = ["checking for gcc... /usr/bin/cc", "Finished bootstrapping bmake..."]
TOOLCHAIN = [
    "--- kernel-toolchain ---",
    RULE,
    ">>> Rebuilding the temporary build tree",
    RULE,
    ">>> stage 1.1: legacy release compatibility shims",
    "===> tools/build (obj,includes,all,install)",
    ">>> stage 2.3: build tools",
    ">>> stage 3: cross tools",
    ">>> stage 3.1: recording build metadata",
]
CONFIGURATION = [
    ">>> Kernel build for BENCH started on Sun Nov 22 01:40:39 UTC 2026",
    "===> BENCH",
    ">>> stage 1: configuring the kernel",
    "Kernel build directory is /obj/src/amd64.amd64/sys/BENCH",
    ">>> stage 2.3: build tools",
]
KERNEL = [
    ">>> stage 3.1: building everything",
    "--- in_foo.o ---",
    "/usr/bin/clang -target x86_64-unknown-freebsd13.1 -c -O2 /src/sys/netinet/in_foo.c",
    "ctfconvert -L VERSION -g in_foo.o",
    "Building /obj/src/amd64.amd64/sys/BENCH/ip_foo.o",
    "cc -c -x assembler-with-cpp -DLOCORE /src/sys/amd64/amd64/locore.S",
]
MODULES = [
    "===> em (all)",
    "Building /obj/src/amd64.amd64/sys/BENCH/modules/src/sys/modules/em/a.o",
]
INSTALLATION = [">>> Installing kernel BENCH on Sun Nov 22 01:50:00 UTC 2026", "===> em (install)"]


def seen(*parts: list[str]) -> Stages:
    stages = Stages()
    for line in (line for part in parts for line in part):
        stages.take(line)
    return stages


@pytest.mark.parametrize(
    ("parts", "stage"),
    [
        ([BOOTSTRAP], Stage.BOOTSTRAP),
        ([BOOTSTRAP, TOOLCHAIN], Stage.TOOLCHAIN),
        ([BOOTSTRAP, TOOLCHAIN, CONFIGURATION], Stage.CONFIGURATION),
        ([CONFIGURATION, KERNEL], Stage.KERNEL),
        ([CONFIGURATION, KERNEL, MODULES], Stage.MODULES),
        ([INSTALLATION], Stage.INSTALLATION),
    ],
)
def test_each_stage_is_known_by_the_lines_of_make(parts, stage):
    assert seen(*parts).stage is stage


def test_trees_of_before_2016_make_dependencies_first():
    assert seen(CONFIGURATION, [">>> stage 3.1: making dependencies"]).stage is Stage.KERNEL


def test_what_is_before_the_kernels_first_object_is_the_builders():
    assert [stage for stage in Stage if stage.is_the_builders] == [
        Stage.BOOTSTRAP,
        Stage.TOOLCHAIN,
        Stage.CONFIGURATION,
    ]


def test_the_files_are_counted_as_they_are_compiled():
    assert seen(BOOTSTRAP, TOOLCHAIN, CONFIGURATION).compiled == 0
    assert seen(CONFIGURATION, KERNEL).compiled == 3
    assert seen(CONFIGURATION, KERNEL, MODULES).compiled == 4


def test_a_module_that_is_built_beside_the_kernel_is_named_when_it_fails():
    stopped = "bmake[4]: stopped in /src/sys/modules/em"
    assert seen(CONFIGURATION, KERNEL, MODULES, [stopped]).failed_module == "em"
    kernel = "bmake[2]: stopped in /obj/src/amd64.amd64/sys/BENCH"
    assert seen(CONFIGURATION, KERNEL, MODULES, [kernel]).failed_module == ""


@pytest.mark.parametrize(
    "line",
    [
        'config: Error: device "foo" is unknown',
        '/obj/bench-conf/BENCH: unknown option "FOO"',
        "config: /src/sys/amd64/conf/GENERIC:12: syntax error",
        "ERROR: version of config(8) does not match kernel!",
    ],
)
def test_what_config_rejects_is_kept_apart(line):
    assert seen(CONFIGURATION[:3], [line]).rejected == line
    assert seen(KERNEL, [line]).rejected == ""
