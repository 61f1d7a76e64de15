/*
 * Preloaded into a program, notes where its processor time goes: at every tick of that time the
 * call chain, into the file that $BENCH_SAMPLES names. This is profil(3)'s way: what the program
 * waits for does not count, what the system does for it counts as the call's. The file is shared
 * memory, so that what was noted outlives a SIGKILL.
 */
#define _GNU_SOURCE /* SA_RESTART under -std=c11 */
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define DEPTH 24 /* frames; SAMPLE_FRAMES in child.py */
#define MOST 16384 /* samples; the file has room for so many */
#define OURS 2 /* the handler itself, and the system's frame for it */

struct sample {
	uint64_t depth;
	uint64_t frames[DEPTH]; /* innermost first */
};

static struct sample *samples;
static unsigned taken;

static void
tick(int signal)
{
	void *frames[DEPTH + OURS];
	int depth;

	(void)signal;
	if (taken == MOST)
		return;
	depth = backtrace(frames, DEPTH + OURS) - OURS;
	if (depth <= 0)
		return;
	for (int i = 0; i < depth; i++)
		samples[taken].frames[i] = (uint64_t)(uintptr_t)frames[i + OURS];
	samples[taken++].depth = (uint64_t)depth;
}

__attribute__((constructor)) static void
begin(void)
{
	const struct itimerval every = {{0, 1000}, {0, 1000}}; /* as often as the system ticks */
	struct sigaction action;
	const char *path = getenv("BENCH_SAMPLES");
	void *warm[1];
	int file;

	if (path == NULL || (file = open(path, O_RDWR)) < 0)
		return;
	samples = mmap(NULL, MOST * sizeof(*samples), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (samples == MAP_FAILED)
		return;
	backtrace(warm, 1); /* its first call allocates memory, which a handler must not */
	memset(&action, 0, sizeof(action));
	action.sa_handler = tick;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
}
