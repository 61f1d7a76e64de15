"""A source tree with FreeBSD's targets and variables, in miniature; make and cc are real.

Its make.py stands where FreeBSD's stands and does what that does: it builds make, with the tests
of make, and runs it. What matters of build(7): make's stage lines, a tool chain in WORLDTMP,
KERNCONF in KERNCONFDIR, config(8) with `include` of a configuration of the tree, objects below
MAKEOBJDIRPREFIX by the path of the source, files compiled by their whole path, commands that are
compared in the meta mode, NO_MODULES and MODULES_OVERRIDE, installation below DESTDIR as of its
owner.
"""

from pathlib import Path

from buildbot_bench.build.world import (
    CONFIGURED,
    DIRECTORIES,
    FILES,
    LIBRARIES,
    NEEDED,
)

MAKEFILE = """\
TARGET ?= amd64
HERE = $(CURDIR)$(.CURDIR)
CONF = $(KERNCONFDIR)/$(KERNCONF)
TOP = $(MAKEOBJDIRPREFIX)$(HERE)/$(TARGET).$(TARGET_ARCH)
OBJ = $(TOP)/sys/$(KERNCONF)
LINK = s/^makeoptions LDFLAGS="\\(.*\\)"/-fuse-ld=lld \\1/p
OPTIONS = s/^options \\([A-Z0-9_=]*\\).*/-D\\1/p
DEBUG = s/^makeoptions DEBUG=//p
SSP = s/^makeoptions MKMODULESENV="WITHOUT_SSP=yes"/-DWITHOUT_SSP/p
CC ?= cc

.OBJDIR: $(HERE)

kernel-toolchain:
\t@echo ">>> stage 1.1: legacy release compatibility shims"
\tmkdir -p $(TOP)/usr.sbin/config $(WORLDTMP)/usr/bin
\t$(CC) -MD -MF $(TOP)/usr.sbin/config/.depend.main.o -o $(TOP)/usr.sbin/config/config \\
\t    $(HERE)/usr.sbin/config/main.c
\t@echo ">>> stage 3: cross tools"
\tcp usr.sbin/config/config.sh $(WORLDTMP)/usr/bin/config

buildkernel:
\t@echo ">>> Kernel build for $(KERNCONF) started on Sun Nov 22 01:40:39 UTC 2026"
\t@echo ">>> stage 1: configuring the kernel"
\tsh $(WORLDTMP)/usr/bin/config $(CONF) sys/$(TARGET)/conf
\tmkdir -p $(OBJ)
\t@echo ">>> stage 3.1: building everything"
\ttest -z "$(WITH_META_MODE)" || echo "$(CONF_CFLAGS)" | cmp -s - $(OBJ)/commands || \\
\t    echo "$(CONF_CFLAGS)" > $(OBJ)/commands
\t$(MAKE) $(OBJ)/kernel
\tset -e; test -n "$(NO_MODULES)" || for m in $(MODULES_OVERRIDE); do \\
\t    echo "===> $$m (all)"; \\
\t    ssp=$$(sed -n '$(SSP)' $(CONF)); \\
\t    $(CC) $$ssp $(CONF_CFLAGS) -MD -MF $(OBJ)/.depend.$$m.o \\
\t    -c -o $(OBJ)/$$m.ko $(HERE)/sys/modules/$$m/module.c || { \\
\t    echo "bmake[4]: stopped in $(HERE)/sys/modules/$$m"; exit 1; }; done

$(OBJ)/commands:
\ttouch $@

$(OBJ)/ip_fastfwd.o: $(CONF) $(OBJ)/commands sys/netinet/ip_fastfwd.c
\t@echo "Building $(OBJ)/ip_fastfwd.o"
\t$(CC) $(CONF_CFLAGS) -MD -MF $(OBJ)/.depend.ip_fastfwd.o -c -o $@ \\
\t    $(HERE)/sys/netinet/ip_fastfwd.c

$(OBJ)/kernel: $(CONF) $(OBJ)/commands sys/kern/main.c $(OBJ)/ip_fastfwd.o
\techo compiled >> $(OBJ)/kernel.log
\t@echo "Building $(OBJ)/main.o"
\t$(CC) $$(sed -n '$(OPTIONS)' $(CONF)) -Wno-error=format $(CONF_CFLAGS) \\
\t    $$(sed -n '$(DEBUG)' $(CONF) | sed 's/-gline-tables-only/-g1/') \\
\t    -MD -MF $(OBJ)/.depend.main.o -c -o $(OBJ)/main.o $(HERE)/sys/kern/main.c
\t$(CC) -nostdlib -static -o $(OBJ)/kernel $(OBJ)/main.o $(OBJ)/ip_fastfwd.o \\
\t    $$(sed -n '$(LINK)' $(CONF) | sed 's|[$$]{KERNCONFDIR}|$(KERNCONFDIR)|')
\tcp $(OBJ)/kernel $(OBJ)/kernel.debug

installkernel:
\t@echo ">>> Installing kernel $(KERNCONF) on Sun Nov 22 01:50:00 UTC 2026"
\ttest -n "$(DESTDIR)"
\tmkdir -p $(DESTDIR)/boot/kernel
\tcp $(OBJ)/kernel $(DESTDIR)/boot/kernel/
\tset -e; test -n "$(NO_MODULES)" || for m in $(MODULES_OVERRIDE); do \\
\t    k=$$(sed -n "s/^KMOD[ \t]*=[ \t]*//p" sys/modules/$$m/Makefile); \\
\t    cp $(OBJ)/$$m.ko $(DESTDIR)/boot/kernel/$$k.ko; \\
\t    for l in $$(sed -n 's/^SYMLINKS=.*{KMODDIR}.//p' sys/modules/$$m/Makefile); do \\
\t        ln -s if_$$m.ko $(DESTDIR)/boot/kernel/$$l; done; done

toolchain:
\t@echo ">>> stage 1.1: legacy release compatibility shims"
\tmkdir -p $(TOP)/lib $(WORLDTMP)/lib $(WORLDTMP)/usr/lib
\techo made >> $(WORLDTMP)/../../toolchain.log
\t@echo ">>> stage 4.2: building libraries"
\t@echo "===> lib/libc (obj,all,install)"
\t$(CC) -shared -MD -MF $(TOP)/lib/.depend.libc.o -o $(WORLDTMP)/lib/libc.so.7 \\
\t    $(HERE)/lib/libc/libc.c

everything:
\tset -e; for d in $(SUBDIR_OVERRIDE); do echo "===> $$d (all)"; \\
\t    test ! -f $$d/main.c || $(CC) -MD -MF $(TOP)/lib/.depend.main.o \\
\t    -c -o $(TOP)/main.o $(HERE)/$$d/main.c; done

distrib-dirs:
\ttest -n "$(METALOG)"
\tmkdir -p $(DESTDIR)/bin $(DESTDIR)/etc

buildenv:
\tcd $(BUILDENV_DIR) && $(BUILDENV_SHELL)

install:
\tset -e; for d in $(SUBDIR_OVERRIDE); do echo "===> $$d (install)"; \\
\t    test ! -f $$d/main.c || cp $(TOP)/main.o $(DESTDIR)/$$d; done
\tmkdir -p $(DESTDIR)/lib
\tcp $(WORLDTMP)/lib/libc.so.7 $(DESTDIR)/lib/ && chmod 444 $(DESTDIR)/lib/libc.so.7

installconfig:
\tset -e; for d in $(SUBDIR_OVERRIDE); do \\
\t    test ! -f $$d/rc || cp $$d/rc $(DESTDIR)/etc/; done
\tset -e; while read f; do mkdir -p $$(dirname $(DESTDIR)/$$f); test -f $(DESTDIR)/$$f || \\
\t    echo it > $(DESTDIR)/$$f; done < needed

.PHONY: kernel-toolchain buildkernel installkernel
.PHONY: toolchain everything distrib-dirs buildenv install installconfig
"""

