/*
 * client.h - talking to wavetapd, and starting it.
 *
 * One request line per connection, one reply, close (daemon/control.c). The socket lies
 * in a folder where anybody may write, so a peer that is neither this user nor root is
 * refused. Blocks up to the given time.
 */
#ifndef WT_CLI_CLIENT_H
#define WT_CLI_CLIENT_H

#include <stddef.h>

/*
 * Sends `request` (without newline) to the daemon of `data_dir`; *ret_reply is the
 * reply without its newline, malloc'd. 0, or -ECONNREFUSED: no daemon, -ETIMEDOUT,
 * -EPERM: the socket is another user's, -EBADMSG: no whole reply, other -errno.
 */
int wt_client_request(const char *data_dir, const char *request, int timeout_ms, char **ret_reply);

/*
 * The wavetapd to start, into `path` (WT_PATH_BYTES): WAVETAP_DAEMON, else beside this
 * program, else where it was installed. 0 or -ENOENT.
 */
int wt_client_find_daemon(char *path);
/* The same for wavetap-sampler. */
int wt_client_find_sampler(char *path);

/* The absolute path of libwavetap.so, likewise (without a variable). 0 or -ENOENT. */
int wt_client_find_library(char *path);

/*
 * Starts the daemon of `data_dir` unless one answers already, and waits until it does.
 * It is nobody's child then and outlives us. 0 or -errno.
 */
int wt_client_ensure_daemon(const char *data_dir);

#endif /* WT_CLI_CLIENT_H */
