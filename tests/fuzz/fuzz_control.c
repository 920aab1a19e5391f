/*
 * fuzz_control.c - anybody's bytes on the daemon's status socket.
 *
 * The input is what clients send: a byte that says how much of it goes out at once, the length of
 * a message, the message; bit 7 of the first byte closes the sending side after it. The daemon
 * must answer in its own words or hang up, and go on.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "tests/fuzz/fuzz.h"

static struct wt_daemon daemon_state;
static sqlite3 *judge;

static void start(void)
{
	fuzz_folder();
	wt_log_open("/dev/null");
	fuzz_check(wt_path_data_dir(daemon_state.data_dir) == 0, "a data directory");
	wt_path_shm(daemon_state.sock_path, daemon_state.data_dir, ".sock");
	strcpy(daemon_state.prefix, "none");
	daemon_state.dir_fd = open(wt_path_shm_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	daemon_state.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	daemon_state.lock_fd = daemon_state.signal_fd = daemon_state.inotify_fd = -1;
	daemon_state.listen_fd = -1;
	fuzz_check(wt_control_open(&daemon_state) == 0, "a socket");
	fuzz_check(sqlite3_open(":memory:", &judge) == SQLITE_OK, "SQLite");
}

static int connect_client(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", daemon_state.sock_path);
	fuzz_check(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0,
	           "the daemon listens");
	return fd;
}

static bool is_json(const char *text)
{
	sqlite3_stmt *statement = NULL;
	bool is_valid = false;

	if (sqlite3_prepare_v2(judge, "SELECT json_valid(?1)", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		is_valid = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return is_valid;
}

static void check_reply(const char *reply)
{
	static const char *const words[] = {"ok", "none", "timeout ", "error "};
	bool is_known = !reply[0] || (reply[0] == '{' && is_json(reply));

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_known |= !strncmp(reply, words[i], strlen(words[i]));
	fuzz_check(is_known, "the reply is one of the protocol");
}

static void talk(struct fuzz_input *input, int64_t *now_ns)
{
	unsigned how = (unsigned)fuzz_integer(input, 1);
	size_t bytes, at_once = (how & 0x7f) + 1, used = 0;
	const uint8_t *message = fuzz_some(input, fuzz_integer(input, 2) % 1200, &bytes);
	int fd = connect_client();
	char reply[8192];
	ssize_t n = -1;

	while (bytes) {
		size_t piece = bytes < at_once ? bytes : at_once;

		if (send(fd, message, piece, MSG_NOSIGNAL) < 0)
			break;
		message += piece;
		bytes -= piece;
		wt_control_poll(&daemon_state, *now_ns);
	}
	if (how & 0x80)
		shutdown(fd, SHUT_WR);
	for (int i = 0; i < 4 && used < sizeof(reply) - 1; i++) {
		*now_ns += 5 * WT_SECOND;
		wt_control_poll(&daemon_state, *now_ns);
		n = recv(fd, reply + used, sizeof(reply) - 1 - used, 0);
		used += n > 0 ? (size_t)n : 0;
	}
	reply[used] = '\0';
	check_reply(reply);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	int64_t now_ns = 1000 * WT_SECOND;

	if (!judge)
		start();
	while (input.left)
		talk(&input, &now_ns);
	/* Whoever was left waiting (drain takes an hour at most) is gone by then. */
	for (int i = 0; i < 3; i++)
		wt_control_poll(&daemon_state, now_ns += 4000 * WT_SECOND);
	fuzz_check(!daemon_state.clients, "no client stays for ever");
	daemon_state.is_stopping = false;
	return 0;
}
