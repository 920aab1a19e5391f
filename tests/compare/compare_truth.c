/*
 * compare_truth.c - false alarms and detections of `wavetap compare`, counted: pairs made of the steps of recordings.
 *
 *	compare_truth [--pairs N] [--seed S] [--tell 1] NAME STEPS KERNELS ...
 *
 * STEPS has a line "step_ns busy_ns" for each steady step of a run, KERNELS "step kernel collective launches time_ns" (tabs;
 * steps from 0), as tests/compare/compare_truth.sh reads them out of a run file with plain SQL. Of each recording:
 *
 *	noise      both sides are steps drawn from it, in stretches of 1, 5, or a quarter of all: nothing has changed. A pair with
 *	           any quantity called changed is a false alarm. One run a side with all margins; three runs a side; and one
 *	           run a side without the margin for kernels, which has only the statistics (step time is left out)
 *	planted    in the run after, one kernel of at least 10 us a step takes 3 %, 5 %, 10 % longer: found; others called changed
 *
 * Prints a line of Markdown for each. Runs the product's own comparison (cli/compare.c), with series of its own. One thread.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"

#define NAME_BYTES 2048
#define PLANTED_LEAST_NS 10000
#define RUNS_MOST 3

/* A recording: values by step. */
struct recording {
	size_t steps, kernels;
	double *step_ns, *busy_ns;
	char **names;
	bool *is_collective;
	double **time_ns, **launches; /* [kernel][step] */
};

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void *room(size_t count, size_t bytes)
{
	void *at = calloc(count + 1, bytes);

	if (!at) {
		perror("compare_truth");
		exit(1);
	}
	return at;
}

/* ---- reading */

static FILE *open_file(const char *path)
{
	FILE *in = fopen(path, "r");

	if (!in) {
		perror(path);
		exit(1);
	}
	return in;
}

static void read_steps(const char *path, struct recording *recording)
{
	FILE *in = open_file(path);
	double step_ns, busy_ns;

	recording->step_ns = room(100000, sizeof(double));
	recording->busy_ns = room(100000, sizeof(double));
	while (recording->steps < 100000 && fscanf(in, "%lf %lf", &step_ns, &busy_ns) == 2) {
		recording->step_ns[recording->steps] = step_ns;
		recording->busy_ns[recording->steps++] = busy_ns;
	}
	fclose(in);
}

static size_t kernel_of(struct recording *recording, const char *name, bool is_collective)
{
	for (size_t i = 0; i < recording->kernels; i++)
		if (!strcmp(recording->names[i], name))
			return i;
	if (recording->kernels == 4096)
		exit(1);
	recording->names[recording->kernels] = strdup(name);
	recording->is_collective[recording->kernels] = is_collective;
	recording->time_ns[recording->kernels] = room(recording->steps, sizeof(double));
	recording->launches[recording->kernels] = room(recording->steps, sizeof(double));
	return recording->kernels++;
}

static void read_kernels(const char *path, struct recording *recording)
{
	FILE *in = open_file(path);
	static char name[NAME_BYTES];
	unsigned long step;
	int is_collective;
	double launches, time_ns;

	recording->names = room(4096, sizeof(char *));
	recording->is_collective = room(4096, sizeof(bool));
	recording->time_ns = room(4096, sizeof(double *));
	recording->launches = room(4096, sizeof(double *));
	while (fscanf(in, "%lu %2047s %d %lf %lf", &step, name, &is_collective, &launches,
	              &time_ns) == 5) {
		size_t kernel = kernel_of(recording, name, is_collective != 0);

		if (step >= recording->steps)
			continue;
		recording->time_ns[kernel][step] += time_ns;
		recording->launches[kernel][step] += launches;
	}
	fclose(in);
}

/* ---- runs made of its steps */

