/*
 * fuzz_status.c - what a daemon (of another version, or something else on its socket) answers to
 * `wavetap status`. The first byte chooses text or JSON; the rest is the answer.
 *
 * The answer comes from a thread of its own; everything else is in the main one.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "schema/wt_paths.h"
#include "tests/fuzz/fuzz.h"

int wt_program_main(int argc, char **argv);

static int listen_fd = -1;
static const uint8_t *answer;
static size_t answer_bytes;

/* Handed over by the connection: the answer is set before, and not touched until it is read. */
static void *serve(void *unused)
{
	char request[64];

	for (;;) {
		struct pollfd ready = {.fd = listen_fd, .events = POLLIN};
		int fd;

		/* Not in accept: that sets the lowest free number aside while it waits, which may be
		 * the stdout that the command has just closed. */
		if (poll(&ready, 1, -1) < 0)
			continue;
		fd = accept(listen_fd, NULL, NULL);
		if (fd < 0)
			return unused;
		if (recv(fd, request, sizeof(request), 0) > 0 && answer_bytes)
			(void)!send(fd, answer, answer_bytes, MSG_NOSIGNAL);
		close(fd);
	}
}

static void start(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char data_dir[WT_PATH_BYTES] = "", path[WT_PATH_BYTES] = "";
	pthread_t thread;

	fuzz_folder();
	fuzz_check(wt_path_data_dir(data_dir) == 0, "a data directory");
	wt_path_shm(path, data_dir, ".sock");
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fuzz_check(listen_fd >= 0 &&
	                   bind(listen_fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	                   listen(listen_fd, 8) == 0 &&
	                   pthread_create(&thread, NULL, serve, NULL) == 0,
	           "a daemon");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	const char *argv[] = {"wavetap", "status", fuzz_integer(&input, 1) & 1 ? "--json" : NULL,
	                      NULL};
	int code;

	if (listen_fd < 0)
		start();
	answer = input.at;
	answer_bytes = input.left;
	fuzz_stdout();
	code = wt_program_main(argv[2] ? 3 : 2, (char **)argv);
	fuzz_check(code == 0 || code == 1, "fine or failed");
	return 0;
}
