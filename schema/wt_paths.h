/*
 * wt_paths.h - where things are, computed the same way by library, daemon and CLI.
 *
 * libc only and no heap, since the library uses it inside the application. Reads
 * the environment with secure_getenv; never changes it. Any thread; getcwd is the
 * only system call, but for what makes folders.
 *
 *   data directory   WAVETAP_DIR, else $XDG_DATA_HOME/wavetap, else
 *                    $HOME/.local/share/wavetap; made absolute and tidied lexically
 *   runs             <data directory>/runs/<run>.db
 *   shared memory    WAVETAP_SHM_DIR, else /dev/shm; in it
 *                      wavetap-<uid>-<dirhash>-...seg   one per observed process
 *                      wavetap-<uid>-<dirhash>.lock     held by the daemon (flock)
 *                      wavetap-<uid>-<dirhash>.sock     the daemon's status socket
 *   dirhash          64-bit FNV-1a of the data directory, 16 hex digits: one daemon per
 *                    user, host and data directory
 */
#ifndef WT_PATHS_H
#define WT_PATHS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define WT_PATH_BYTES 1024

static inline uint64_t wt_fnv1a(const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * Tidies an absolute path in place: no empty, "." or ".." components and no slash
 * at the end. Lexical: links are not followed, so that all parties agree even when
 * the directory does not exist yet.
 */
static inline void wt_path_tidy(char *path)
{
	char *out = path;

	for (char *in = path; *in;) {
		char *start;
		size_t length;

		while (*in == '/')
			in++;
		start = in;
		while (*in && *in != '/')
			in++;
		length = (size_t)(in - start);
		if (length == 0 || (length == 1 && start[0] == '.'))
			continue;
		if (length == 2 && start[0] == '.' && start[1] == '.') {
			while (out > path && *--out != '/')
				;
			continue;
		}
		*out++ = '/';
		memmove(out, start, length);
		out += length;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
}

/* The data directory into `path` (WT_PATH_BYTES). 0, or -ENAMETOOLONG, -ENOENT (no HOME). */
static inline int wt_path_data_dir(char *path)
{
	const char *dir = secure_getenv("WAVETAP_DIR");
	const char *xdg = secure_getenv("XDG_DATA_HOME");
	const char *home = secure_getenv("HOME");
	char cwd[WT_PATH_BYTES];
	int n;

	if (dir && dir[0] == '/') {
		n = snprintf(path, WT_PATH_BYTES, "%s", dir);
	} else if (dir && dir[0]) {
		if (!getcwd(cwd, sizeof(cwd)))
			return -errno;
		n = snprintf(path, WT_PATH_BYTES, "%s/%s", cwd, dir);
	} else if (xdg && xdg[0] == '/') {
		n = snprintf(path, WT_PATH_BYTES, "%s/wavetap", xdg);
	} else if (home && home[0] == '/') {
		n = snprintf(path, WT_PATH_BYTES, "%s/.local/share/wavetap", home);
	} else {
		return -ENOENT;
	}
	if (n < 0 || n >= WT_PATH_BYTES)
		return -ENAMETOOLONG;
	wt_path_tidy(path);
	return 0;
}

/* The shared-memory directory; never NULL. */
static inline const char *wt_path_shm_dir(void)
{
	const char *dir = secure_getenv("WAVETAP_SHM_DIR");

	return dir && dir[0] == '/' ? dir : "/dev/shm";
}

/*
 * "<shm dir>/wavetap-<uid>-<dirhash>" + suffix into `path` (WT_PATH_BYTES), for a data
 * directory as wt_path_data_dir gave it. Suffixes: ".lock", ".sock", or "-...seg".
 */
static inline int wt_path_shm(char *path, const char *data_dir, const char *suffix)
{
	int n = snprintf(path, WT_PATH_BYTES, "%s/wavetap-%u-%016llx%s", wt_path_shm_dir(),
	                 (unsigned)geteuid(),
	                 (unsigned long long)wt_fnv1a(data_dir, strlen(data_dir)), suffix);

	return n < 0 || n >= WT_PATH_BYTES ? -ENAMETOOLONG : 0;
}

/* Makes an absolute path, and what lies above it, for this user alone. 0 or -errno. */
static inline int wt_path_make_folders(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700); /* if that fails, so does the last one */
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

#endif /* WT_PATHS_H */
