/*
 * wt_samples.h - samples of a device as compressed columns: `sample_chunk.data` of run files. Written
 * by wavetapd, read by whoever wants the samples themselves. Lossless for all fields of struct
 * wt_sample but `reserved`; of `flags` those that are defined.
 *
 *   chunk  = version (1 byte: 2), count, scale (varints), mode of each column (1 byte), a zlib stream
 *   stream = the columns in the order of struct wt_sample; each as planes of bytes, the lowest bytes
 *            of all values first:
 *            `start_ns` has 8 planes, the others 4. Version 1 lacks the last column, `instructions`;
 *            in it what is not known is -1
 *
 * The noise of counters stays in as few planes as can be; the rest of them is zero:
 *
 *   mode 0  the bits of a float
 *   mode 1  a float as the whole number that it is
 *   mode 2  the same, times `scale`: it is the mean of so many SMs, float(n / (double)scale)
 *   mode 3  a float as the whole number that it is, less `elapsed_cycles`, as zigzag
 *   mode 4  an integer, less the one before (the first: 0), as zigzag; of `start_ns` less the end of
 *           the sample before
 *
 * Integers have mode 4. A column of floats has one of the others for all of it. All numbers are
 * little-endian, differences wrap.
 *
 * Hostile input is refused; memory is bounded by what the caller gives. Any thread; does not block.
 */
#ifndef WT_SAMPLES_H
#define WT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wt_record.h"

#define WT_SAMPLES_MAX 32768u /* of a chunk */

/*
 * `count` of 1 to WT_SAMPLES_MAX; `sm_count` that means are over, 0: not known. *ret_data is on the
 * heap. 0, -EINVAL or -ENOMEM.
 */
int wt_samples_encode(const struct wt_sample *samples, size_t count, uint32_t sm_count,
                      uint8_t **ret_data, size_t *ret_bytes);

/*
 * All samples of a chunk, at most `room`. 0; -EBADMSG: it is damaged, or holds more; -ENOTSUP: of a
 * newer version; -ENOMEM.
 */
int wt_samples_decode(const void *data, size_t bytes, struct wt_sample *samples, size_t room,
                      size_t *ret_count);

#endif /* WT_SAMPLES_H */
