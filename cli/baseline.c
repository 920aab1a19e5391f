/*
 * baseline.c - see baseline.h. Single-threaded; blocks on files.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/baseline.h"
#include "cli/run_file.h"
#include "schema/wt_paths.h"

#define NAME_MAX_BYTES 64

/* Where a command wants a run, these mean one: latest, or what an id may begin with. */
static bool is_of_runs(const char *name)
{
	return !strcmp(name, "latest") || !name[strspn(name, "0123456789abcdef")];
}

bool wt_baseline_is_name(const char *name)
{
	size_t length =
	        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                     ".-_");

	if (is_of_runs(name))
		return false;
	return length && length <= NAME_MAX_BYTES && !name[length] && name[0] != '.' &&
	       name[0] != '-';
}

static int is_db(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 3 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 3, ".db");
}

int wt_baseline_files(const char *name, struct wt_baseline_files *ret_files)
{
	struct wt_baseline_files files = {0};
	char data_dir[WT_PATH_BYTES], dir[2 * WT_PATH_BYTES];
	struct dirent **entries = NULL;
	int count, rc = 0;

	if (!wt_baseline_is_name(name) || wt_path_data_dir(data_dir))
		return -ENOENT;
	snprintf(dir, sizeof(dir), "%s/baselines/%s", data_dir, name);
	count = scandir(dir, &entries, is_db, alphasort);
	if (count < 0)
		return -errno;
	files.paths = calloc((size_t)count + 1, sizeof(*files.paths));
	for (int i = 0; i < count; i++) {
		if (!files.paths ||
		    asprintf(&files.paths[files.count], "%s/%s", dir, entries[i]->d_name) < 0)
			rc = -ENOMEM;
		else
			files.count++;
		free(entries[i]);
	}
	free(entries);
	if (!rc && !files.count)
		rc = -ENOENT;
	if (rc)
		wt_baseline_files_fini(&files);
	else
		*ret_files = files;
	return rc;
}

void wt_baseline_files_fini(struct wt_baseline_files *files)
{
	for (size_t i = 0; files->paths && i < files->count; i++)
		free(files->paths[i]);
	free(files->paths);
	memset(files, 0, sizeof(*files));
}
