"""`bench-build`: parse the command line, run the command, print and set the exit status."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

from buildbot_bench.archives.contents import Manifest
from buildbot_bench.build.freebsd import TOOLS, check
from buildbot_bench.build.kernel import KernelRequest, build_kernel, default_tool
from buildbot_bench.build.outcome import pack, write_list
from buildbot_bench.build.surroundings import Sandbox, Use, check_out, run_in
from buildbot_bench.build.toolchains import default_store
from buildbot_bench.build.world import WorldRequest, build_world
from buildbot_bench.core.build_log import EX_TEMPFAIL, EX_USAGE
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.installed import ShowVersion

_DONE, _UNTESTABLE = 0, 1
_EPILOGUE = f"""\
exit status:
  0  built                             {EX_USAGE}  usage: fix the job in bench.yml
  1  the revision does not compile     {EX_TEMPFAIL}  not the revision's: disk, tools, network

BENCH_REVISION, BENCH_IMAGE and BENCH_OPTIONS in the environment say what is built, as for every
script of bench.yml.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    # Programs inherit what is ignored, as by daemons and nohup(1); the tests of make fail then
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        options.command(options)
    except BenchError as error:
        sys.stdout.flush()
        print(f"bench-build: {error}", file=sys.stderr)
        return _status(error)
    except OSError as error:
        print(f"bench-build: {error}", file=sys.stderr)
        return EX_TEMPFAIL
    return _DONE


def _status(error: BenchError) -> int:
    match error:
        case UsageError():
            return EX_USAGE
        case InfraError():
            return EX_TEMPFAIL
        case _:
            return _UNTESTABLE


