/*
 * fuzz_util.c - see fuzz.h.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

uint64_t fuzz_integer(struct fuzz_input *input, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes && input->left; i++, input->at++, input->left--)
		value |= (uint64_t)*input->at << (8 * i);
	return value;
}

const uint8_t *fuzz_some(struct fuzz_input *input, size_t bytes, size_t *ret_bytes)
{
	const uint8_t *at = input->at;

	*ret_bytes = bytes < input->left ? bytes : input->left;
	input->at += *ret_bytes;
	input->left -= *ret_bytes;
	return at;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status, (void)type;
	return where->level ? remove(path) : 0;
}

void fuzz_clear(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void leave(void)
{
	if (chdir("/") == 0)
		fuzz_clear(folder);
	rmdir(folder);
}

const char *fuzz_folder(void)
{
	char path[100];

	if (folder[0])
		return folder;
	strcpy(folder, "/dev/shm/wt-fuzz.XXXXXX");
	if (!mkdtemp(folder) || chdir(folder)) {
		perror("/dev/shm");
		_exit(99);
	}
	atexit(leave);
	snprintf(path, sizeof(path), "%s/data", folder);
	mkdir(path, 0700);
	setenv("WAVETAP_DIR", path, 1);
	snprintf(path, sizeof(path), "%s/shm", folder);
	mkdir(path, 0700);
	setenv("WAVETAP_SHM_DIR", path, 1);
	return folder;
}

void fuzz_write(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size, "the input can be stored");
	close(fd);
}

void fuzz_stdout(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fuzz_check(fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO, "/dev/null can be opened");
	if (fd != STDOUT_FILENO)
		close(fd);
}

void fuzz_check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}
