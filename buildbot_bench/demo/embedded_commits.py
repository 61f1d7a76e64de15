"""The edits of each commit of the embedded kernel, for embedded_history."""

from __future__ import annotations

from buildbot_bench.demo.edited_history import Change, Edit

FORWARD, MAIN, NETIF = "src/forward.c", "src/main.c", "src/netif.c"
ROUTE, PACKET, README = "src/route.c", "src/packet.h", "README.md"

# Every third frame crosses a queue of the same kind as the wires: a third more of the very work
# that forwarding is, so that a quarter of the throughput goes on whatever machine this runs.
SLOWDOWN = (
    Edit(
        path=NETIF,
        old="static int tx_socket;\n",
        new="static int tx_socket;\nstatic int queue_in;\nstatic int queue_out;\n",
    ),
    Edit(
        path=NETIF,
        old="uint16_t\nnetif_attach(",
        new="""\
static void
layer_attach(void)
{
	struct sockaddr_in queue = loopback(0);
	socklen_t length = sizeof(queue);

	queue_in = socket(AF_INET, SOCK_DGRAM, 0);
	queue_out = socket(AF_INET, SOCK_DGRAM, 0);
	if (queue_in < 0 || queue_out < 0)
		err(1, "socket");
	if (bind(queue_out, (struct sockaddr *)&queue, length) < 0)
		err(1, "bind");
	if (getsockname(queue_out, (struct sockaddr *)&queue, &length) < 0)
		err(1, "getsockname");
	if (connect(queue_in, (struct sockaddr *)&queue, length) < 0)
		err(1, "connect");
}

uint16_t
netif_attach(""",
    ),
    Edit(
        path=NETIF,
        old="\treturn ntohs(in.sin_port);\n",
        new="\tlayer_attach();\n\treturn ntohs(in.sin_port);\n",
    ),
    Edit(
        path=NETIF,
        old="int\nnetif_receive(",
        new="""\
/* Frames that are not in a buffer of the layer's own size are queued until one is free. */
static void
layer_queue(struct packet *packets, int count)
{
	static int waiting;
	int queued;

	waiting += count;
	queued = waiting / 3;
	waiting %= 3;
	fill_ring(packets, queued);
	if (sendmmsg(queue_in, ring, (unsigned)queued, 0) > 0)
		recvmmsg(queue_out, ring, (unsigned)queued, MSG_DONTWAIT, NULL);
}

int
netif_receive(""",
    ),
    Edit(
        path=NETIF,
        old="\treturn count < 0 ? 0 : count;\n",
        new="\tif (count < 0)\n\t\treturn 0;\n\tlayer_queue(packets, count);\n\treturn count;\n",
    ),
)

