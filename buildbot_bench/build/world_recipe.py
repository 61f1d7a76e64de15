"""The list of what a lab machine's userland is made of: libraries, directories and options."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

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
