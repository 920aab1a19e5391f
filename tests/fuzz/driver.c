/*
 * driver.c - runs a fuzz target without libFuzzer: the smoke test of `make check`.
 *
 *   fuzz_NAME                     the kept inputs in corpus/NAME and regress/NAME, then changed ones
 *   fuzz_NAME FILE...             only these, to look at one finding
 *
 * The changes are made from a fixed seed, so a run can be repeated. WT_FUZZ_ROUNDS says how many.
 * An input on which the program dies is left in fuzz-NAME.input in the working directory.
 * TAP on stdout, while the target's own output goes nowhere.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_BYTES_MAX 65536
#define INPUTS_MAX 1000
#define ROUNDS 1500
#define PATIENCE_S 120 /* for one input */

struct kept {
	uint8_t *data;
	size_t size;
};

static struct kept kept[INPUTS_MAX];
static size_t kept_count;
static uint8_t current[INPUT_BYTES_MAX];
static size_t current_bytes;
static char crash_path[PATH_MAX];
static FILE *tap;
static int tap_count;

/* Given by the sanitizers' runtimes. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void keep_current(void)
{
	int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd >= 0 && write(fd, current, current_bytes) >= 0)
		close(fd);
}

static void on_death(int number)
{
	keep_current();
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_for_death(void)
{
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_current);
	else
		signal(SIGSEGV, on_death);
	signal(SIGABRT, on_death);
	signal(SIGALRM, on_death);
}

static void run_current(void)
{
	/* Exactly as long as it is, so that a sanitizer sees a read beyond it. */
	uint8_t *copy = malloc(current_bytes ? current_bytes : 1);

	if (!copy)
		exit(99);
	memcpy(copy, current, current_bytes);
	alarm(PATIENCE_S);
	LLVMFuzzerTestOneInput(copy, current_bytes);
	alarm(0);
	free(copy);
}

static void ok(const char *what, const char *detail)
{
	fprintf(tap, "ok %d - %s%s\n", ++tap_count, what, detail);
	fflush(tap);
}

/* ---- the kept inputs */

static bool read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, current, sizeof(current));

	if (fd >= 0)
		close(fd);
	current_bytes = n > 0 ? (size_t)n : 0;
	return n >= 0;
}

static void run_file(const char *path)
{
	if (!read_file(path)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	run_current();
	if (kept_count == INPUTS_MAX)
		return;
	kept[kept_count].data = malloc(current_bytes + 1);
	if (!kept[kept_count].data)
		exit(99);
	memcpy(kept[kept_count].data, current, current_bytes);
	kept[kept_count++].size = current_bytes;
}

static void run_folder(const char *kind, const char *name)
{
	const char *top = getenv("top_srcdir");
	char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	struct dirent **entries;
	int n;

	snprintf(folder, sizeof(folder), "%s/tests/fuzz/%s/%s", top ? top : ".", kind, name);
	n = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.') {
			run_file(path);
			ok("survives ", path + strlen(folder) - strlen(name) - strlen(kind) - 1);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* ---- changed ones */

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

/* xorshift64: the same everywhere. */
static uint32_t pick(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return below ? (uint32_t)(random_state >> 33) % below : 0;
}

static void insert_from(const struct kept *from)
{
	size_t at = pick((uint32_t)current_bytes + 1), start = pick((uint32_t)from->size + 1);
	size_t bytes = from->size - start;

	bytes = bytes > 64 ? pick(64) : bytes;
	if (current_bytes + bytes > sizeof(current))
		return;
	memmove(current + at + bytes, current + at, current_bytes - at);
	memcpy(current + at, from->data + start, bytes);
	current_bytes += bytes;
}

static void change(void)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '~', '"', '<', 'I', 'E', '_'};
	size_t at = pick((uint32_t)current_bytes), bytes;

	switch (pick(6)) {
	case 0:
		insert_from(&kept[pick((uint32_t)kept_count)]);
		return;
	case 1: /* cut out */
		bytes = pick(16) < current_bytes - at ? pick(16) : current_bytes - at;
		bytes = bytes > current_bytes - at ? current_bytes - at : bytes;
		memmove(current + at, current + at + bytes, current_bytes - at - bytes);
		current_bytes -= bytes;
		return;
	case 2:
		if (current_bytes)
			current[at] ^= (uint8_t)(1u << pick(8));
		return;
	case 3:
		if (current_bytes)
			current[at] = odd[pick(sizeof(odd))];
		return;
	case 4: /* a run of one byte */
		for (uint32_t n = pick(9); n && at < current_bytes; n--)
			current[at++] = 0xff;
		return;
	default:
		if (current_bytes)
			current[at] = (uint8_t)pick(256);
	}
}

static void run_changed(int rounds)
{
	char text[64];

	for (int i = 0; i < rounds; i++) {
		const struct kept *from = &kept[pick((uint32_t)kept_count)];

		memcpy(current, from->data, from->size);
		current_bytes = from->size;
		for (uint32_t n = 1 + pick(6); n; n--)
			change();
		run_current();
	}
	snprintf(text, sizeof(text), "%d changed inputs", rounds);
	ok("survives ", text);
}

/* The target's words are of no interest; the sanitizers' go to their own copy of stderr. */
static void silence(void)
{
	int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);

	tap = fdopen(out, "w");
	if (null_fd < 0 || !tap)
		exit(99);
	dup2(null_fd, STDOUT_FILENO);
	if (!getenv("WT_FUZZ_VERBOSE"))
		dup2(null_fd, STDERR_FILENO);
	close(null_fd);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0], *rounds = getenv("WT_FUZZ_ROUNDS");
	char cwd[PATH_MAX - 100];

	if (!getcwd(cwd, sizeof(cwd)))
		return 99;
	snprintf(crash_path, sizeof(crash_path), "%s/%.60s.input", cwd, name);
	name += strncmp(name, "fuzz_", 5) ? 0 : 5;
	watch_for_death();
	if (argc > 1) {
		tap = stdout;
		for (int i = 1; i < argc; i++)
			run_file(argv[i]);
		return 0;
	}
	silence();
	run_folder("corpus", name);
	run_folder("regress", name);
	if (!kept_count)
		kept[kept_count++].data = calloc(1, 1);
	run_changed(rounds ? atoi(rounds) : ROUNDS);
	fprintf(tap, "1..%d\n", tap_count);
	for (size_t i = 0; i < kept_count; i++)
		free(kept[i].data);
	return fclose(tap) ? 99 : 0;
}
