"""The table of what FreeBSD's releases need to be built and booted, each with its first release."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseNeed:
    """A need of `since`, the oldest release that is known to have it, and of later ones.

    `where` is the module of this package that meets the need.
    """

    since: str
    what: str
    where: str


NEEDS: Mapping[str, ReleaseNeed] = {
    "interfaces": ReleaseNeed(
        since="12.0",
        what="The lab's own `init` calls network interfaces by the structures of that release.",
        where="lab/virtual/init/start.S",
    ),
    "objects": ReleaseNeed(
        since="12.0",
        what="Objects lie by the path of the source, then by the machine; before, the other way.",
        where="build/kernel.py",
    ),
    "make.py": ReleaseNeed(
        since="13.0",
        what="`tools/build/make.py` builds on other systems; older trees build on FreeBSD alone.",
        where="build/freebsd.py",
    ),
    "boot_id": ReleaseNeed(
        since="13.0",
        what="The kernel has `kern.boot_id`; before, the time since boot identifies a new boot.",
        where="lab/hardware/boot_watch.py",
    ),
    "make": ReleaseNeed(
        since="15.0",
        what="`make.py` refuses a make that is a link or was built for another directory: each "
        "object tree has its own.",
        where="build/kernel.py",
    ),
    "lex": ReleaseNeed(
        since="15.0",
        what="The tool chain may call the builder's `lex` before it has made its own.",
        where="build/freebsd.py",
    ),
    "world": ReleaseNeed(
        since="15.0",
        what="A userland keeps `timeout` in `/bin`, cannot leave out CASPER, and has a libc++ in "
        "C++23: clang 17 or newer builds it (Debian: `clang-19`, `lld-19`).",
        where="build/world.py",
    ),
    "ffs": ReleaseNeed(
        since="15.0",
        what="MINIMAL has no file system of its own: a kernel for a virtual machine names "
        "`options FFS`.",
        where="lab/virtual/freebsd_system.py",
    ),
    "disk": ReleaseNeed(
        since="15.0",
        what="UFS2 has its superblock at 65536 alone, where Debian's `makefs` does not write it: "
        "the disks of virtual machines are UFS1.",
        where="archives/disk.py",
    ),
    "abi": ReleaseNeed(
        since="15.0",
        what="A program without libraries is known by the ABI in its ELF header (`EI_OSABI` 9).",
        where="lab/virtual/system.py",
    ),
}
