/* Kernels that fail, one for each way (-DWAY=…); a test compiles them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

enum { CRASH, EXIT, HANG, SPIN, SILENT, DIE, DAMAGE, LOSE, FLOOD, STUBBORN };

int
main(int argc, char **argv)
{
	struct sockaddr_in in = {.sin_family = AF_INET}, out = {.sin_family = AF_INET};
	socklen_t length = sizeof(in);
	char packet[2048];
	int rx = socket(AF_INET, SOCK_DGRAM, 0);

	in.sin_addr.s_addr = out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	out.sin_port = htons((unsigned short)atoi(argv[argc - 1]));
	puts("FreeBSD 12.0-CURRENT #0");
	fflush(stdout);
	if (WAY == CRASH)
		abort();
	if (WAY == EXIT)
		return 3;
	while (WAY == HANG)
		pause();
	while (WAY == SPIN)
		continue;
	for (long i = 0; WAY == FLOOD && i < 1000000; i++)
		puts("the same line again and again");
	if (WAY == STUBBORN)
		signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN), signal(SIGHUP, SIG_IGN);
	bind(rx, (struct sockaddr *)&in, sizeof(in));
	getsockname(rx, (struct sockaddr *)&in, &length);
	printf("listening on port %d\n", ntohs(in.sin_port));
	fflush(stdout);
	for (int i = 0;; i++) {
		ssize_t size = recv(rx, packet, sizeof(packet), 0);

		if (WAY == DIE && i == 100)
			abort();
		if (WAY == LOSE) {
			/* A sound hop: one less to live, and its checksum (RFC 1624), for two of three. */
			unsigned sum = (packet[2] << 8 & 0xff00) + (packet[3] & 0xff) + 1;

			packet[1]--;
			sum = (sum & 0xffff) + (sum >> 16);
			packet[2] = (char)(sum >> 8);
			packet[3] = (char)sum;
		}
		if (WAY == DAMAGE || (WAY == LOSE && i % 3 != 0))
			sendto(rx, packet, (size_t)size, 0, (struct sockaddr *)&out, sizeof(out));
	}
}
