/*
 * fuzz_run_file.c - run files that are damaged, foreign or hostile, and every reader of them.
 *
 * The first byte chooses the readers. With its highest bit the rest is the file itself; else a
 * sound run file (with 0x40 one whose rows are packed) is changed: pieces of "1 offset length bytes" overwrite it, pieces of
 * "0 length text" are SQL. What SQLite itself does with bad pages is its own matter; that our
 * code takes any value, type and absence in a table is what counts here.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/wt_db.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/pack_rows.h"

#define SQL_STEPS_MAX 20000 /* in thousands of virtual machine steps: hostile views do not end */
#define FILE_BYTES_MAX 400000

int wt_program_main(int argc, char **argv);
int make_run_main(int argc, char **argv);

struct sound {
	uint8_t *bytes;
	size_t count;
};

static struct sound sound_files[2]; /* the other one is packed */
static uint8_t *file;
static char path[200], out_path[200];
static int steps;

static int count_steps(void *unused)
{
	(void)unused;
	return ++steps > SQL_STEPS_MAX;
}

/* Of every connection that is opened. */
static int watch_connection(sqlite3 *db, char **error, const void *api)
{
	(void)error, (void)api;
	sqlite3_progress_handler(db, 1000, count_steps, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000000);
	return SQLITE_OK;
}

static void make_sound(struct sound *sound, bool is_packed)
{
	const char *argv[] = {"make_run", path, "pair", "fuzz", "1000000000000", NULL};
	sqlite3 *db = NULL;
	FILE *in;

	unlink(path);
	fuzz_check(make_run_main(5, (char **)argv) == 0, "a run file is made");
	fuzz_check(sqlite3_open(path, &db) == SQLITE_OK &&
	                   sqlite3_exec(db,
	                                "PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM",
	                                NULL, NULL, NULL) == SQLITE_OK,
	           "it is made small");
	fuzz_check(!is_packed || pack_rows(db, 0) > 0, "it is packed");
	sqlite3_close(db);
	sound->bytes = malloc(FILE_BYTES_MAX);
	in = fopen(path, "r");
	sound->count = in ? fread(sound->bytes, 1, FILE_BYTES_MAX, in) : 0;
	fuzz_check(sound->count > 512 && sound->count < FILE_BYTES_MAX, "it can be read");
	fclose(in);
}

static void start(void)
{
	const char *folder = fuzz_folder();

	snprintf(path, sizeof(path), "%s/data/runs", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/data/runs/19700101-001640-aaaaaaaa.db", folder);
	snprintf(out_path, sizeof(out_path), "%s/out.db", folder);
	file = malloc(FILE_BYTES_MAX);
	make_sound(&sound_files[0], false);
	make_sound(&sound_files[1], true);
	sqlite3_auto_extension((void (*)(void))watch_connection);
}

static void run_sql(const uint8_t *text, size_t bytes)
{
	sqlite3 *db = NULL;
	char sql[256];

	memcpy(sql, text, bytes);
	sql[bytes] = '\0';
	/* Not other files. */
	if (strcasestr(sql, "attach") || strcasestr(sql, "vacuum"))
		return;
	steps = 0;
	if (sqlite3_open(path, &db) == SQLITE_OK)
		sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
}

static void change(struct fuzz_input *input, const struct sound *sound)
{
	bool is_patched = false;
	const uint8_t *bytes;
	size_t count;

	memcpy(file, sound->bytes, sound->count);
	fuzz_write(path, file, sound->count);
	while (input->left) {
		if (fuzz_integer(input, 1) & 1) {
			size_t at = fuzz_integer(input, 3) % sound->count;

			bytes = fuzz_some(input, fuzz_integer(input, 1), &count);
			count = count < sound->count - at ? count : sound->count - at;
			memcpy(file + at, bytes, count);
			is_patched = true;
		} else {
			bytes = fuzz_some(input, fuzz_integer(input, 1), &count);
			run_sql(bytes, count);
		}
	}
	/* Bytes and SQL exclude each other: the statements went to the sound file. */
	if (is_patched)
		fuzz_write(path, file, sound->count);
}

static void read_by(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	const char *argv[] = {"wavetap", a, b, c, d, e, NULL};
	int argc = 1, code;

	while (argv[argc])
		argc++;
	steps = 0;
	fuzz_stdout();
	code = wt_program_main(argc, (char **)argv);
	fuzz_check(code >= 0 && code <= 4, "a code of the contract");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	unsigned how = (unsigned)fuzz_integer(&input, 1);

	if (!file)
		start();
	if (how & 0x80)
		fuzz_write(path, input.at, input.left);
	else
		change(&input, &sound_files[how >> 6 & 1]);
	switch (how & 15) {
	case 0:
		read_by("top", NULL, NULL, NULL, NULL);
		read_by("top", "--json", NULL, NULL, NULL);
		break;
	case 1:
		read_by("top", "-r", path, "--group", "config");
		break;
	case 2:
		read_by("top", "--csv", "--by", "wave", "--full-names");
		break;
	case 3:
		read_by("runs", NULL, NULL, NULL, NULL);
		read_by("runs", "--json", NULL, NULL, NULL);
		break;
	case 4:
		read_by("export", "-o-", "--format=csv", NULL, NULL);
		break;
	case 5:
		read_by("export", "-o-", "--format=json", NULL, NULL);
		break;
	case 6:
		read_by("export", "-o", out_path, "--force", NULL);
		break;
	case 7:
		read_by("show", "1", NULL, NULL, NULL);
		read_by("show", "2", "--json", NULL, NULL);
		break;
	case 8:
		read_by("ledger", NULL, NULL, NULL, NULL);
		read_by("ledger", "--json", NULL, NULL, NULL);
		break;
	case 9:
		read_by("gaps", NULL, NULL, NULL, NULL);
		read_by("gaps", "--by", "kernel", "--json", NULL);
		break;
	case 10:
		read_by("copies", NULL, NULL, NULL, NULL);
		read_by("copies", "--by=bytes", "--json", NULL, NULL);
		break;
	case 11:
		read_by("diagnose", NULL, NULL, NULL, NULL);
		read_by("diagnose", "--json", NULL, NULL, NULL);
		break;
	case 12:
		read_by("ranks", NULL, NULL, NULL, NULL);
		read_by("ranks", "--json", NULL, NULL, NULL);
		read_by("gaps", "--by", "call", "--json", NULL);
		break;
	case 13:
		read_by("sms", NULL, NULL, NULL, NULL);
		read_by("sms", "--json", NULL, NULL, NULL);
		read_by("top", "--by", "gap", "--group", "stream");
		break;
	case 14:
		read_by("top", "--by", "latency", "--group", "graph");
		read_by("top", "--by", "cv", "--group", "duration");
		read_by("top", "--group", "step", "--json", NULL);
		read_by("top", "--group", "class", "--csv", NULL);
		break;
	case 15:
		read_by("whatif", "--sms=200", NULL, NULL, NULL);
		read_by("whatif", "--full-waves", "--no-gaps", "--json", NULL);
		break;
	case 16:
		read_by("ledger", "--all", NULL, NULL, NULL);
		read_by("timeline", "--steps=2:", "--json", NULL, NULL);
		break;
	default:
		read_by("status", NULL, NULL, NULL, NULL);
		read_by("top", "--group=config", "--json", NULL, NULL);
	}
	return 0;
}
