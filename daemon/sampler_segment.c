/*
 * sampler_segment.c - the segment of wavetap-sampler: samples, clocks and counters for the daemon.
 *
 * It is made like that of an application (libintercept/segment_file.c), with ring 1 alone in use.
 * A full ring is never waited for: what finds no room is dropped and counted.
 *
 * Main thread; wt_sampler_segment_finish also on the watchdog's. Never blocks but while it is made.
 */
#include <string.h>
#include <unistd.h>

#include "daemon/sampler.h"
#include "libintercept/internal.h"

/* Three groups, ring 0, 65,536 samples in ring 1 (three seconds at 50 us), names. */
#define SEGMENT_BYTES ((3 + 1 + 64 + 1) * (uint64_t)WT_GROUP_BYTES)

int wt_sampler_segment_open(struct wt_sampler_segment *segment, const char *data_dir,
                            uint64_t interval_ns)
{
	struct wt_segment_header *header;
	void *map = NULL;
	int err = wt_segment_file_make(data_dir, WT_PRODUCER_SAMPLER, SEGMENT_BYTES, segment->path,
	                               &map);

	if (err)
		return err;
	wt_segment_file_view(map, &segment->view);
	header = map;
	/* The environment may be that of a rank, which we are not. */
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): 0 comes with a mapping only */
	header->rank = header->local_rank = header->world_size = -1;
	header->is_rank = 0;
	header->profile_launches = 0;
	header->sample_interval_ns = interval_ns;
	return 0;
}

void wt_sampler_segment_publish(struct wt_sampler_segment *segment)
{
	wt_store_release(&segment->view.header->magic, WT_SEGMENT_MAGIC); /* read first */
}

void wt_sampler_segment_remove(struct wt_sampler_segment *segment)
{
	unlink(segment->path);
}

void wt_sampler_segment_device(struct wt_sampler_segment *segment, const struct wt_device *device)
{
	struct wt_producer *producer = segment->view.producer;

	producer->device[0] = *device;
	wt_store_relaxed(&producer->driver_version, (uint64_t)device->driver_version);
	wt_store_release(&producer->device_count, 1);
}

void wt_sampler_segment_flush(struct wt_sampler_segment *segment)
{
	struct wt_producer *producer = segment->view.producer;
	uint64_t count = (uint64_t)segment->pending_count;

	if (!count)
		return;
	segment->pending_count = 0;
	if (wt_ring_put(&segment->view.ring[WT_RING_ACTIVITY], WT_KIND_SAMPLE, (uint16_t)count,
	                segment->pending, (uint32_t)(count * sizeof(segment->pending[0]))))
		wt_add_relaxed(&producer->samples_dropped, count);
	wt_add_relaxed(&producer->samples_taken, count);
}

void wt_sampler_segment_put(struct wt_sampler_segment *segment, const struct wt_sample *sample)
{
	segment->pending[segment->pending_count++] = *sample;
	if (segment->pending_count == WT_SAMPLES_PER_CELL)
		wt_sampler_segment_flush(segment);
}

void wt_sampler_segment_tick(struct wt_sampler_segment *segment,
                             wtcupti_get_timestamp_fn get_timestamp)
{
	struct wt_producer *producer = segment->view.producer;
	struct wt_clock clock;

	wt_clock_read(&clock, get_timestamp);
	if (wt_ring_put(&segment->view.ring[WT_RING_ACTIVITY], WT_KIND_CLOCK, 1, &clock,
	                sizeof(clock)))
		wt_add_relaxed(&producer->other_dropped_ring, 1);
	wt_store_relaxed(&producer->sampler_cpu_ns, wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

void wt_sampler_segment_state(struct wt_sampler_segment *segment, enum wt_sampler_state state,
                              uint64_t detail)
{
	struct wt_producer *producer = segment->view.producer;

	wt_store_relaxed(&producer->sampler_detail, detail);
	wt_store_release(&producer->sampler_state, (uint64_t)state);
}

void wt_sampler_segment_finish(struct wt_sampler_segment *segment, enum wt_sampler_state state,
                               uint64_t detail)
{
	struct wt_producer *producer = segment->view.producer;

	wt_store_relaxed(&producer->sampler_cpu_ns, wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	wt_store_relaxed(&producer->sample_interval_ns, 0);
	wt_sampler_segment_state(segment, state, detail);
	wt_store_release(&producer->finished_ns, wt_sampler_clock_ns(CLOCK_REALTIME));
	if (!wt_load_relaxed(&segment->view.header->magic))
		unlink(segment->path);
}

bool wt_sampler_segment_is_stored(const struct wt_sampler_segment *segment)
{
	const struct wt_view *view = &segment->view;
	const struct wt_consumer *consumer =
	        (const void *)((const uint8_t *)view->header + WT_CONSUMER_OFFSET);

	return wt_load_acquire(&consumer->finished_ns) ==
	               wt_load_acquire(&view->producer->finished_ns) &&
	       wt_load_acquire(view->ring[WT_RING_ACTIVITY].head) >=
	               wt_ring_tail(&view->ring[WT_RING_ACTIVITY]);
}
