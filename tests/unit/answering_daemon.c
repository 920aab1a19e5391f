/*
 * answering_daemon.c - answers on the daemon's socket with fixed texts, for test_cli.sh.
 *
 *   answering_daemon SOCKET STATUS_REPLY DRAIN_REPLY
 *
 * Prints "ready" once it listens. Ends by itself after 60 s.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char request[512];
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	if (argc != 4 || strlen(argv[1]) >= sizeof(address.sun_path))
		return 2;
	strcpy(address.sun_path, argv[1]);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8)) {
		perror("answering_daemon");
		return 1;
	}
	alarm(60);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		ssize_t n = fd < 0 ? -1 : read(fd, request, sizeof(request) - 1);
		const char *reply;

		if (n < 0)
			return 1;
		request[n] = '\0';
		reply = strncmp(request, "drain ", 6) ? argv[2] : argv[3];
		if (write(fd, reply, strlen(reply)) < 0 || write(fd, "\n", 1) < 0)
			perror("answering_daemon");
		close(fd);
	}
}
