/*
 * sampler.c - wavetap-sampler: measures what the SMs of a device do, while programs use it.
 *
 * One process per device. Started by wavetapd for the devices of a run that asks for it, or by hand.
 * The children of --device all are made before the driver is touched, which does not survive fork.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "daemon/sampler.h"
#include "schema/wt_ident.h"
#include "schema/wt_paths.h"
#include "schema/wt_sampling.h"

WT_IDENT("wavetap-sampler");

#define SECONDS_MAX 1e9

static const char usage[] =
        "usage: wavetap-sampler [OPTION]...\n"
        "Measures how many SMs of a CUDA device are active, whatever runs on it. Usually\n"
        "wavetapd starts it; by hand it makes a run of its own: see wavetap sms.\n"
        "\n"
        "  -D, --device DEVICE   ordinal, UUID or its beginning, or all (default: the\n"
        "                        first)\n"
        "  -i, --interval T      how often: auto, or 5us to 100ms (default: auto)\n"
        "  -t, --duration T      end after so long, as 10s or 500ms (default: when told)\n"
        "  -n, --name NAME       name of the run that it makes\n"
        "  -r, --run KEY         belong to this run instead of one of its own\n"
        "  -d, --data-dir DIR    data directory (default: WAVETAP_DIR, else\n"
        "                        ~/.local/share/wavetap)\n"
        "      --cupti PATH      use this libcupti, if it is there\n"
        "      --check           only say whether the device can be sampled\n"
        "      --like PID        find libraries as that process does\n"
        "      --until-eof       end with standard input, and with the parent process\n"
        "  -h, --help            this text\n"
        "  -V, --version         the version\n"
        "\n"
        "Exit codes: 0, 1 no shared memory, or samples can't be stored, 2 usage; or why\n"
        "it did not sample: 3 no libcupti with PM sampling, or no libnvperf_host,\n"
        "4 no permission, 5 busy, 6 unsupported, 7 timeout, 8 overflow, 9 failed,\n"
        "10 no driver, 11 no device.\n"
        "\n"
        "more: man wavetap-sampler\n";

static int bad(const char *option, const char *value, const char *form)
{
	fprintf(stderr, "wavetap-sampler: %s: \"%s\" is not %s\n", option, value, form);
	return -EINVAL;
}

/* A length of time: a number and ms, s, min or h. 0 or -EINVAL. */
static int parse_duration(const char *text, uint64_t *ret_ns)
{
	char *end;
	double value = strtod(text, &end);
	double unit = !strcmp(end, "ms")    ? 1e-3
	              : !strcmp(end, "s")   ? 1
	              : !strcmp(end, "min") ? 60
	              : !strcmp(end, "h")   ? 3600
	                                    : 0;

	if (end == text || unit == 0 || !isfinite(value) || value <= 0 ||
	    value * unit > SECONDS_MAX)
		return -EINVAL;
	*ret_ns = (uint64_t)(value * unit * 1e9);
	return 0;
}

/* 0: go on, > 0: the exit code plus one. */
static int parse_options(int argc, char **argv, struct wt_sampler_options *options)
{
	enum { CUPTI = 256, CHECK, LIKE, UNTIL_EOF };
	static const struct option long_options[] = {
	        {"device", required_argument, NULL, 'D'},
	        {"interval", required_argument, NULL, 'i'},
	        {"duration", required_argument, NULL, 't'},
	        {"name", required_argument, NULL, 'n'},
	        {"run", required_argument, NULL, 'r'},
	        {"data-dir", required_argument, NULL, 'd'},
	        {"cupti", required_argument, NULL, CUPTI},
	        {"check", no_argument, NULL, CHECK},
	        {"like", required_argument, NULL, LIKE},
	        {"until-eof", no_argument, NULL, UNTIL_EOF},
	        {"help", no_argument, NULL, 'h'},
	        {"version", no_argument, NULL, 'V'},
	        {0},
	};
	int option, err = 0;

	while (!err &&
	       (option = getopt_long(argc, argv, "D:i:t:n:r:d:hV", long_options, NULL)) >= 0) {
		switch (option) {
		case 'D':
			options->device = optarg;
			break;
		case 'i':
			if (wt_sampling_parse(optarg, &options->interval_ns) ||
			    !options->interval_ns)
				err = bad("--interval", optarg,
				          "auto or an interval from 5us to 100ms");
			break;
		case 't':
			if (parse_duration(optarg, &options->duration_ns))
				err = bad("--duration", optarg, "a time such as 10s or 500ms");
			break;
		case 'n':
			setenv("WAVETAP_NAME", optarg, 1);
			break;
		case 'r':
			setenv("WAVETAP_RUN", optarg, 1);
			break;
		case 'd':
			if (!optarg[0])
				err = bad("--data-dir", optarg, "a folder");
			setenv("WAVETAP_DIR", optarg, 1);
			break;
		case CUPTI:
			options->cupti = optarg;
			break;
		case CHECK:
			options->is_check = true;
			break;
		case LIKE:
			wt_sampler_become_like(optarg, argv); /* before anything is set */
			break;
		case UNTIL_EOF:
			options->until_eof = true;
			break;
		case 'V':
			puts("wavetap-sampler " PACKAGE_VERSION);
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			err = -EINVAL;
		}
	}
	if (!err && optind < argc) {
		fprintf(stderr, "wavetap-sampler: unexpected argument: %s\n", argv[optind]);
		err = -EINVAL;
	}
	if (err)
		fputs("try: wavetap-sampler --help\n", stderr);
	return err ? WT_SAMPLER_EXIT_USAGE + 1 : 0;
}

