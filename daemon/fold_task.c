/*
 * fold_task.c - the long work of folding: see folds.h. To find the clocks' offset among hundreds of
 * configurations takes seconds, and so may a solution; rings would run over meanwhile. So it is done on
 * a thread, one at a time for each fold, which touches nothing but its task and its fold. The main thread
 * starts it, looks whether it is done, and joins it. All signals are blocked there: they are in wavetapd.
 */
#include "daemon/folds.h"

#include <errno.h>
#include <stdlib.h>

#include "schema/wt_samples.h"

enum { IDLE, WORKING, DONE, LEFT };

struct wt_fold_task *wt_fold_task_create(struct wt_fold *fold)
{
	struct wt_fold_task *task = calloc(1, sizeof(*task));

	if (task)
		task->fold = fold;
	return task;
}

static void free_task(struct wt_fold_task *task)
{
	wt_fold_destroy(task->fold);
	free(task->kernels.at);
	free(task->samples);
	free(task->stretches);
	free(task);
}

static int make_room(struct wt_fold_task *task, size_t kernel_count)
{
	size_t want = task->kernels.count + kernel_count;

	if (!task->samples)
		task->samples = malloc(WT_SAMPLES_MAX * sizeof(*task->samples));
	if (want > task->kernels.room) {
		struct wt_fold_kernel *more = realloc(task->kernels.at, 2 * want * sizeof(*more));

		if (!more)
			return -ENOMEM;
		task->kernels.at = more;
		task->kernels.room = 2 * want;
	}
	if (task->stretch_count == task->stretch_room) {
		size_t room = task->stretch_room ? 2 * task->stretch_room : 16;
		struct wt_fold_stretch *more = realloc(task->stretches, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		task->stretches = more;
		task->stretch_room = room;
	}
	return task->samples ? 0 : -ENOMEM;
}

int wt_fold_task_add(struct wt_fold_task *task, const struct wt_fold_kernel *kernels,
                     size_t kernel_count, const struct wt_fold_sample *samples, size_t sample_count)
{
	int err = make_room(task, kernel_count);

	if (err)
		return err;
	if (sample_count > WT_SAMPLES_MAX - task->sample_count)
		return -EINVAL;
	if (kernel_count)
		memcpy(task->kernels.at + task->kernels.count, kernels,
		       kernel_count * sizeof(*kernels));
	memcpy(task->samples + task->sample_count, samples, sample_count * sizeof(*samples));
	task->stretches[task->stretch_count++] = (struct wt_fold_stretch){
	        task->kernels.count, kernel_count, task->sample_count, sample_count};
	task->kernels.count += kernel_count;
	task->sample_count += sample_count;
	return 0;
}

static void work(struct wt_fold_task *task)
{
	task->err = task->is_solve ? wt_fold_solve(task->fold) : 0;
	for (size_t i = 0; i < task->stretch_count && !task->is_solve; i++) {
		const struct wt_fold_stretch *s = &task->stretches[i];
		int err = task->err ? task->err
		                    : wt_fold_add(task->fold, task->kernels.at + s->kernel,
		                                  s->kernel_count, task->samples + s->sample,
		                                  s->sample_count);

		if (err)
			task->refused += (int64_t)s->sample_count;
		if (err == -ENOMEM)
			task->err = err;
	}
}

static void *run_thread(void *arg)
{
	struct wt_fold_task *task = arg;

	work(task);
	if (atomic_exchange(&task->state, DONE) == LEFT)
		free_task(task);
	return NULL;
}

void wt_fold_task_begin(struct wt_fold_task *task, bool is_beside)
{
	task->is_begun = true;
	task->err = 0;
	task->refused = 0;
	atomic_store(&task->state, WORKING);
	task->has_thread = is_beside && pthread_create(&task->thread, NULL, run_thread, task) == 0;
	if (task->has_thread)
		return;
	work(task);
	atomic_store(&task->state, DONE);
}

bool wt_fold_task_end(struct wt_fold_task *task)
{
	if (!task->is_begun || atomic_load(&task->state) != DONE)
		return false;
	if (task->has_thread)
		pthread_join(task->thread, NULL);
	task->is_begun = task->has_thread = false;
	task->kernels.count = task->sample_count = task->stretch_count = 0;
	return true;
}

void wt_fold_task_destroy(struct wt_fold_task *task)
{
	pthread_t thread;

	if (!task)
		return;
	thread = task->thread;
	if (!task->has_thread) {
		free_task(task);
	} else if (atomic_exchange(&task->state, LEFT) == DONE) {
		pthread_join(thread, NULL);
		free_task(task);
	} else {
		pthread_detach(thread);
	}
}
