/* What another process does at the moment. */
#ifndef PROCESS_H
#define PROCESS_H

#include <sys/types.h>

enum process_state { GONE, RUNNING, SLEEPING, STOPPED };

enum process_state process_state(pid_t pid);

#endif