/* A run of our own, unless we were told which. All devices are in one. */
static void make_run_key(void)
{
	const char *given = getenv("WAVETAP_RUN");
	char key[64];

	if (given && given[0])
		return;
	snprintf(key, sizeof(key), "sampler-%llx-%d",
	         (unsigned long long)wt_sampler_clock_ns(CLOCK_REALTIME), (int)getpid());
	setenv("WAVETAP_RUN", key, 1);
}

/* ---- all devices */

/* In a child, which then knows the driver: the number of devices, or why there are none. */
static int ask_count(int *ret_count)
{
	int pipe_fd[2], answer[2] = {WT_SAMPLER_NO_DRIVER, 0};
	pid_t child;

	if (pipe(pipe_fd))
		return WT_SAMPLER_EXIT_FAILED;
	child = fork();
	if (child == 0) {
		uint64_t detail;

		alarm(30); /* nothing is held yet: the signal just ends it */
		answer[0] = (int)wt_sampler_count_devices(&answer[1], &detail);
		_exit(write(pipe_fd[1], answer, sizeof(answer)) != (ssize_t)sizeof(answer));
	}
	close(pipe_fd[1]);
	if (child < 0 || read(pipe_fd[0], answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		answer[0] = WT_SAMPLER_TIMEOUT;
	close(pipe_fd[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	*ret_count = answer[1];
	return answer[0];
}

static volatile sig_atomic_t is_ending;

static void note_end(int number)
{
	(void)number;
	is_ending = 1;
}

/* Waits for the children; the first end, of whichever, is not the others'. */
static int wait_all(const pid_t *children, int count)
{
	int left = count, code = 0, status;
	bool is_any_fine = false, is_passed_on = false;

	while (left > 0) {
		pid_t child = waitpid(-1, &status, 0);

		if (is_ending && !is_passed_on) {
			is_passed_on = true;
			for (int i = 0; i < count; i++)
				kill(children[i], SIGTERM);
		}
		if (child < 0 && errno != EINTR)
			break;
		if (child <= 0)
			continue;
		left--;
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			is_any_fine = true;
		else if (!code)
			code = WIFEXITED(status) ? WEXITSTATUS(status) : WT_SAMPLER_FAILED;
	}
	return is_any_fine ? 0 : code;
}

static int run_all(const struct wt_sampler_options *all)
{
	struct sigaction action = {.sa_handler = note_end};
	pid_t children[WT_DEVICES_MAX], parent = getpid();
	int count = 0, started = 0;
	int code = ask_count(&count);

	if (code) {
		wt_sampler_say("%s", wt_sampler_text((unsigned)code));
		return code;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	for (int i = 0; i < count && i < WT_DEVICES_MAX; i++) {
		children[started] = fork();
		if (children[started] == 0) {
			struct wt_sampler_options one = *all;
			char ordinal[16];

			snprintf(ordinal, sizeof(ordinal), "%d", i);
			one.device = ordinal;
			one.parent = parent;
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			_exit(wt_sampler_run(&one));
		}
		if (children[started] > 0)
			started++;
	}
	return wait_all(children, started);
}

int main(int argc, char **argv)
{
	struct wt_sampler_options options = {.interval_ns = WT_SAMPLE_AUTO};
	int code = parse_options(argc, argv, &options);

	if (code)
		return code - 1;
	unsetenv("LD_PRELOAD"); /* libwavetap.so has nothing to do in here, or in the daemon */
	if (options.cupti && !access(options.cupti, R_OK))
		setenv("WAVETAP_CUPTI", options.cupti, 1);
	make_run_key();
	if (options.until_eof) {
		options.parent = getppid();
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	}
	if (options.device && !strcmp(options.device, "all"))
		return run_all(&options);
	return wt_sampler_run(&options);
}
