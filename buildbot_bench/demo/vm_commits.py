"""The edits of each commit of the virtual machine's kernel, for vm_history."""

from __future__ import annotations

from buildbot_bench.demo.edited_history import Change, Edit

E1000, FORWARD, MAIN = "src/e1000.c", "src/forward.c", "src/main.c"
MBUF, ROUTE, README = "src/mbuf.c", "src/route.c", "README.md"

IMPORT = Change(
    label="r320000", author="alice", message="Import the kernel: it forwards between two NICs"
)
CHANGES = (
    Change(
        label="r320001",
        author="bob",
        message="route: say in which order routes are added\n\nNo functional change.",
        edits=(
            Edit(
                path=ROUTE,
                old="void\nroute_init(void)\n{\n",
                new="/* Longer prefixes first. */\nvoid\nroute_init(void)\n{\n",
            ),
        ),
    ),
    Change(
        label="r320002",
        author="carol",
        message="main: say on the console which release this is",
        edits=(
            Edit(
                path=MAIN,
                old="\tprint_identity();\n\ttrap_init",
                new='\tprint("release 1\\n");\n\tprint_identity();\n\ttrap_init',
            ),
        ),
    ),
    # Four instructions of nearly eight hundred.
    Change(
        label="r320003",
        author="dave",
        message="forward: count packets, in all and by interface\n\n"
        "Sixty-four bits, so that the counters never wrap.",
        edits=(
            Edit(
                path=FORWARD,
                old="static bool\nis_sound(",
                new="uint64_t forwarded;\nuint64_t forwarded_by[INTERFACES];\n\n"
                "static bool\nis_sound(",
            ),
            Edit(
                path=FORWARD,
                old="\tdecrement_ttl(ip);\n",
                new="\tforwarded++;\n\tforwarded_by[interface]++;\n\tdecrement_ttl(ip);\n",
            ),
        ),
    ),
    Change(
        label="r320004",
        author="erin",
        message="route: add the networks of the other building",
        edits=(
            Edit(
                path=ROUTE,
                old="\troute_add(0xc6130000, 16, 1); /* 198.19.0.0/16, where the receiver is */\n",
                new="\troute_add(0xc6130000, 16, 1); /* 198.19.0.0/16, where the receiver is */\n"
                "\tfor (uint32_t i = 0; i < 16; i++)\n"
                "\t\troute_add(0x0a000000 + (i << 16), 16, 0);\n",
            ),
        ),
    ),
    # More routes than the table has room for.
    Change(
        label="r320005",
        author="erin",
        message="route: and those of the building across the road",
        edits=(Edit(path=ROUTE, old="i < 16; i++", new="i < 32; i++"),),
    ),
    # Sixteen packets never wait at once before the first one came.
    Change(
        label="r320006",
        author="frank",
        message="route: make room for them; e1000: let the card settle first",
        edits=(
            Edit(path=ROUTE, old="#define ROUTES 64\n", new="#define ROUTES 128\n"),
            Edit(
                path=E1000,
                old="\twrite_register(card, IMS, RECEIVED);\n",
                new="\twhile (card->registers[RDH / 4] < 16)\n\t\t;\n"
                "\twrite_register(card, IMS, RECEIVED);\n",
            ),
        ),
    ),
    Change(
        label="r320007",
        author="frank",
        message="e1000: do not wait for the card, which waits for us",
        edits=(Edit(path=E1000, old="\twhile (card->registers[RDH / 4] < 16)\n\t\t;\n", new=""),),
    ),
    Change(
        label="r320008",
        author="grace",
        message="mbuf: hand out clean buffers\n\n"
        "Nobody should find in a packet what another one left there.",
        edits=(
            Edit(
                path=MBUF,
                old="#include <stddef.h>\n\n",
                new='#include <stddef.h>\n\n#include "memory.h"\n\n'
                "#define HEADERS 640 /* bytes that may hold some */\n",
            ),
            Edit(
                path=MBUF,
                old="\tmbuf->flags = 0;\n",
                new="\tmbuf->flags = 0;\n\tmemset(mbuf->data, 0, HEADERS);\n",
            ),
        ),
    ),
    Change(
        label="r320009",
        author="heidi",
        message="README: mention the second interface",
        edits=(Edit(path=README, old="two interfaces", new="two interfaces, em0 and em1"),),
    ),
    Change(
        label="r320010",
        author="judy",
        message="main: a new release",
        edits=(Edit(path=MAIN, old='"release 1\\n"', new='"release 2\\n"'),),
    ),
)