static void make_run(const struct recording *recording, size_t stretch, struct wt_compare_run *run)
{
	size_t n = recording->steps, *from = room(n, sizeof(*from));

	for (size_t i = 0; i < n; i += stretch) {
		size_t at = (size_t)(draw() >> 20) % (n - stretch + 1);

		for (size_t k = 0; k < stretch && i + k < n; k++)
			from[i + k] = at + k;
	}
	memset(run, 0, sizeof(*run));
	snprintf(run->id, sizeof(run->id), "%08x", (unsigned)(draw() >> 32));
	strcpy(run->facts.gpu, "1x recorded");
	run->facts.sms = 132;
	run->facts.clock_mhz = 1980;
	run->facts.startup_ns = -1;
	run->has_steps = true;
	run->steps = run->blocks = n;
	run->steps_a_block = 1;
	run->step_ns_of = room(n, sizeof(double));
	run->busy_ns_of = room(n, sizeof(double));
	for (int line = 0; line < WT_COMPARE_LINE_MAX; line++)
		run->line_of[line] = room(n, sizeof(double));
	run->kernels = room(recording->kernels, sizeof(*run->kernels));
	run->kernel_count = recording->kernels;
	for (size_t i = 0; i < n; i++) {
		run->step_ns_of[i] = recording->step_ns[from[i]];
		run->busy_ns_of[i] = recording->busy_ns[from[i]];
		/* All gaps as one line: of causes the recording's steps say nothing here. */
		run->line_of[WT_COMPARE_GAP + WT_GAP_HOST][i] =
		        132 * (run->step_ns_of[i] - run->busy_ns_of[i]);
		run->line_sm_ns[WT_COMPARE_GAP + WT_GAP_HOST] +=
		        run->line_of[WT_COMPARE_GAP + WT_GAP_HOST][i];
	}
	for (size_t k = 0; k < recording->kernels; k++) {
		struct wt_compare_kernel *kernel = &run->kernels[k];

		kernel->name = kernel->demangled = recording->names[k];
		kernel->most = SIZE_MAX;
		kernel->is_collective = recording->is_collective[k];
		kernel->time_ns_of = room(n, sizeof(double));
		kernel->launches_of = room(n, sizeof(double));
		for (size_t i = 0; i < n; i++) {
			kernel->time_ns_of[i] = recording->time_ns[k][from[i]];
			kernel->launches_of[i] = recording->launches[k][from[i]];
			kernel->time_ns += (int64_t)kernel->time_ns_of[i];
			kernel->launches += (int64_t)kernel->launches_of[i];
		}
		run->kernels_in_steps += kernel->launches;
	}
	free(from);
}

static void free_run(struct wt_compare_run *run)
{
	for (size_t k = 0; k < run->kernel_count; k++) {
		free(run->kernels[k].time_ns_of);
		free(run->kernels[k].launches_of);
	}
	for (int line = 0; line < WT_COMPARE_LINE_MAX; line++)
		free(run->line_of[line]);
	free(run->kernels);
	free(run->step_ns_of);
	free(run->busy_ns_of);
}

static void plant(struct wt_compare_run *run, size_t kernel, double factor)
{
	for (size_t i = 0; i < run->blocks; i++)
		run->kernels[kernel].time_ns_of[i] *= factor;
}

/* ---- pairs */

static bool is_telling; /* of each false alarm, on stderr */

struct tally {
	size_t pairs, alarms, found, as_less, quantities;
	size_t alarms_of[3]; /* by length of the stretches */
};

struct plan {
	size_t runs; /* a side */
	double between; /* < 0: the default */
	bool is_kernels_alone; /* step time has a margin of its own: not counted */
	double factor; /* 0: nothing is planted */
};

static bool is_changed(const struct wt_compare_row *row)
{
	return row->contrast.verdict == WT_CONTRAST_MORE ||
	       row->contrast.verdict == WT_CONTRAST_LESS;
}

static void judge(const struct recording *recording, const struct plan *plan,
                  struct wt_compare_run *runs, size_t planted, size_t stretch, struct tally *tally)
{
	const struct wt_compare_side before = {.runs = runs, .count = plan->runs};
	const struct wt_compare_side after = {.runs = runs + plan->runs, .count = plan->runs};
	const struct wt_compare_query query = {.between_kernels = plan->between};
	struct wt_compare compare;
	bool is_alarm = false;

	if (wt_compare_make(&before, &after, &query, &compare))
		exit(1);
	tally->pairs++;
	tally->quantities = compare.judged_count;
	for (size_t i = 0; i < compare.row_count; i++) {
		const struct wt_compare_row *row = &compare.rows[i];
		bool is_kernel = row->kind == WT_COMPARE_OF_KERNEL;
		bool is_planted = plan->factor > 0 && is_kernel && row->before &&
		                  !strcmp(row->before->name, recording->names[planted]);

		if (!is_changed(row) || (plan->is_kernels_alone && !is_kernel))
			continue;
		if (is_planted) {
			tally->found += row->contrast.verdict == WT_CONTRAST_MORE;
			tally->as_less += row->contrast.verdict == WT_CONTRAST_LESS;
		} else if (is_kernel || plan->factor <= 0) {
			is_alarm = true;
			if (is_telling)
				fprintf(stderr,
				        "%s kind %d line %d: %.4g to %.4g, error %.4g freedom %.3g "
				        "margin %.3g"
				        " chance %.3g batches of %zu\n",
				        is_kernel ? row->before->name : "", (int)row->kind,
				        (int)row->line, row->contrast.mean_before,
				        row->contrast.mean_after, row->contrast.error,
				        row->contrast.freedom, row->contrast.used_margin,
				        row->contrast.chance, row->means[0].batch);
		}
	}
	tally->alarms += is_alarm;
	tally->alarms_of[stretch] += is_alarm;
	wt_compare_fini(&compare);
}

