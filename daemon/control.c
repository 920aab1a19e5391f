/*
 * control.c - the status socket: one request line per connection, one reply, close.
 *
 *   status             one JSON object
 *   drain KEY MS       waits until nothing of dead processes of that run is left to drain:
 *                      "ok PATH", "none" (no such run), "timeout PATH"
 *   remove NAME        removes a run file: "ok", "busy" (being written) or "error WHY"
 *   stop               "ok", then an orderly end
 *
 * Everything is non-blocking: a client that says nothing, or does not read, costs one place of
 * CLIENTS_MAX for CLIENT_NS and nothing else. Other users are turned away by their
 * credentials. Main thread.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/status.h"

#define CLIENTS_MAX 64
#define CLIENT_NS (10 * WT_SECOND)
#define DRAIN_MS_MAX 3600000
#define STRANGERS_NS (2 * WT_SECOND) /* for samplers that others started */
#define REQUEST_BYTES 1024

struct wt_client {
	struct wt_client *next;
	int fd;
	int64_t begun_ns, until_ns;
	char request[REQUEST_BYTES];
	size_t request_bytes;
	char *reply;
	size_t reply_bytes, sent_bytes;
	bool is_draining; /* `key` is waited for */
	char key[WT_RUN_KEY_BYTES];
};

/* Paths longer than sun_path go through the folder's descriptor. */
static int set_address(const struct wt_daemon *daemon, struct sockaddr_un *address)
{
	const char *slash = strrchr(daemon->sock_path, '/');
	size_t room = sizeof(address->sun_path);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(daemon->sock_path) < room) {
		strcpy(address->sun_path, daemon->sock_path);
		return 0;
	}
	return (size_t)snprintf(address->sun_path, room, "/proc/self/fd/%d/%s", daemon->dir_fd,
	                        slash + 1) < room
	               ? 0
	               : -ENAMETOOLONG;
}

int wt_control_open(struct wt_daemon *daemon)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sockaddr_un address;
	int err = set_address(daemon, &address);
	int fd;

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(daemon->sock_path); /* we hold the lock: nobody listens there */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, CLIENTS_MAX)) {
		err = -errno;
		close(fd);
		return err;
	}
	event.data.fd = fd;
	epoll_ctl(daemon->epoll_fd, EPOLL_CTL_ADD, fd, &event);
	daemon->listen_fd = fd;
	return 0;
}

static void drop_client(struct wt_daemon *daemon, struct wt_client *gone)
{
	struct wt_client **at = &daemon->clients;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	close(gone->fd);
	free(gone->reply);
	free(gone);
}

void wt_control_close(struct wt_daemon *daemon)
{
	while (daemon->clients)
		drop_client(daemon, daemon->clients);
	if (daemon->listen_fd < 0)
		return;
	unlink(daemon->sock_path);
	close(daemon->listen_fd);
	daemon->listen_fd = -1;
}

