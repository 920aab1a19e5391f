/*
 * client.c - see client.h. Single-threaded; blocks up to the given times.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "schema/wt_paths.h"

#define REPLY_BYTES_MAX (16u * 1024u * 1024u)
#define START_TIMEOUT_MS 5000
#define START_POLL_MS 10

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Connects to a socket by its path. Paths longer than sun_path go through
 * /proc/self/fd of their folder.
 */
static int connect_path(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *slash = strrchr(path, '/');
	char folder[WT_PATH_BYTES];
	int folder_fd = -1;
	int rc;

	if (strlen(path) < sizeof(address.sun_path)) {
		strcpy(address.sun_path, path);
	} else {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder_fd < 0)
			return -errno;
		if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path),
		                     "/proc/self/fd/%d/%s", folder_fd,
		                     slash + 1) >= sizeof(address.sun_path)) {
			close(folder_fd);
			return -ENAMETOOLONG;
		}
	}
	rc = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (folder_fd >= 0)
		close(folder_fd);
	/* EAGAIN: its queue is full, as good as busy; the others mean that nobody listens. */
	return rc == -ENOENT || rc == -ENOTDIR ? -ECONNREFUSED : rc;
}

static int check_peer(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return -errno;
	return peer.uid == geteuid() || peer.uid == 0 ? 0 : -EPERM;
}

static int send_line(int fd, const char *request)
{
	char *line = NULL;
	int length = asprintf(&line, "%s\n", request);
	size_t sent = 0;
	int rc = 0;

	if (length < 0)
		return -ENOMEM;
	while (!rc && sent < (size_t)length) {
		ssize_t n = send(fd, line + sent, (size_t)length - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (errno != EINTR)
			rc = -errno;
	}
	free(line);
	return rc;
}

/* Reads until the peer closes. */
static int read_reply(int fd, int64_t deadline_ms, char **ret_reply)
{
	char *reply = NULL;
	size_t used = 0;
	int rc = 0;

	for (;;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - now_ms();
		char *grown = realloc(reply, used + 4097);
		ssize_t n;

		if (!grown || used > REPLY_BYTES_MAX) {
			rc = grown ? -EBADMSG : -ENOMEM;
			reply = grown ? grown : reply;
			break;
		}
		reply = grown;
		n = poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);
		if (n == 0)
			rc = -ETIMEDOUT;
		if (n < 0 && errno == EINTR)
			continue;
		n = n > 0 ? read(fd, reply + used, 4096) : -1;
		if (n < 0 && !rc)
			rc = -errno;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (!rc && (used == 0 || memchr(reply, '\0', used)))
		rc = -EBADMSG;
	if (rc) {
		free(reply);
		return rc;
	}
	while (used && (reply[used - 1] == '\n' || reply[used - 1] == '\r'))
		used--;
	reply[used] = '\0';
	*ret_reply = reply;
	return 0;
}

int wt_client_request(const char *data_dir, const char *request, int timeout_ms, char **ret_reply)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	char path[WT_PATH_BYTES];
	int fd;
	int rc = wt_path_shm(path, data_dir, ".sock");

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = connect_path(fd, path);
	if (!rc)
		rc = check_peer(fd);
	if (!rc)
		rc = send_line(fd, request);
	if (!rc)
		rc = read_reply(fd, deadline_ms, ret_reply);
	close(fd);
	return rc;
}

/* `folder`/`name` into `path` if it is a file that may be used so. */
static int try_file(char *path, const char *folder, const char *name, int mode)
{
	struct stat st;
	int n = snprintf(path, WT_PATH_BYTES, "%s/%s", folder, name);

	if (n < 0 || n >= WT_PATH_BYTES)
		return -ENAMETOOLONG;
	if (access(path, mode) || stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -ENOENT;
}

/* The file that `variable` names and nothing else; or beside us, or where make install puts it. */
static int find_program(char *path, const char *variable, const char *name)
{
	const char *given = secure_getenv(variable);
	char own[WT_PATH_BYTES];

	if (given && given[0]) {
		int n = snprintf(path, WT_PATH_BYTES, "%s", given);

		return n >= WT_PATH_BYTES || access(path, X_OK) ? -ENOENT : 0;
	}
	if (!wt_cli_own_dir(own) && !try_file(path, own, name, X_OK))
		return 0;
	return try_file(path, WT_BINDIR, name, X_OK) ? -ENOENT : 0;
}

int wt_client_find_daemon(char *path)
{
	return find_program(path, "WAVETAP_DAEMON", "wavetapd");
}

int wt_client_find_sampler(char *path)
{
	return find_program(path, "WAVETAP_SAMPLER", "wavetap-sampler");
}

int wt_client_find_library(char *path)
{
	char own[WT_PATH_BYTES];

	if (!wt_cli_own_dir(own) && !try_file(path, own, "libwavetap.so", R_OK))
		return 0;
	return try_file(path, WT_LIBDIR, "libwavetap.so", R_OK) ? -ENOENT : 0;
}

/*
 * Runs the daemon as a grandchild in a session of its own: it is reaped by init, and a
 * Ctrl-C at our terminal doesn't reach it. The rest (descriptors, folder, priority) it
 * does itself.
 */
static int spawn_daemon(const char *path)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0) {
		setsid();
		child = fork();
		if (child == 0) {
			int null_fd = open("/dev/null", O_RDWR);

			for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
				dup2(null_fd, fd);
			unsetenv("LD_PRELOAD");
			execl(path, "wavetapd", "--spawned", (char *)NULL);
			_exit(WT_EXIT_NOT_EXECUTABLE);
		}
		_exit(child < 0 ? 1 : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EAGAIN;
}

static int ping(const char *data_dir)
{
	char *reply = NULL;
	int rc = wt_client_request(data_dir, "status", START_TIMEOUT_MS, &reply);

	if (!rc)
		free(reply);
	return rc;
}

int wt_client_ensure_daemon(const char *data_dir)
{
	const struct timespec pause = {.tv_nsec = START_POLL_MS * 1000000L};
	int64_t deadline_ms;
	char path[WT_PATH_BYTES];
	int rc = ping(data_dir);

	if (rc != -ECONNREFUSED)
		return rc;
	rc = wt_client_find_daemon(path);
	if (rc)
		return rc;
	rc = spawn_daemon(path);
	if (rc)
		return rc;
	deadline_ms = now_ms() + START_TIMEOUT_MS;
	do {
		nanosleep(&pause, NULL);
		rc = ping(data_dir);
	} while (rc == -ECONNREFUSED && now_ms() < deadline_ms);
	return rc == -ECONNREFUSED ? -ETIMEDOUT : rc;
}