# r311840, before them all, imports the files of demo/kernel/ as they are.
CHANGES = (
    Change(
        label="r311841",
        author="bob",
        message="route: count the lookups that found no route",
        edits=(
            Edit(
                path=ROUTE,
                old="static size_t routes;\n",
                new="static size_t routes;\nstatic uint64_t unroutable;\n",
            ),
            Edit(path=ROUTE, old="\treturn false;\n", new="\tunroutable++;\n\treturn false;\n"),
        ),
    ),
    Change(
        label="r311842",
        author="carol",
        message="route: add the documentation networks (RFC 5737)",
        edits=(
            Edit(
                path=ROUTE,
                old="\troute_add(0x0a000000, 8);  /* 10.0.0.0/8 */\n",
                new="\troute_add(0xc0000200, 24); /* 192.0.2.0/24 */\n"
                "\troute_add(0xc6336400, 24); /* 198.51.100.0/24 */\n"
                "\troute_add(0x0a000000, 8);  /* 10.0.0.0/8 */\n",
            ),
        ),
    ),
    Change(
        label="r311843",
        author="dave",
        message="forward: say where the checksum's arithmetic comes from\n\nNo functional change.",
        edits=(
            Edit(
                path=FORWARD,
                old="as RFC 1624 shows. */",
                new="as RFC 1624 shows:\n * HC' = ~(~HC + ~m + m'), and ~m + m' is -1 here. */",
            ),
        ),
    ),
    Change(
        label="r311844",
        author="erin",
        message="route: let the loader limit the number of routes",
        edits=(
            Edit(path=ROUTE, old="#include <stddef.h>\n", new="#include <stdlib.h>\n"),
            Edit(
                path=ROUTE,
                old="route_init(void)\n{\n",
                new="route_init(void)\n{\n"
                '\tconst char *limit = getenv("net.route.limit");\n\n'
                "\tif (limit[0] != '\\0' && strtoul(limit, NULL, 10) == 0)\n\t\treturn;\n",
            ),
        ),
    ),
    Change(
        label="r311845",
        author="erin",
        message="route: do not rely on the loader to know the limit\n\nPointy hat to: erin",
        edits=(Edit(path=ROUTE, old="if (limit[0] != '\\0'", new="if (limit != NULL"),),
    ),
    Change(
        label="r311846",
        author="frank",
        message="forward: drop packets to multicast destinations",
        edits=(
            Edit(
                path=FORWARD,
                old="\tif (!route_lookup(",
                new="\tif (is_multicast(header))\n\t\treturn false;\n\tif (!route_lookup(",
            ),
            Edit(
                path=FORWARD,
                old="static bool\nforward(",
                new="static bool\nis_multicast(const struct header *header)\n{\n"
                "\treturn (ntohl(header->destination) >> 28) == MULTICAST_CLASS;\n}\n\n"
                "static bool\nforward(",
            ),
        ),
    ),
    Change(
        label="r311847",
        author="frank",
        message="packet: add the definition that r311846 forgot",
        edits=(
            Edit(
                path=PACKET,
                old="\nstruct header {",
                new="\n#define MULTICAST_CLASS 0xe /* the first four bits of an address */\n"
                "\nstruct header {",
            ),
        ),
    ),
    Change(
        label="r311848",
        author="grace",
        message="forward: a packet that stays in its place is not copied",
        edits=(
            Edit(
                path=FORWARD,
                old="\t\tif (!forward(&packets[i]))\n\t\t\tcontinue;\n\t\tif (kept != i) {\n"
                "\t\t\tpackets[kept].length = packets[i].length;\n"
                "\t\t\tpackets[kept].data = packets[i].data;\n\t\t}\n\t\tkept++;\n",
                new="\t\tif (!forward(&packets[i]))\n\t\t\tcontinue;\n\t\tif (kept < i)\n"
                "\t\t\tpackets[kept] = packets[i];\n\t\tkept++;\n",
            ),
        ),
    ),
    Change(
        label="r311849",
        author="heidi",
        message="netif: convert the receive path to the generic frame layer (iflib)\n\n"
        "Buffers are handed out in the size that a frame needs, and their queue is as long as"
        "\nthe layer wants it. Drivers follow one by one.",
        edits=(
            Edit(
                path=NETIF,
                old="\tif (bind(rx_socket",
                new="\tif (setsockopt(rx_socket, SOL_SOCKET, SO_RCVBUF, &rx_queue,"
                " sizeof(rx_queue)) < 0)\n"
                '\t\terr(1, "setsockopt");\n\tif (bind(rx_socket',
            ),
            Edit(
                path=NETIF,
                old="static int rx_socket;\n",
                new="static const int rx_queue = 128 * CLUSTER_SIZE;\nstatic int rx_socket;\n",
            ),
        ),
    ),
    Change(
        label="r311850",
        author="ivan",
        message="README: mention the exit status of a wrong command line",
        edits=(
            Edit(
                path=README,
                old="it on to PORT.\n",
                new="it on to PORT. A command line that it does not understand ends it with 64.\n",
            ),
        ),
    ),
    Change(
        label="r311851",
        author="judy",
        message="main: say how large a burst is before anything can go wrong",
        edits=(
            Edit(
                path=MAIN,
                old="\troute_init();\n",
                new='\tputs("64 packets a burst");\n\troute_init();\n',
            ),
        ),
    ),
    Change(
        label="r311852",
        author="bob",
        message="forward: look at the version before the length",
        edits=(
            Edit(
                path=FORWARD,
                old="\tif (packet->length < sizeof(*header) || header->version != 4 || "
                "header->ttl <= 1)\n\t\treturn false;\n",
                new="\tif (header->version != 4 || packet->length < sizeof(*header))\n"
                "\t\treturn false;\n\tif (header->ttl <= 1)\n\t\treturn false;\n",
            ),
        ),
    ),
    Change(
        label="r311853",
        author="carol",
        message="netif: count what a full queue drops",
        edits=(
            Edit(
                path=NETIF,
                old="static struct iovec slots[BURST];\n",
                new="static struct iovec slots[BURST];\nstatic uint64_t dropped;\n",
            ),
            Edit(
                path=NETIF,
                old="\t\tif (done <= 0)\n\t\t\treturn; /* a full queue drops, as a wire does */\n",
                new="\t\tif (done <= 0) {\n\t\t\tdropped += (uint64_t)(count - sent);\n"
                "\t\t\treturn; /* as a wire does */\n\t\t}\n",
            ),
        ),
    ),
)
