/* The states of processes: Linux has them in a file, FreeBSD in a table of the kernel's. */
#include "process.h"

#ifdef __FreeBSD__
#include <sys/param.h>
#include <sys/sysctl.h>
#include <sys/user.h>

enum process_state
process_state(pid_t pid)
{
	int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
	struct kinfo_proc process;
	size_t length = sizeof(process);

	if (sysctl(name, 4, &process, &length, NULL, 0) < 0 || length == 0)
		return GONE;
	switch (process.ki_stat) {
	case SSTOP:
		return STOPPED;
	case SSLEEP:
		return SLEEPING;
	case SZOMB:
		return GONE;
	default:
		return RUNNING;
	}
}
#else
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum process_state
process_state(pid_t pid)
{
	char path[32], text[128];
	const char *name_end;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((file = open(path, O_RDONLY)) < 0)
		return GONE;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	text[length < 0 ? 0 : length] = '\0';
	/* `5312 (kernel) S ...`; a name may have brackets, too */
	name_end = strrchr(text, ')');
	switch (name_end == NULL || name_end[1] == '\0' ? 'Z' : name_end[2]) {
	case 'R':
		return RUNNING;
	case 'T':
		return STOPPED;
	case 'Z':
	case 'X':
		return GONE;
	default:
		return SLEEPING;
	}
}
#endif
