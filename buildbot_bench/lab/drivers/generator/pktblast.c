/*
 * Sender and receiver of the embedded testbed: blasts packets at a DUT and counts what comes back.
 * It knows nothing of who is under test. It prints what netmap's pkt-gen prints, the receiver's log
 * on stdout and the sender's on stderr.
 *
 * The loop is closed: no more packets are under way than a queue holds, so that the DUT alone
 * decides how many pass. DUT and control take turns of two milliseconds, and for each pair of turns
 * the sender's log says what processor time each of them took: their ratio holds still when the
 * machine does not.
 *
 * With PACKETS and BURSTS it goes in lock-step: a turn is a burst, which the device finds in its
 * queue as a whole, and which ends when all of it came back or the device waits for more. So no
 * packet is lost, and none is late, because others used the processor.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "burst.h"
#include "process.h"

#define TURN_US 2000
#define TURNS_PER_LINE 2 /* of the DUT, in the receiver's log */
#define LOOK_MS 2        /* silence after which we look what the device does */
#define LOOKS 3          /* at a device that sleeps: it waits for more packets */
#define STALL_MS 200     /* of the device's time without a packet: it hangs */
#define LAST_MS 500      /* silence after which packets still missing are lost in lock-step */
#define DEAD_TURNS 5     /* in a row without a packet: nothing will come any more */
#define SLOWEST 4        /* times the duration: when a busy machine must have had its turns */

struct device {
	int socket;
	pid_t pid;
	clockid_t clock; /* the process's processor time */
	uint32_t mark;   /* of the packets that are sent to it */
	uint8_t (*flows)[PACKET_SIZE];
	uint64_t sent;
	uint64_t bursts; /* system calls that sent at least one packet */
	uint64_t packets;
	uint64_t events; /* system calls that brought at least one packet */
	uint64_t elapsed_us;
	uint64_t used_ns;
};

struct lab {
	int rx_socket;
	int under_way;
	int flows;
	int next_flow;
	uint64_t damaged;
};

static uint8_t flows[2][FLOWS][PACKET_SIZE];
static uint8_t arrived[WINDOW][PACKET_SIZE];

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0; /* the process is gone */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t
now_us(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000;
}

/* A line of pkt-gen's begins with the time of day, without its higher digits. */
static void
stamp(FILE *log, const char *function, int line)
{
	uint64_t now = clock_ns(CLOCK_REALTIME) / 1000;

	fprintf(log, "%03ju.%06ju %s [%d] ", (uintmax_t)(now / 1000000 % 1000),
	    (uintmax_t)(now % 1000000), function, line);
}

/* Sends a few. A DUT that died refuses packets: they are lost, which is for others to judge. */
static int
send_burst(struct lab *lab, struct device *device, int count)
{
	struct burst burst;

	if (count > lab->flows)
		count = lab->flows;
	if (lab->next_flow + count > lab->flows)
		lab->next_flow = 0;
	burst.packets = &device->flows[lab->next_flow];
	count = burst_send(device->socket, &burst, count);
	if (count < 0 && errno != ECONNREFUSED && errno != EAGAIN && errno != ENOBUFS)
		err(1, "ouch, cannot send");
	if (count <= 0)
		return 0;
	lab->next_flow += count;
	lab->under_way += count;
	device->sent += (uint64_t)count;
	device->bursts++;
	return count;
}

/* What another device, or an earlier run, had kept is nothing of ours. */
static void
receive_burst(struct lab *lab, struct device *device)
{
	struct burst burst = {.packets = arrived};
	int count = burst_receive(lab->rx_socket, &burst, MSG_DONTWAIT);
	int ours = 0;

	for (int i = 0; i < count; i++) {
		bool routed = packet_is_routed(arrived[i], burst.lengths[i]);

		if (routed && packet_mark(arrived[i]) != device->mark)
			continue;
		ours++;
		if (routed)
			device->packets++;
		else
			lab->damaged++;
	}
	device->events += ours > 0;
	lab->under_way = ours < lab->under_way ? lab->under_way - ours : 0;
}

/*
 * Waits for packets and takes them; false when none will come before the device gets more: it
 * sleeps, or computes for longer than any burst takes. That others have the processor is no matter.
 */
