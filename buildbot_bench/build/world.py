"""The userland of a lab machine: what it is made of, and its build, kept by the tree's content."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.freebsd import (
    KernelRecipe,
    Tool,
    check,
    environment,
    make_commands,
    make_words,
)
from buildbot_bench.build.journal import BuildCommand, Journal, run, version_of
from buildbot_bench.build.kernel import check_tree
from buildbot_bench.build.toolchains import (
    Compilers,
    Toolchain,
    clang_and_lld,
    own_compilers,
    toolchain,
)
from buildbot_bench.core.build_log import Stage
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError

# What src.conf(5) switches off: compilers, tests, manuals, and services that no lab machine runs.
LEFT_OUT: Sequence[str] = (
    *("CLANG", "CLANG_BOOTSTRAP", "LLD", "LLD_BOOTSTRAP", "LLDB", "LLVM_BINUTILS", "LLVM_COV"),
    *(
        "SYSTEM_COMPILER",
        "SYSTEM_LINKER",
        "TESTS",
        "GOOGLETEST",
        "MAN",
        "HTML",
        "LIB32",
        "DEBUG_FILES",
    ),
    *("PROFILE", "CTF", "KERBEROS", "GSSAPI", "CDDL", "ZFS", "LOADER_ZFS", "LOADER_GELI", "EFI"),
    *("FORTH", "FDT", "USB", "WIRELESS", "BLUETOOTH", "GAMES", "SENDMAIL", "MAILWRAPPER", "NTP"),
    *("UNBOUND", "LDNS", "PPP", "NETGRAPH", "ICONV", "LOCALES", "NLS", "NIS", "AUDIT", "OFED"),
    *("BLACKLIST", "RESCUE", "CASPER", "RADIUS_SUPPORT", "TCP_WRAPPERS", "BSNMP", "EXAMPLES"),
    *("DIALOG", "IPFILTER", "ZONEINFO", "OPENMP"),
)
# Beside those that other libraries need, which the tree builds first by itself.
LIBRARIES: Sequence[str] = (
    *("lib/libarchive", "lib/libdevstat", "lib/libdl", "lib/libedit", "lib/libifconfig"),
    *("lib/libipsec", "lib/libmemstat", "lib/libnetmap", "lib/libpam/modules/pam_permit"),
    *("lib/libpcap", "lib/libpfctl", "lib/libpmc", "lib/libpmcstat", "lib/libregex", "lib/librt"),
    *("lib/libxo",),
)
# Libraries that install files of /etc, among them the password database.
CONFIGURED: Sequence[str] = ("lib/libc", "lib/libutil")
# What scripts and makefiles read and no compiler names, and what forks of FreeBSD are seen to lack.
READ: Sequence[str] = ("etc", "etc/mtree", "libexec/rc/rc.d", "stand/lua", "stand/defaults")
FILES: Sequence[str] = ("crypto/openssh/config.h", "contrib/bmake/configure", "etc/master.passwd")
# Of the root, without which a lab's machine does not boot, answer or send.
NEEDED: Sequence[str] = (
    *("boot/pmbr", "boot/gptboot", "boot/loader", "sbin/init", "sbin/nextboot", "etc/rc"),
    *("etc/pwd.db", "usr/sbin/sshd", "usr/bin/pkt-gen", "libexec/ld-elf.so.1"),
)


def _below(directory: str, names: str) -> tuple[str, ...]:
    return tuple(f"{directory}/{name}" for name in names.split())


# Each has a Makefile that installs one program, or some few.
DIRECTORIES: Sequence[str] = (
    *_below("libexec", "rtld-elf rc getty save-entropy"),
    *_below(
        "bin",
        "sh cat chmod cp csh date dd df echo expr hostname kenv kill ln ls mkdir mv pkill ps pwd"
        " realpath rm rmdir sleep stty sync test freebsd-version",
    ),
    *_below(
        "sbin",
        "init devfs dmesg fsck fsck_ffs ifconfig kldload kldstat kldunload kldconfig ldconfig md5"
        " mdconfig mdmfs mount reboot ping rcorder route shutdown sysctl swapon umount conscontrol"
        " ipfw pfctl",
    ),
    *_below(
        "usr.bin",
        "awk basename cmp cut dirname du env printenv false true find fsync getopt grep gzip head"
        " hexdump id killall limits logger login logname mktemp netstat nohup printf sed seq sort"
        " stat tail tar tee timeout touch tr uname uniq vmstat wc wall which xargs xz mkfifo"
        " truncate cap_mkdb xinstall",
    ),
    *_below(
        "usr.sbin",
        "arp chown daemon ip6addrctl jail jexec ndp kldxref newsyslog nologin pwd_mkdb service"
        " syslogd utx valectl pmcstat pmccontrol",
    ),
    *("secure/usr.sbin/sshd", "secure/usr.bin/ssh-keygen", "secure/libexec/sftp-server"),
    *("tools/tools/netmap", "stand"),
)
# Where a later release keeps a directory: 15.0 has timeout(1) in /bin.
MOVED: Mapping[str, str] = {"usr.bin/timeout": "bin/timeout"}
# What a later release has beside: an OpenSSH whose sshd(8) starts two programs, as 15.0's.
ADDED: Sequence[str] = _below("secure/libexec", "sshd-session sshd-auth")
# What a tree cannot be built without: since 15.0 that is CASPER.
_REQUIRED = re.compile(r"^__REQUIRED_OPTIONS\s*=((?:.*\\\n)*.*)", re.MULTILINE)
_STANDARD = re.compile(r"^CXXSTD\?=\s*([\w+]+)", re.MULTILINE)


def cplusplus_of(source: Path) -> str:
    """The standard in which a tree's libc++ is written; empty where it is the compiler's own.

    The last one that its makefile names: one before it is for an old gcc.
    """
    makefile = source / "lib" / "libc++" / "Makefile"
    text = makefile.read_text(errors="replace") if makefile.is_file() else ""
    named: list[str] = _STANDARD.findall(text)
    return named[-1] if named else ""


def left_out(source: Path) -> tuple[str, ...]:
    """What is switched off of a tree: a warning of what it requires may end a build."""
    options = source / "share" / "mk" / "src.opts.mk"
    text = options.read_text(errors="replace") if options.is_file() else ""
    required = {name for found in _REQUIRED.findall(text) for name in re.findall(r"\w+", found)}
    return tuple(name for name in LEFT_OUT if name not in required)


def directories_of(source: Path) -> tuple[str, ...]:
    """Those of `DIRECTORIES`, each where this tree has it, and those of `ADDED` that it has."""
    return (
        *(
            MOVED[name] if name in MOVED and (source / MOVED[name]).is_dir() else name
            for name in DIRECTORIES
        ),
        *(name for name in ADDED if (source / name).is_dir()),
    )


# Libraries and programs of FreeBSD 13.1; a build notes how many there were for the next one.
_FILES, _FILES_NOTED, _COMPILED = 9_000, "files", "compiled"
_SHOWN = 5  # names of what a tree lacks


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldRequest:
    """What is to be built; paths are absolute. `worlds` is where worlds are kept."""

    source: Path
    worlds: Path
    tool: Tool
    jobs: int
    least_free_mb: int
    verbose: bool


def build_world(request: WorldRequest) -> Path:
    """Build a userland, or find it; return the directory that has its `root`."""
    _check(request)
    directories = directories_of(request.source)
    standard = cplusplus_of(request.source)
    used = own_compilers() if request.tool == "make" else clang_and_lld(standard)
    if not used.takes(standard):
        raise InfraError(
            f"libc++ of {request.source} is written in {standard}, which this compiler lacks: "
            f"{used.version}",
            hint="install newer ones: Debian: clang-19 lld-19 llvm-19; Fedora: clang lld",
        )
    asked = (
        request.tool,
        used.version,
        version_of(["cc", "--version"]),
        *_words(request.source),
        *directories,
    )
    request.worlds.mkdir(parents=True, exist_ok=True)
    journal = Journal(
        log=request.worlds / "bench-build.log",
        out=sys.stdout,
        source=request.source,
        configuration=request.source / "none",
        about=lambda: _noted(request.worlds / _FILES_NOTED, _FILES),
        compiled=_noted(request.worlds / _COMPILED, 0),
        verbose=request.verbose,
    )
    of = f"{len(LIBRARIES)} libraries and {len(directories)} directories of {request.source}"
    journal.say(f"{of}: some 20 min of two quiet cores, unless kept")

    def build(made: Toolchain) -> None:
        try:
            for command in world_commands(request, used, made):
                run(command, journal)
            _complete(made)
            _note(request.worlds / _FILES_NOTED, journal.compiled)
            (request.worlds / _COMPILED).unlink(missing_ok=True)
        except BaseException:
            _note(request.worlds / _COMPILED, journal.compiled)
            raise

    with (
        closing(journal),
        toolchain(
            request.worlds,
            request.source,
            asked,
            build,
            say=journal.say,
            is_resumable=True,
            more=(*LIBRARIES, *directories, *CONFIGURED, *READ),
        ) as made,
    ):
        for objects in (made.objects, made.tools):
            shutil.rmtree(objects, ignore_errors=True)
        journal.say(f"{'built' if made.is_new else 'kept'}; times: {journal.times()}")
        journal.say(f"world: {made.place}")
        return made.place


def _check(request: WorldRequest) -> None:
    """See that the tree is whole and the builder can build it, before anything is built."""
    check_tree(request.source, "amd64", request.tool)
    directories = directories_of(request.source)
    wanted = [f"{name}/Makefile" for name in (*LIBRARIES, *directories, *CONFIGURED)]
    lacks = [name for name in (*wanted, *FILES) if not (request.source / name).is_file()]
    if lacks:
        more = f" and {len(lacks) - _SHOWN} more" if len(lacks) > _SHOWN else ""
        raise UsageError(
            f"{request.source} lacks {', '.join(lacks[:_SHOWN])}{more}",
            hint="check it out whole: `git status` says what is missing",
        )

    def say(line: str) -> None:
        if line.startswith("missing"):
            print(line)

    check(request.worlds, request.least_free_mb, say=say)


def _words(source: Path) -> tuple[str, ...]:
    return (
        "TARGET=amd64",
        "TARGET_ARCH=amd64",
        *(f"{name}=/dev/null" for name in ("__MAKE_CONF", "SRCCONF", "SRC_ENV_CONF")),
        *(f"WITHOUT_{name}=yes" for name in left_out(source)),
        "WITH_REPRODUCIBLE_BUILD=yes",
        "WITH_UNDEFINED_VERSION=yes",  # libgcc_s of 15.0 lists what clang 14 does not define
        f"_generic_libs={' '.join(LIBRARIES)}",
    )


def world_commands(
    request: WorldRequest, used: Compilers, made: Toolchain
) -> tuple[BuildCommand, ...]:
    """Return the commands that build libraries and programs and install the latter."""
    recipe = KernelRecipe(
        source=request.source,
        obj=made.objects,
        tool=request.tool,
        jobs=request.jobs,
        compilers=used.directory,
    )
    make = (*make_words(recipe), *_words(request.source), f"WORLDTMP={made.tools}")
    env = environment(recipe, made.objects)
    # Owners and modes of what a plain user installs go to METALOG; headers and archives stay away.
    to_root = (
        *(f"DESTDIR={made.root}", f"METALOG={made.place / 'METALOG'}", "NO_ROOT=yes"),
        *("DB_FROM_SRC=yes", "MK_TOOLCHAIN=no", "MK_INSTALLLIB=no"),
    )
    directories = " ".join(directories_of(request.source))
    installed = f"{' '.join(CONFIGURED)} {directories}"

    def command(at: Stage, *words: str) -> BuildCommand:
        return BuildCommand(words=(*make, *words), cwd=request.source, env=env, stage=at)

    jobs = f"-j{request.jobs}"
    shell = f"${{MAKE}} -f Makefile.inc1 install installconfig SUBDIR_OVERRIDE='{installed}'"
    enter = (f"BUILDENV_DIR={request.source}", f"BUILDENV_SHELL={shell}", "buildenv")
    return (
        *make_commands(recipe, made.objects),
        command(Stage.TOOLCHAIN, jobs, "toolchain"),
        command(Stage.WORLD, jobs, f"SUBDIR_OVERRIDE={directories}", "everything"),
        command(Stage.INSTALLATION, *to_root, "distrib-dirs"),
        command(Stage.INSTALLATION, *to_root, *enter),
    )


def _complete(made: Toolchain) -> None:
    """Add libraries and pkt-gen, which the tree does not install; see that the root is whole."""
    for directory in ("lib", "usr/lib"):
        target = made.root / directory
        target.mkdir(parents=True, exist_ok=True)
        for library in sorted((made.tools / directory).glob("*.so.*")):
            # The tree installs some of them itself, and only root writes to what is read-only.
            (target / library.name).unlink(missing_ok=True)
            shutil.copyfile(library, target / library.name, follow_symlinks=False)
    for program in made.objects.rglob("tools/tools/netmap/pkt-gen"):
        shutil.copy(program, made.root / "usr" / "bin" / program.name)
    if lacks := [name for name in NEEDED if not (made.root / name).is_file()]:
        raise UntestableRevision(f"the userland of this tree lacks {', '.join(lacks)}")


def _noted(path: Path, default: int) -> int:
    text = path.read_text() if path.is_file() else ""
    return int(text) if text.isdigit() else default


def _note(path: Path, count: int) -> None:
    path.write_text(str(count))
