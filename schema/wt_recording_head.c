/*
 * wt_recording_head.c - heads of recordings and of their blocks, and the bytes behind them, checked
 * as far as their CRCs go: see wt_recording.h. A size is never taken at its word.
 *
 * Any thread; blocks as the caller's read function does.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "schema/wt_recording_impl.h"

#define READ_BYTES (256u * 1024u) /* memory follows what was really there, in such steps */

int wt_recording_say(char *why, size_t why_bytes, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, why_bytes, format, ap);
	va_end(ap);
	return err;
}

uint32_t wt_recording_block_crc(const struct wt_recording_block_head *head, const uint8_t *packed)
{
	struct wt_recording_block_head copy = *head;
	uLong crc = crc32(0, NULL, 0);

	copy.crc = 0;
	crc = crc32(crc, (const uint8_t *)&copy, sizeof(copy));
	return (uint32_t)crc32(crc, packed, head->packed_bytes);
}

uint32_t wt_recording_head_crc(const struct wt_recording_head *head)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), (const uint8_t *)head,
	                       offsetof(struct wt_recording_head, crc));
}

static int check_head(const struct wt_recording_head *head, size_t got, char *why, size_t why_bytes)
{
	if (got < sizeof(head->magic) || head->magic != WT_RECORDING_MAGIC)
		return wt_recording_say(why, why_bytes, -EBADMSG, "not a wavetap recording");
	if (got < sizeof(*head))
		return wt_recording_say(why, why_bytes, -EBADMSG,
		                        "cut in its head: nothing can be read");
	if (head->endian == __builtin_bswap32(WT_RECORDING_ENDIAN))
		return wt_recording_say(why, why_bytes, -ENOTSUP,
		                        "made on a machine of other byte order");
	if (head->version > WT_RECORDING_VERSION)
		return wt_recording_say(
		        why, why_bytes, -ENOTSUP,
		        "made by a newer wavetap (format %u, this program knows %u)", head->version,
		        WT_RECORDING_VERSION);
	if (head->crc != wt_recording_head_crc(head) || head->version < 1 ||
	    head->endian != WT_RECORDING_ENDIAN || head->head_bytes != sizeof(*head) ||
	    head->block_head_bytes != sizeof(struct wt_recording_block_head))
		return wt_recording_say(why, why_bytes, -EBADMSG,
		                        "damaged in its head: nothing can be read");
	return 0;
}

int wt_recording_read_head(wt_recording_read_fn read, void *arg, struct wt_recording_head *ret_head,
                           char *why, size_t why_bytes)
{
	size_t got = 0;
	int err;

	memset(ret_head, 0, sizeof(*ret_head));
	err = read(arg, ret_head, sizeof(*ret_head), &got);
	if (err)
		return wt_recording_say(why, why_bytes, err, "%s", strerror(-err));
	return check_head(ret_head, got, why, why_bytes);
}

/* What a block's head may say, whatever came before. NULL, or what is wrong. */
static const char *check_block_head(const struct wt_recording_block_head *head)
{
	if (head->magic != WT_RECORDING_BLOCK_MAGIC)
		return "no block begins where one should";
	if (head->flags & ~WT_RECORDING_FLAGS)
		return "flags that are not known";
	if (head->packed_bytes > WT_RECORDING_PACKED_BYTES_MAX ||
	    head->raw_bytes > WT_RECORDING_RAW_BYTES_MAX)
		return "a block larger than any";
	for (int i = 0; i < WT_RING_MAX; i++)
		if (head->end_pos[i] < head->start_pos[i] || head->end_pos[i] > INT64_MAX ||
		    head->end_pos[i] - head->start_pos[i] > WT_RECORDING_CELLS_MAX)
			return "positions that can't be";
	return NULL;
}

/*
 * The next head and its packed bytes. 1, 0 at the end, -EBADMSG with `why`, or another -errno.
 */
int wt_recording_read_block(wt_recording_read_fn read, void *arg,
                            struct wt_recording_block_head *head, struct wt_bytes *packed,
                            char *why, size_t why_bytes)
{
	uint8_t *piece;
	const char *wrong;
	size_t got = 0;
	int err = read(arg, head, sizeof(*head), &got);

	if (err)
		return wt_recording_say(why, why_bytes, err, "%s", strerror(-err));
	if (got == 0)
		return 0;
	if (got < sizeof(*head))
		return wt_recording_say(why, why_bytes, -EBADMSG, "cut in the head of a block");
	wrong = check_block_head(head);
	if (wrong)
		return wt_recording_say(why, why_bytes, -EBADMSG, "%s", wrong);
	piece = malloc(READ_BYTES);
	if (!piece)
		return wt_recording_say(why, why_bytes, -ENOMEM, "out of memory");
	packed->length = packed->read = 0;
	while (!err && packed->length < head->packed_bytes) {
		size_t want = head->packed_bytes - packed->length;

		err = read(arg, piece, want < READ_BYTES ? want : READ_BYTES, &got);
		if (!err && got == 0)
			break;
		if (!err)
			err = wt_bytes_put(packed, piece, got);
	}
	free(piece);
	if (err)
		return wt_recording_say(why, why_bytes, err, "%s", strerror(-err));
	if (packed->length < head->packed_bytes)
		return wt_recording_say(why, why_bytes, -EBADMSG, "cut in the midst of a block");
	if (head->crc != wt_recording_block_crc(head, packed->at))
		return wt_recording_say(why, why_bytes, -EBADMSG,
		                        "a block is damaged (its checksum differs)");
	return 1;
}

int wt_recording_scan(wt_recording_read_fn read, void *arg, struct wt_recording_head *ret_head,
                      struct wt_recording_block_head *ret_last, uint64_t *ret_bytes, char *why,
                      size_t why_bytes)
{
	struct wt_recording_block_head head;
	struct wt_bytes packed = {0};
	char ignored[160];
	int err = wt_recording_read_head(read, arg, ret_head, why, why_bytes);

	if (err)
		return err;
	*ret_last = (struct wt_recording_block_head){.block_idx = UINT32_MAX};
	*ret_bytes = sizeof(*ret_head);
	while ((err = wt_recording_read_block(read, arg, &head, &packed, ignored,
	                                      sizeof(ignored))) > 0) {
		if (head.block_idx != ret_last->block_idx + 1)
			break;
		*ret_last = head;
		*ret_bytes += sizeof(head) + head.packed_bytes;
	}
	free(packed.at);
	if (err < 0 && err != -EBADMSG)
		return wt_recording_say(why, why_bytes, err, "%s", strerror(-err));
	return 0;
}