/* One that always runs, long enough, and no collective: its time is its own. SIZE_MAX: there is none. */
static size_t choose(const struct recording *recording)
{
	for (int tries = 0; tries < 1000; tries++) {
		size_t k = (size_t)(draw() >> 20) % recording->kernels;
		double sum = 0, least = INFINITY;

		for (size_t i = 0; i < recording->steps; i++) {
			sum += recording->time_ns[k][i];
			least = fmin(least, recording->launches[k][i]);
		}
		if (sum >= PLANTED_LEAST_NS * (double)recording->steps && least > 0 &&
		    !recording->is_collective[k])
			return k;
	}
	return SIZE_MAX;
}

static struct tally run_pairs(const struct recording *recording, const struct plan *plan,
                              size_t pairs)
{
	const size_t stretches[] = {1, 5, recording->steps / 4 > 0 ? recording->steps / 4 : 1};
	struct tally tally = {0};

	for (size_t pair = 0; pair < pairs; pair++) {
		struct wt_compare_run runs[2 * RUNS_MOST];
		size_t planted = plan->factor > 0 ? choose(recording) : 0;

		if (planted == SIZE_MAX)
			break;
		for (size_t i = 0; i < 2 * plan->runs; i++) {
			make_run(recording, stretches[pair % 3], &runs[i]);
			if (plan->factor > 0 && i >= plan->runs)
				plant(&runs[i], planted, plan->factor);
		}
		judge(recording, plan, runs, planted, pair % 3, &tally);
		for (size_t i = 0; i < 2 * plan->runs; i++)
			free_run(&runs[i]);
	}
	return tally;
}

/* ---- the study */

static size_t alarms_at_default;

static void study(const char *name, const struct recording *recording, size_t pairs)
{
	static const struct {
		const char *what;
		struct plan plan;
	} plans[] = {
	        {"noise, 1 run a side", {1, -1, false, 0}},
	        {"noise, 3 runs a side", {3, -1, false, 0}},
	        {"noise, 1 run a side, no margin, kernels alone", {1, 0, true, 0}},
	        {"a kernel 3 % slower, 1 run a side", {1, -1, false, 1.03}},
	        {"a kernel 5 % slower, 1 run a side", {1, -1, false, 1.05}},
	        {"a kernel 10 % slower, 1 run a side", {1, -1, false, 1.10}},
	        {"a kernel 3 % slower, 3 runs a side", {3, -1, false, 1.03}},
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const struct plan *plan = &plans[i].plan;
		size_t wanted = plan->factor > 0 ? (pairs + 9) / 10 : pairs;
		struct tally tally = run_pairs(recording, plan, wanted);

		if (plan->factor <= 0 && plan->between < 0 && tally.alarms > alarms_at_default)
			alarms_at_default = tally.alarms;
		printf("| %s | %zu | %zu | %s | %zu | %zu (%zu, %zu, %zu) |", name,
		       recording->steps, tally.quantities, plans[i].what, tally.pairs, tally.alarms,
		       tally.alarms_of[0], tally.alarms_of[1], tally.alarms_of[2]);
		if (plan->factor > 0)
			printf(" %zu%s |\n", tally.found, tally.as_less ? ", AS FASTER TOO" : "");
		else
			printf(" |\n");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	size_t pairs = 2000;
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--pairs"))
			pairs = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--tell"))
			is_telling = strcmp(argv[i + 1], "0") != 0;
		else if (!strcmp(argv[i], "--seed"))
			state ^= strtoull(argv[i + 1], NULL, 10) * 2654435761u;
	}
	if ((argc - i) % 3 || i >= argc) {
		fprintf(stderr, "usage: compare_truth [--pairs N] [--seed S] [--tell 1] NAME STEPS "
		                "KERNELS ...\n");
		return 2;
	}
	puts("| recording | steps | judged | pairs | of them | with a false alarm | found |\n"
	     "|---|---:|---:|---|---:|---:|---:|");
	for (; i < argc; i += 3) {
		struct recording recording = {0};

		read_steps(argv[i + 1], &recording);
		read_kernels(argv[i + 2], &recording);
		if (recording.steps < 20 || !recording.kernels) {
			fprintf(stderr, "compare_truth: %s has too little\n", argv[i]);
			return 1;
		}
		study(argv[i], &recording, pairs);
	}
	/* 12 of 2,000. */
	return alarms_at_default * 1000 > 6 * pairs + 999;
}
