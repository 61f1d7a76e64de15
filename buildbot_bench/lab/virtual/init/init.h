/* What the parts of init know of each other. A command returns 0 or less than that: an errno(2). */
#ifndef INIT_H
#define INIT_H

#include <stddef.h>
#include <stdint.h>

#include "../freestanding/freestanding.h"

#define LINE_SIZE 512

/* text.c */
char *next_word(char **line);
long hex_bytes(const char *text, uint8_t *bytes, size_t most);
int number_of(const char *text, int64_t *number);
void print(const char *text);
void print_number(int64_t number);

/* Each takes what follows its name on the line. */
long do_sysctl(char *line);	/* sysctl.c */
long do_ipfw(char *line);	/* firewall.c */
long do_pf(char *line);
long do_address(char *line);	/* network.c */
long do_link(char *line);
long do_up(char *line);
long do_neighbour(char *line);	/* routing.c */
long do_route(char *line);

#endif
