/*
 * strip_recording.c - takes the names of the machine out of a recording, so that it can be kept in
 * tests/data: strip_recording IN.wtrec OUT.wtrec HOST
 *
 * The host becomes HOST; paths lose their folders; user, process, boot and device ids become constants,
 * pids of strangers 0.
 * Everything else is read and written again as it is: cells, names, counters, one block for each.
 * Single-threaded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "schema/wt_recording.h"

static struct wt_recording_writer *writer;
static FILE *in, *out;

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "strip_recording: %s\n", what);
	exit(1);
}

static int read_in(void *arg, void *bytes, size_t want, size_t *ret_got)
{
	(void)arg;
	*ret_got = fread(bytes, 1, want, in);
	return ferror(in) ? -EIO : 0;
}

/* Each word that has a slash keeps what follows its last one. */
static void strip_folders(char *text)
{
	char *to = text, *word = text;

	for (const char *from = text; *from; from++) {
		if (*from == '/')
			to = word;
		else
			*to++ = *from;
		if (*from == ' ')
			word = to;
	}
	*to = '\0';
}

static struct wt_recording_process strip(const struct wt_recording_process *from, const char *host)
{
	struct wt_recording_process process = *from;

	snprintf(process.hostname, sizeof(process.hostname), "%s", host);
	strip_folders(process.executable);
	strip_folders(process.command);
	memset(process.boot_id, 0, sizeof(process.boot_id));
	process.pid = 1000;
	process.ppid = 999;
	process.uid = 1000;
	process.pid_namespace = process.start_ticks = 0;
	snprintf(process.run_key, sizeof(process.run_key), "recording");
	return process;
}

static void copy_cells(const struct wt_recording_block *block, int ring)
{
	const struct wt_cell *cell = block->cells[ring];
	const struct wt_cell *end = cell + block->cell_count[ring];
	int err = 0;

	for (uint64_t pos = block->facts.start_pos[ring]; pos < block->facts.end_pos[ring] && !err;
	     pos++) {
		if (cell < end && cell->stamp == pos + 1) {
			struct wt_cell copy;

			memcpy(&copy, cell++, sizeof(copy));
			if (copy.kind == WT_KIND_GPU_STATE)
				memset(copy.payload + offsetof(struct wt_gpu_state, foreign_pid), 0,
				       4);
			err = wt_recording_add_cells(writer, (enum wt_ring_index)ring, &copy, 1);
		} else
			err = wt_recording_add_torn(writer, (enum wt_ring_index)ring, pos);
	}
	check(!err, "out of memory");
}

static void copy_block(struct wt_recording_block *block, const struct wt_recording_process *process)
{
	const uint8_t *bytes;
	size_t length;

	for (uint32_t i = 0; i < block->device_count; i++) {
		struct wt_device device = block->devices[i];

		memset(device.uuid, 0, sizeof(device.uuid));
		device.uuid[0] = (uint8_t)(device.ordinal + 1);
		check(!wt_recording_add_device(writer, &device), "out of memory");
	}
	for (size_t i = 0; i < block->name_count; i++)
		check(!wt_recording_add_name(writer, block->names[i].id, block->names[i].name,
		                             block->names[i].length),
		      "out of memory");
	for (int ring = 0; ring < WT_RING_MAX; ring++)
		copy_cells(block, ring);
	strip_folders(block->facts.cupti_path);
	check(!wt_recording_make_block(writer, process, &block->facts, &bytes, &length),
	      "a block can't be made");
	check(fwrite(bytes, 1, length, out) == length, "can't write");
}

int main(int argc, char **argv)
{
	struct wt_recording_reader *reader = NULL;
	static struct wt_recording_block block;
	struct wt_recording_head head;
	char why[160] = "";
	int rc;

	if (argc != 4) {
		fprintf(stderr, "usage: strip_recording IN OUT HOST\n");
		return 2;
	}
	in = fopen(argv[1], "rbe");
	check(in != NULL, argv[1]);
	check(!wt_recording_reader_create(read_in, NULL, &reader, why, sizeof(why)), why);
	out = fopen(argv[2], "wbxe");
	writer = wt_recording_writer_create();
	check(out && writer, argv[2]);
	wt_recording_make_head(&head, wt_recording_head_of(reader)->uuid,
	                       wt_recording_head_of(reader)->created_ns);
	check(fwrite(&head, sizeof(head), 1, out) == 1, "can't write");
	while ((rc = wt_recording_next(reader, &block, why, sizeof(why))) > 0) {
		struct wt_recording_process process =
		        strip(wt_recording_process_of(reader), argv[3]);

		if (block.facts.flags & WT_RECORDING_RESET)
			wt_recording_writer_reset(writer);
		copy_block(&block, &process);
	}
	check(rc == 0, why);
	check(fclose(out) == 0, "can't write");
	fclose(in);
	wt_recording_reader_destroy(reader);
	wt_recording_writer_destroy(writer);
	return 0;
}