static bool is_same_user(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void accept_clients(struct wt_daemon *daemon, int64_t now_ns)
{
	int count = 0;

	for (const struct wt_client *client = daemon->clients; client; client = client->next)
		count++;
	for (; count < CLIENTS_MAX; count++) {
		struct epoll_event event = {.events = EPOLLIN};
		int fd = accept4(daemon->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct wt_client *client;

		if (fd < 0)
			return;
		client = is_same_user(fd) ? calloc(1, sizeof(*client)) : NULL;
		if (!client) {
			close(fd);
			continue;
		}
		client->fd = fd;
		client->until_ns = now_ns + CLIENT_NS;
		client->next = daemon->clients;
		daemon->clients = client;
		event.data.fd = fd;
		epoll_ctl(daemon->epoll_fd, EPOLL_CTL_ADD, fd, &event);
	}
}

static void reply(struct wt_client *client, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void reply(struct wt_client *client, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&client->reply, format, ap);
	va_end(ap);
	if (n < 0)
		client->reply = NULL;
	client->reply_bytes = n < 0 ? 0 : (size_t)n;
	client->is_draining = false;
}

/* ---- drain */

enum pending {
	NOTHING,
	STRANGERS, /* samplers that are not ours: nobody ends them with the run */
	RECORDS,
};

/* Dead processes of a run, not drained, committed and unlinked yet; and when there are no others, its
 * samplers, which end with them. */
static enum pending what_is_pending(struct wt_daemon *daemon, const char *key)
{
	bool has_samplers = false, has_strangers = false, has_processes = false;

	for (struct wt_process *process = daemon->processes; process; process = process->next) {
		if (strcmp(process->run->key, key) != 0)
			continue;
		if (process->is_done || process->is_superseded || process->counters.finished_ns ||
		    wt_liveness_poll(&process->liveness) == WT_LIFE_DEAD)
			return RECORDS;
		if (!wt_process_is_sampler(process))
			has_processes = true;
		else if (wt_samplers_is_child(daemon, process->liveness.pid))
			has_samplers = true;
		else
			has_strangers = true;
	}
	if (has_processes)
		return NOTHING;
	return has_samplers ? RECORDS : has_strangers ? STRANGERS : NOTHING;
}

static void check_drain(struct wt_daemon *daemon, struct wt_client *client, int64_t now_ns)
{
	enum pending pending = what_is_pending(daemon, client->key);
	bool is_over = now_ns >= client->until_ns ||
	               (pending == STRANGERS && now_ns - client->begun_ns >= STRANGERS_NS);
	char path[WT_PATH_BYTES];

	if (pending && !is_over)
		return;
	if (wt_run_find_file(daemon, client->key, path)) {
		/* Attached, but its file could not be made: that is not "no such run". */
		for (struct wt_run *run = daemon->runs; run && !client->reply; run = run->next)
			if (!strcmp(run->key, client->key) && run->process_count) {
				if (is_over)
					reply(client, "timeout %s\n",
					      run->path[0] ? run->path : daemon->data_dir);
				else
					return;
			}
		if (!client->reply)
			reply(client, "none\n");
		return;
	}
	reply(client, "%s %s\n", pending ? "timeout" : "ok", path);
}

/* "KEY MS": the key may hold spaces, the number is the last word. */
static void start_drain(struct wt_daemon *daemon, struct wt_client *client, char *arguments,
                        int64_t now_ns)
{
	char *space = strrchr(arguments, ' '), *end;
	long long limit_ms;

	if (!space || space == arguments || space - arguments >= WT_RUN_KEY_BYTES) {
		reply(client, "error drain needs a run key and a time in ms\n");
		return;
	}
	*space = '\0';
	limit_ms = strtoll(space + 1, &end, 10);
	if (end == space + 1 || *end || limit_ms < 0 || limit_ms > DRAIN_MS_MAX) {
		reply(client, "error bad time\n");
		return;
	}
	snprintf(client->key, sizeof(client->key), "%s", arguments);
	client->begun_ns = now_ns;
	client->until_ns = now_ns + limit_ms * WT_MS;
	client->is_draining = true;
	/* Its segments may have appeared and died since the last look. */
	wt_scan(daemon, now_ns, true);
}

/* ---- requests */

static void remove_run(struct wt_daemon *daemon, struct wt_client *client, const char *name)
{
	char error[WT_DB_ERROR_BYTES] = "";
	int err = wt_keep_request(daemon, name, error);

	if (!err)
		reply(client, "ok\n");
	else if (err == -EBUSY)
		reply(client, "busy\n");
	else
		reply(client, "error %s\n", error);
}

static void answer(struct wt_daemon *daemon, struct wt_client *client, int64_t now_ns)
{
	char *text;

	if (!strcmp(client->request, "status")) {
		text = wt_status_json(daemon, now_ns);
		if (text)
			reply(client, "%s\n", text);
		else
			reply(client, "error no memory\n");
		free(text);
	} else if (!strncmp(client->request, "drain ", 6)) {
		start_drain(daemon, client, client->request + 6, now_ns);
	} else if (!strncmp(client->request, "remove ", 7)) {
		remove_run(daemon, client, client->request + 7);
	} else if (!strcmp(client->request, "stop")) {
		daemon->is_stopping = true;
		reply(client, "ok\n");
	} else {
		reply(client, "error unknown request\n");
	}
}

/* Reads on; false: the client is gone or talks nonsense. */
static bool read_request(struct wt_daemon *daemon, struct wt_client *client, int64_t now_ns)
{
	ssize_t n = recv(client->fd, client->request + client->request_bytes,
	                 sizeof(client->request) - 1 - client->request_bytes, 0);
	char *end;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	client->request_bytes += (size_t)n;
	client->request[client->request_bytes] = '\0';
	end = memchr(client->request, '\n', client->request_bytes);
	if (!end)
		return n > 0 && client->request_bytes < sizeof(client->request) - 1;
	*end = '\0';
	answer(daemon, client, now_ns);
	return true;
}

/* Sends on; false: done or failed. */
static bool send_reply(struct wt_daemon *daemon, struct wt_client *client)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.fd = client->fd};
	ssize_t n = send(client->fd, client->reply + client->sent_bytes,
	                 client->reply_bytes - client->sent_bytes, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	client->sent_bytes += n > 0 ? (size_t)n : 0;
	if (client->sent_bytes == client->reply_bytes)
		return false;
	epoll_ctl(daemon->epoll_fd, EPOLL_CTL_MOD, client->fd, &event);
	return true;
}

void wt_control_poll(struct wt_daemon *daemon, int64_t now_ns)
{
	struct wt_client *next;

	if (daemon->listen_fd >= 0)
		accept_clients(daemon, now_ns);
	for (struct wt_client *client = daemon->clients; client; client = next) {
		bool is_kept = true;
		char byte;

		next = client->next;
		if (!client->reply && !client->is_draining)
			is_kept =
			        read_request(daemon, client, now_ns) &&
			        (client->is_draining || client->reply || now_ns < client->until_ns);
		else if (client->is_draining)
			is_kept = recv(client->fd, &byte, 1, MSG_PEEK) != 0; /* hung up? */
		if (is_kept && client->is_draining)
			check_drain(daemon, client, now_ns);
		if (is_kept && client->reply) {
			is_kept = send_reply(daemon, client);
			if (is_kept && now_ns > client->until_ns + CLIENT_NS)
				is_kept = false;
		}
		if (!is_kept)
			drop_client(daemon, client);
	}
}