static bool
await(struct lab *lab, struct device *device)
{
	struct pollfd incoming = {.fd = lab->rx_socket, .events = POLLIN};
	const uint64_t used = clock_ns(device->clock);
	int asleep = 0;

	while (asleep < LOOKS && clock_ns(device->clock) - used < STALL_MS * 1000000) {
		if (poll(&incoming, 1, LOOK_MS) > 0) {
			receive_burst(lab, device);
			return true;
		}
		asleep = process_state(device->pid) == RUNNING ? 0 : asleep + 1;
	}
	lab->under_way = 0;
	return false;
}

/* Blasts at one device for a turn, and leaves nothing under way that costs the other one time. */
static void
take_turn(struct lab *lab, struct device *device)
{
	const uint64_t began = now_us();
	const uint64_t used = clock_ns(device->clock);

	while (now_us() - began < TURN_US) {
		send_burst(lab, device, WINDOW - lab->under_way);
		if (!await(lab, device))
			break;
	}
	while (lab->under_way > 0 && await(lab, device))
		continue;
	device->elapsed_us += now_us() - began;
	device->used_ns += clock_ns(device->clock) - used;
}

/* Keeps a device from running while its queue is filled; a single packet is no burst. */
static void
hold(const struct device *device, int count)
{
	enum process_state state = RUNNING;

	if (count < 2 || kill(device->pid, SIGSTOP) < 0)
		return;
	while (state != STOPPED && state != GONE) {
		sched_yield();
		state = process_state(device->pid);
	}
}

/* Offers a burst in lock-step. What the device keeps comes, and is counted, in a later turn. */
static void
take_burst(struct lab *lab, struct device *device, int count)
{
	const struct device before = *device;
	const uint64_t began = now_us();

	hold(device, count);
	while (count > 0) {
		int sent = send_burst(lab, device, count < WINDOW ? count : WINDOW);

		if (sent == 0)
			break;
		count -= sent;
	}
	kill(device->pid, SIGCONT);
	while (device->packets < device->sent && await(lab, device))
		continue;
	device->elapsed_us += now_us() - began;
	stamp(stderr, "burst", __LINE__);
	fprintf(stderr, "sent %ju pkts, back %ju pkts\n", (uintmax_t)(device->sent - before.sent),
	    (uintmax_t)(device->packets - before.packets));
}

static void
report_pair(const struct device *dut, const struct device *control, const struct device before[2])
{
	stamp(stderr, "cpu_clock", __LINE__);
	fprintf(stderr, "dut %ju pkts %ju nsec, control %ju pkts %ju nsec\n",
	    (uintmax_t)(dut->packets - before[0].packets),
	    (uintmax_t)(dut->used_ns - before[0].used_ns),
	    (uintmax_t)(control->packets - before[1].packets),
	    (uintmax_t)(control->used_ns - before[1].used_ns));
}

static void
report_line(const struct device *dut, const struct device *last)
{
	uint64_t packets = dut->packets - last->packets;
	uint64_t events = dut->events - last->events;
	uint64_t elapsed_us = dut->elapsed_us - last->elapsed_us;
	double pps = (double)packets * 1e6 / (double)elapsed_us;

	stamp(stdout, "main_thread", __LINE__);
	printf("%.0f pps (%ju pkts %.0f bps in %ju usec) %.2f avg_batch 0 min_space\n", pps,
	    (uintmax_t)packets, pps * 8 * PACKET_SIZE, (uintmax_t)elapsed_us,
	    events == 0 ? 0.0 : (double)packets / (double)events);
}

static void
summarise(FILE *log, const char *verb, uint64_t packets, uint64_t events, uint64_t elapsed_us)
{
	double elapsed_s = (double)elapsed_us / 1e6;

	fprintf(log, "%s %ju packets %ju bytes %ju events %d bytes each in %.2f seconds.\n", verb,
	    (uintmax_t)packets, (uintmax_t)(packets * PACKET_SIZE), (uintmax_t)events, PACKET_SIZE,
	    elapsed_s);
	fprintf(log, "Speed: %.0f pps Bandwidth: %.0f bps\n", (double)packets / elapsed_s,
	    (double)packets * 8 * PACKET_SIZE / elapsed_s);
}