class _Parser(argparse.ArgumentParser):
    """Ends with a status that make(1) does not have: a job's mistake is not the revision's."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EX_USAGE, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bench-build",
        description="Checks out, builds and packs kernels on a builder worker.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str, command: Callable[[argparse.Namespace], None]) -> Any:
        verb = commands.add_parser(name, help=text)
        verb.set_defaults(command=command)
        return verb.add_argument

    _add_freebsd(add("freebsd", "build a FreeBSD kernel and pack it", _freebsd))
    _add_world(add("world", "build the userland of a lab's machines", _world))
    _add_check(add("check", "say what this builder lacks, and its packages", _check))
    _add_checkout(add("checkout", "check a revision out from a local mirror", _checkout))
    _add_pack(add("pack", "pack a kernel and modules that are built already", _pack))
    _add_read_files(add("read-files", "list what a kernel was built from, beside it", _read_files))
    _add_sandboxed(add("sandboxed", "run a command without network, home and secrets", _sandboxed))
    return parser


def _add_sandboxed(say: Callable[..., object]) -> None:
    say("--use", choices=get_args(Use), default="auto", help="auto: where there is one")
    say("--directory", type=Path, required=True, help="the builder's own: it may write there")
    say("--read", type=Path, action="append", default=[], metavar="PATH", help="it sees that too")
    say("--write", type=Path, action="append", default=[], metavar="PATH", help="and writes there")
    say("words", nargs="+", metavar="WORD", help="the command, after --")


def _sandboxed(options: argparse.Namespace) -> None:
    sandbox = Sandbox(
        directory=options.directory.resolve(),
        read=tuple(path.expanduser().absolute() for path in options.read),
        write=tuple(path.expanduser().absolute() for path in options.write),
    )
    run_in(sandbox, options.use, options.words)


def _add_freebsd(say: Callable[..., object]) -> None:
    say("--source", type=Path, default=Path(), help="the source tree; default: here")
    say(
        "--obj", type=Path, default=Path("../obj"), help="the object tree that is kept: %(default)s"
    )
    say(
        "--kernconf",
        help="what the kernel is based on: a name in the tree, or a file, with a slash; default:"
        " the first of GENERIC-NODEBUG and GENERIC that the tree has",
    )
    say("--target", default="amd64", help="its machine: %(default)s")
    say("--target-arch", default="", help="its processor, where that has another name")
    say(
        "--modules",
        help="modules to build, with commas, beside those that the workloads load; or none; or"
        " all, the default",
    )
    say("--tool", choices=TOOLS, default=default_tool(), help="default here: %(default)s")
    say("--jobs", type=int, default=os.cpu_count() or 1, help="default here: %(default)s")
    say("--least-free", type=int, default=4096, metavar="MB", help="of the disk: %(default)s")
    say("--toolchains", type=Path, metavar="DIR", help="where they are kept; default: ~/.cache")
    say("--clean", action="store_true", help="empty the object tree first")
    say("--verbose", action="store_true", help="show every line of the build")
    say("--make-arg", action="append", default=[], metavar="WORD", help="a further word for make")
    say("--output", type=Path, default=Path("kernel.txz"), help="the archive: %(default)s")
    say("-n", "--dry-run", action="store_true", help="print the commands, run none")


def _freebsd(options: argparse.Namespace) -> None:
    build_kernel(
        KernelRequest(
            source=options.source.resolve(),
            obj=options.obj.resolve(),
            toolchains=(options.toolchains or default_store()).resolve(),
            kernconf=options.kernconf,
            target=options.target,
            target_arch=options.target_arch or options.target,
            modules=_names(options.modules),
            tool=options.tool,
            jobs=options.jobs,
            least_free_mb=options.least_free,
            clean=options.clean,
            verbose=options.verbose,
            more=tuple(options.make_arg),
            output=options.output.absolute(),
            variant=os.environ.get("BENCH_REVISION", ""),
            options=os.environ.get("BENCH_OPTIONS", ""),
            image=_image(),
        ),
        dry_run=options.dry_run,
    )


def _add_world(say: Callable[..., object]) -> None:
    say("source", type=Path, metavar="SRC", help="a FreeBSD source tree, whole")
    say("--worlds", type=Path, metavar="DIR", help="where they are kept; default: ~/.cache")
    say("--tool", choices=TOOLS, default=default_tool(), help="default here: %(default)s")
    say("--jobs", type=int, default=os.cpu_count() or 1, help="default here: %(default)s")
    say("--least-free", type=int, default=6144, metavar="MB", help="of the disk: %(default)s")
    say("--verbose", action="store_true", help="show every line of the build")


def _world(options: argparse.Namespace) -> None:
    build_world(
        WorldRequest(
            source=options.source.resolve(),
            worlds=(options.worlds or default_store("worlds")).resolve(),
            tool=options.tool,
            jobs=options.jobs,
            least_free_mb=options.least_free,
            verbose=options.verbose,
        )
    )


def _names(modules: str | None) -> tuple[str, ...] | None:
    if modules in {None, "all"}:
        return None
    return () if modules == "none" else tuple(modules.split(","))


def _image() -> int:
    text = os.environ.get("BENCH_IMAGE", "") or "0"
    if not text.isascii() or not text.isdigit():
        raise UsageError(
            f"BENCH_IMAGE is {quoted(text, columns=40)}", hint="it counts images from 0"
        )
    return int(text)


def _add_check(say: Callable[..., object]) -> None:
    say("--obj", type=Path, default=Path("../obj"), help="the object tree: %(default)s")
    say("--least-free", type=int, default=4096, metavar="MB", help="of the disk: %(default)s")


def _check(options: argparse.Namespace) -> None:
    check(options.obj.resolve(), options.least_free)


def _add_checkout(say: Callable[..., object]) -> None:
    say(
        "--mirror",
        type=Path,
        required=True,
        help="a bare repository on this machine; made if absent",
    )
    say("--repository", required=True, help="where the mirror fetches from")
    say("--revision", required=True, metavar="SHA", help="the full hash of a commit")
    say("place", type=Path, nargs="?", default=Path(), help="the directory; default: here")


def _checkout(options: argparse.Namespace) -> None:
    place = options.place.resolve()
    check_out(options.mirror.resolve(), options.repository, options.revision, place)


def _add_pack(say: Callable[..., object]) -> None:
    say("--output", type=Path, default=Path("kernel.txz"), help="the archive: %(default)s")
    for name in ("config", "toolchain", "flags"):
        say(f"--{name}", default="", help="for the manifest")
    say("files", type=Path, nargs="+", help="the kernel and its modules")


def _pack(options: argparse.Namespace) -> None:
    for path in options.files:
        if path.is_symlink():
            raise UntestableRevision(f"{path} is a symbolic link, which is not followed")
    manifest = Manifest(
        variant=f"{os.environ.get('BENCH_REVISION', '')} image {_image()}".strip(),
        config=options.config,
        toolchain=options.toolchain,
        flags=options.flags,
    )
    pack({path.name: path for path in options.files}, manifest, options.output.absolute())


def _add_read_files(say: Callable[..., object]) -> None:
    say("--source", type=Path, default=Path(), help="the source tree; default: here")
    say(
        "--objects",
        type=Path,
        default=Path(),
        help="where cc -MD or make left dependency files; default: here",
    )
    say("--program", type=Path, help="the kernel itself, where what is uploaded is an archive")
    say("kernel", type=Path, help="what is uploaded: a kernel, or an archive of one")


def _read_files(options: argparse.Namespace) -> None:
    kernel = options.kernel.absolute()
    print(write_list(kernel, options.source, options.objects, program=options.program or kernel))


if __name__ == "__main__":
    sys.exit(main())
