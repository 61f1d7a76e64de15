"""A source tree with FreeBSD's targets and variables, in miniature; make and cc are real.

Its make.py stands where FreeBSD's stands and does what that does in the end: it runs make. What
matters of build(7): KERNCONF in KERNCONFDIR, `include` of a configuration of the tree,
MAKEOBJDIRPREFIX, NO_MODULES and MODULES_OVERRIDE, installation below DESTDIR as of its owner.
"""

from __future__ import annotations

from pathlib import Path

MAKEFILE = """\
TARGET ?= amd64
CONF = $(KERNCONFDIR)/$(KERNCONF)
OBJ = $(MAKEOBJDIRPREFIX)/sys/$(KERNCONF)
LINK = s/^makeoptions LDFLAGS="\\(.*\\)"/-fuse-ld=lld \\1/p
CC ?= cc

kernel-toolchain:
\tmkdir -p $(OBJ)
\techo built >> $(OBJ)/toolchain.log

buildkernel: $(OBJ)/kernel
\tset -e; test -n "$(NO_MODULES)" || for m in $(MODULES_OVERRIDE); do \\
\t    $(CC) -c -o $(OBJ)/$$m.ko sys/modules/$$m.c; done

$(OBJ)/kernel: $(CONF) sys/kern/main.c
\tgrep -q '^ident $(KERNCONF)$$' $(CONF)
\ttest -f sys/$(TARGET)/conf/$$(sed -n 's/^include //p' $(CONF))
\techo compiled >> $(OBJ)/kernel.log
\t$(CC) $$(sed -n 's/^options /-D/p' $(CONF)) -Wno-error=format -c -o $(OBJ)/main.o sys/kern/main.c
\t$(CC) -nostdlib -static $$(sed -n '$(LINK)' $(CONF)) -o $(OBJ)/kernel $(OBJ)/main.o

installkernel:
\ttest -n "$(DESTDIR)"
\tmkdir -p $(DESTDIR)/boot/kernel
\tcp $(OBJ)/kernel $(DESTDIR)/boot/kernel/
\tset -e; test -n "$(NO_MODULES)" || for m in $(MODULES_OVERRIDE); do \\
\t    cp $(OBJ)/$$m.ko $(DESTDIR)/boot/kernel/; done

.PHONY: kernel-toolchain buildkernel installkernel
"""

MAKE_PY = """\
import os, sys
words = [word for word in sys.argv[1:] if not word.startswith("--")]
os.execvp("make", ["make", *words])
"""

# Several functions with a section each, so that a linker has something to shuffle.
MAIN = """\
const char version[256] = "FreeBSD 15.0-CURRENT main-n262112-4f4e8f2d1b4a GENERIC-NODEBUG";
%s
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
        "sys/amd64/conf/GENERIC-NODEBUG": "include GENERIC\n",
        "sys/conf/kern.pre.mk": "_LDFLAGS=${LDFLAGS:S/-Wl,//g}\n",
        "sys/kern/main.c": MAIN % FUNCTIONS,
        "sys/modules/em.c": "int em;\n",
        "sys/modules/igb.c": "int igb = 1;\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