static void
report_total(const struct lab *lab, const struct device *dut)
{
	summarise(stderr, "Sent", dut->sent, dut->bursts, dut->elapsed_us);
	summarise(stdout, "Received", dut->packets, dut->events, dut->elapsed_us);
	printf("Damaged %ju packets\n", (uintmax_t)lab->damaged);
}

static void
require_owner(pid_t owner)
{
	if (getppid() != owner)
		errx(1, "ouch, whoever started us is gone");
}

/* As many turns as the duration holds on an idle machine; a busy one takes longer for as many. */
static void
blast(struct lab *lab, struct device *dut, struct device *control, uint64_t duration_us)
{
	const uint64_t began = now_us();
	const uint64_t turns = duration_us / (2 * TURN_US);
	const pid_t owner = getppid();
	struct device last = *dut;
	int dead = 0;

	for (uint64_t turn = 1; turn <= turns && dead < DEAD_TURNS; turn++) {
		const struct device before[2] = {*dut, *control};

		take_turn(lab, dut);
		take_turn(lab, control);
		report_pair(dut, control, before);
		dead = dut->packets == before[0].packets ? dead + 1 : 0;
		if (turn % TURNS_PER_LINE == 0) {
			report_line(dut, &last);
			last = *dut;
		}
		require_owner(owner);
		if (now_us() - began > SLOWEST * duration_us)
			break;
	}
	report_total(lab, dut);
}

/* So many packets in so many bursts, however long a busy machine takes for them. */
static void
offer(struct lab *lab, struct device *dut, long packets, long bursts)
{
	const pid_t owner = getppid();
	struct pollfd incoming = {.fd = lab->rx_socket, .events = POLLIN};

	for (long turn = 0; turn < bursts; turn++) {
		take_burst(lab, dut,
		    (int)(packets * (turn + 1) / bursts - packets * turn / bursts));
		require_owner(owner);
	}
	while (dut->packets < dut->sent && poll(&incoming, 1, LAST_MS) > 0)
		receive_burst(lab, dut);
	report_total(lab, dut);
}

static struct device
find_device(const char *port, const char *pid, int number)
{
	struct device device = {
		.socket = burst_connect(strtol(port, NULL, 10)),
		.pid = (pid_t)strtol(pid, NULL, 10),
		.mark = 2 * (uint32_t)getpid() + (uint32_t)number,
		.flows = flows[number],
	};
	int error = clock_getcpuclockid(device.pid, &device.clock);

	if (error != 0) {
		errno = error;
		err(1, "ouch, no processor clock of process %s", pid);
	}
	packet_make_flows(device.flows, device.mark);
	return device;
}

int
main(int argc, char **argv)
{
	struct device dut, control;
	struct lab lab = {0};
	long duration_ms;

	if (argc != 8 && argc != 10)
		errx(64, "usage: pktblast RECEIVING-FD DURATION-MS DUT-PORT DUT-PID CONTROL-PORT "
			 "CONTROL-PID FLOWS [PACKETS BURSTS]");
	lab.rx_socket = (int)strtol(argv[1], NULL, 10);
	duration_ms = strtol(argv[2], NULL, 10);
	dut = find_device(argv[3], argv[4], 0);
	control = find_device(argv[5], argv[6], 1);
	lab.flows = (int)strtol(argv[7], NULL, 10);
	if (lab.flows < 1 || lab.flows > FLOWS)
		errx(64, "%s flows: it takes 1 to %d", argv[7], FLOWS);
	stamp(stdout, "main", __LINE__);
	printf("%d flows, window %d, turns of %d usec\n", lab.flows, WINDOW, TURN_US);
	stamp(stdout, "receiver_body", __LINE__);
	printf("waiting for initial packets\n");
	if (argc == 10)
		offer(&lab, &dut, strtol(argv[8], NULL, 10), strtol(argv[9], NULL, 10));
	else
		blast(&lab, &dut, &control, (uint64_t)duration_ms * 1000);
	return 0;
}