# As boot-strap of make: its tests are run unless they are named; one fails under dash, and one
# where the signal of an interrupt is ignored. Since 14 it notes how make was configured, and
# removes a make that was configured for another place.
MAKE_PY = """\
import os, pathlib, shutil, signal, sys
install = pathlib.Path(os.environ["MAKEOBJDIRPREFIX"], "bmake-install").absolute()
installed, noted = install / "bin" / "bmake", install / ".make-py-config"
configured = f"--prefix={install}"
if not installed.exists() or not noted.exists() or noted.read_text() != configured:
    print("Bootstrapping bmake...", flush=True)
    if install.exists():
        shutil.rmtree(install)
    failing = {"opt-debug-x-trace"}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        failing.add("comment")
    named = os.environ.get("TESTS", "comment opt-debug-x-trace").split()
    if failing & set(named):
        sys.exit(f"Failed tests: {' '.join(failing & set(named))}")
    installed.parent.mkdir(parents=True)
    installed.symlink_to(shutil.which("make"))
    noted.write_text(configured)
words = [word for word in sys.argv[1:] if not word.startswith("--")]
if "-V" in words:
    print("20220208")
else:
    os.execv(installed, ["make", *words])
"""

CONFIG = """\
# config CONFIGURATION DIRECTORY: complains as config(8) does.
n=0
while read -r kind name rest; do
    n=$((n + 1))
    case $kind in
    include) test -f "$2/$name" || { echo "config: cannot open $name"; exit 1; } ;;
    options) grep -q "^${name%%=*}$" sys/conf/options || {
        echo "$1: unknown option \\"$name\\""; exit 1; } ;;
    device) grep -q "^$name$" sys/conf/files || {
        echo "Error: device \\"$name\\" is unknown"; echo "config: 1 errors"; exit 1; } ;;
    ident | nooptions | nodevice | makeoptions | nomakeoptions) ;;
    *) echo "config: $1:$n: syntax error"; exit 1 ;;
    esac
done < "$1"
"""

