"""A source tree in FreeBSD's shape whose kernel boots as FreeBSD's does and forwards.

The build system is the miniature of `freebsd_tree`, and make and cc are real. What it links checks
what the lab's loader hands over, and turns into the small kernel of the virtual lab. That kernel
passes each packet to ip_tryforward() of sys/netinet/ip_fastfwd.c, as FreeBSD's does: a commit that
changes this file changes what a packet costs.
"""

import subprocess
import sys
from pathlib import Path

from tests.fakes.freebsd_tree import MAKEFILE, make_tree
from tests.fakes.vm_kernels import sources
from tests.readme import CHECKOUT

BRANCH = "releng/13.1"
# Of the configuration in docs/tutorial/freebsd-vm.yml.
_DEVICES = ("uart", "md", "iflib", "em", "virtio", "virtio_pci", "vtnet")
_SMALL = "sys/small"

_COMPILED = "-MD -MF $(OBJ)/.depend.ip_fastfwd.o"
_LINKED = """\
\t$(CC) -nostdlib -static -o $(OBJ)/kernel $(OBJ)/main.o $(OBJ)/ip_fastfwd.o \\
\t    $$(sed -n '$(LINK)' $(CONF) | sed 's|[$$]{KERNCONFDIR}|$(KERNCONFDIR)|')
"""

_MBUF = """\
/* What ip_fastfwd.c includes: buffers of the small kernel, by FreeBSD's names. */
#include <stddef.h>

#include "mbuf.h"

#define ETHER_HDR_LEN 14
#define mtod(m, type) ((type)((m)->data + ETHER_HDR_LEN))

struct ip {
	uint8_t ip_hl : 4, ip_v : 4;
	uint8_t ip_rest[19];
};

uint16_t in_cksum_hdr(const struct ip *);
struct mbuf *ip_tryforward(struct mbuf *);
"""
_CHECKSUM = """\
#include "fastfwd.h"

uint16_t
in_cksum_hdr(const struct ip *ip)
{
	const uint8_t *byte = (const uint8_t *)ip;
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*ip); i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
"""
_FAST_PATH = """\
#include "fastfwd.h"

struct mbuf *
ip_tryforward(struct mbuf *m)
{
	struct ip *ip;

	ip = mtod(m, struct ip *);
	if (ip->ip_hl != 5)
		return (m);
	return (NULL);
}
"""
_LINK = """\
# link.py SOURCE OBJECTS: the kernel, from the small one with the tree's fast path.
import shutil, subprocess, sys
from pathlib import Path

sys.path.insert(0, {checkout!r})
from tests.fakes.freebsd_kernels import forwarding_kernel

source, objects = map(Path, sys.argv[1:])
place = objects / "linked"
shutil.rmtree(place, ignore_errors=True)
shutil.copytree(source / {small!r}, place)
shutil.copy(source / "sys/netinet/ip_fastfwd.c", place / "src")
alone = {{"PATH": "/usr/bin:/bin"}}  # this make is none of the build's own
subprocess.run(["make", "-s", "-C", str(place), "kernel"], check=True, env=alone)
shutil.copy(forwarding_kernel(place, place / "kernel"), objects / "kernel")
"""


def make_forwarder(root: Path) -> Path:
    """The tree below `root`, as a git repository whose branch is called as FreeBSD's release."""
    make_tree(root)
    for name, text in (_of_freebsd() | _of_the_small_kernel()).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _git(root, "init", "--quiet", f"--initial-branch={BRANCH}")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message=A release")
    return root


def _of_freebsd() -> dict[str, str]:
    link = f"\t{sys.executable} $(HERE)/sys/small/link.py $(HERE) $(OBJ)\n"
    makefile = MAKEFILE.replace(_LINKED, link)
    makefile = makefile.replace(
        _COMPILED, f"-m32 -ffreestanding -I$(HERE)/{_SMALL}/src {_COMPILED}"
    )
    return {
        "Makefile": makefile,
        "sys/amd64/conf/MINIMAL": "makeoptions DEBUG=-g\n",
        "sys/conf/files": "".join(f"{device}\n" for device in _DEVICES),
        "sys/netinet/ip_fastfwd.c": _FAST_PATH,
    }


def _of_the_small_kernel() -> dict[str, str]:
    files = sources()
    forward, makefile = files["src/forward.c"], files["Makefile"]
    files["src/forward.c"] = forward.replace(
        '#include "forward.h"\n',
        '#include "forward.h"\n\nstruct mbuf *ip_tryforward(struct mbuf *);\n',
    ).replace("if (!is_sound(mbuf) ||", "if (!is_sound(mbuf) || ip_tryforward(mbuf) != NULL ||")
    files["Makefile"] = makefile.replace(
        " src/forward.o ", " src/forward.o src/ip_fastfwd.o src/in_cksum.o "
    )
    files |= {"src/fastfwd.h": _MBUF, "src/in_cksum.c": _CHECKSUM}
    files["link.py"] = _LINK.format(checkout=str(CHECKOUT), small=_SMALL)
    return {f"{_SMALL}/{name}": text for name, text in files.items()}


def _git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=re", "-c", "user.email=re@example.org")
    subprocess.run(["git", "-C", str(root), *identity, *words], check=True)