# Several functions with a section each, so that a linker has something to shuffle.
MAIN = """\
const char version[256] = "FreeBSD 15.0-CURRENT main-n262112-4f4e8f2d1b4a GENERIC-NODEBUG";
%s
const char *const where = __FILE__;
void *const at_boot[] __attribute__((section("set_sysinit_set"))) = { f3, f1, f2 };
#ifdef VIMAGE
__attribute__((section(".text.vnet"))) int vnet(void) { return 7; }
#endif
void _start(void) { for (;;); }
"""
FUNCTIONS = "\n".join(
    f'__attribute__((section(".text.f{i}"))) int f{i}(int x) {{ return x * {i + 2}; }}'
    for i in range(12)
)


def make_tree(root: Path) -> Path:
    """The tree below `root`."""
    files = {
        "Makefile": MAKEFILE,
        "tools/build/make.py": MAKE_PY,
        "contrib/bmake/unit-tests/comment.mk": "# nothing\n",
        "share/mk/bsd.own.mk": "# rules\n",
        "usr.sbin/config/main.c": "int main(void) { return 0; }\n",
        "usr.sbin/config/config.8": "Its manual.\n",
        "usr.sbin/config/config.sh": CONFIG,
        "sys/amd64/conf/GENERIC": "makeoptions DEBUG=-g\n",
        "sys/amd64/conf/GENERIC-NODEBUG": "include GENERIC\n",
        "sys/conf/files": "md\nnetmap\n",
        "sys/conf/kern.pre.mk": "_LDFLAGS=${LDFLAGS:S/-Wl,//g}\n",
        "sys/conf/options": "VIMAGE\nINVARIANTS\nMAXCPU\nFFS\n",
        "sys/conf/newvers.sh": "# what a kernel says of itself\n",
        "sys/kern/main.c": MAIN % FUNCTIONS,
        "sys/netinet/ip_fastfwd.c": "int ip_tryforward(int m) { return m; }\n",
        "share/man/man4/inet.4": "Its manual.\n",
        "sys/modules/em/Makefile": "KMOD = if_em\nSYMLINKS= ${KMOD}.ko ${KMODDIR}/if_igb.ko\n",
        "sys/modules/em/module.c": "int em;\n#ifndef WITHOUT_SSP\nint guarded = 1;\n#endif\n",
        "sys/modules/pf/Makefile": "KMOD=\tpf\n",
        "sys/modules/pf/module.c": "int pf = 1;\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def add_world(root: Path) -> Path:
    """Give the tree what a userland is made of: a library, a program, a script."""
    texts = {f"{name}/Makefile": "# it\n" for name in (*LIBRARIES, *DIRECTORIES, *CONFIGURED)}
    texts |= dict.fromkeys(FILES, "# it\n")
    texts |= {
        "Makefile.inc1": MAKEFILE,
        "lib/libc/libc.c": "int libc;\n",
        "bin/cat/main.c": "int main(void) { return 0; }\n",
        "libexec/rc/rc": "echo starting\n",
        "needed": "".join(f"{name}\n" for name in NEEDED),
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "contrib/bmake/configure").chmod(0o755)
    return root
