/*
 * cmd_doctor.c - `wavetap doctor`: what this host can and can't measure, why, and the remedy.
 * Single-threaded; blocks on files and, in children with a time limit, on the driver.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/program.h"
#include "cli/text.h"
#include "cli/wrap.h"
#include "config.h"
#include "schema/wt_keep.h"

#define TIMEOUT_MS 20000 /* cuInit of eight GPUs without persistence takes that long at worst */
#define TIMEOUT_MS_MAX 3600000
#define TEXT_COLUMN 24

struct doctor_values {
	const char *timeout;
	bool is_json;
};

static const struct wt_option doctor_options[] = {
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct doctor_values, is_json), NULL,
         "one JSON object"},
        {"timeout", 0, WT_OPTION_TEXT, "TIME", offsetof(struct doctor_values, timeout), NULL,
         "limit for each thing that is tried (default 20s)"},
        {0},
};

void wt_doctor_add(struct wt_doctor *doctor, enum wt_doctor_status status, const char *group,
                   const char *name, const char *remedy, const char *format, ...)
{
	struct wt_doctor_finding *finding;
	va_list ap;

	if (doctor->count == doctor->room) {
		size_t room = doctor->room ? 2 * doctor->room : 32;

		finding = realloc(doctor->findings, room * sizeof(*finding));
		if (!finding) {
			doctor->is_out_of_memory = true;
			return;
		}
		doctor->findings = finding;
		doctor->room = room;
	}
	finding = &doctor->findings[doctor->count++];
	finding->status = status;
	finding->group = group;
	finding->name = name;
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy ? remedy : "");
	va_start(ap, format);
	vsnprintf(finding->text, sizeof(finding->text), format, ap);
	va_end(ap);
}

/* ---- text */

static const char *const words[] = {"ok", "warn", "FAIL", "n.a."};
static const char *const json_words[] = {"ok", "warn", "fail", "na"};
static const char *const colours[] = {"\033[32m", "\033[33m", "\033[1;31m", "\033[2m"};

static void print_finding(const struct wt_doctor_finding *finding,
                          const struct wt_text_terminal *terminal)
{
	bool has_colour = terminal->has_colour;
	char remedy[sizeof(finding->remedy) + 4];

	printf("  %s%-4s%s  %-*s ", has_colour ? colours[finding->status] : "",
	       words[finding->status], has_colour ? "\033[0m" : "", TEXT_COLUMN - 9, finding->name);
	wt_wrap_print(stdout, finding->text, TEXT_COLUMN, terminal);
	if (!finding->remedy[0])
		return;
	snprintf(remedy, sizeof(remedy), "-> %s", finding->remedy);
	printf("%*s", TEXT_COLUMN, "");
	wt_wrap_print(stdout, remedy, TEXT_COLUMN, terminal);
}

static int count_status(const struct wt_doctor *doctor, enum wt_doctor_status status)
{
	int count = 0;

	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->findings[i].status == status;
	return count;
}

/* One line for the whole. */
static const char *verdict(const struct wt_doctor *doctor, char text[200])
{
	int failed = count_status(doctor, WT_DOCTOR_FAIL);
	int warned = count_status(doctor, WT_DOCTOR_WARN);

	if (failed)
		snprintf(text, 200, "recording does not work here as it should: %d failure%s",
		         failed, failed == 1 ? "" : "s");
	else if (!doctor->device_count)
		snprintf(text, 200,
		         "no GPU here: whether kernels can be recorded can't be judged; "
		         "the rest is fine");
	else
		snprintf(text, 200, "kernels can be recorded here%s",
		         warned ? "; see the warnings" : "");
	return text;
}

static void print_text(const struct wt_doctor *doctor)
{
	struct wt_text_terminal terminal;
	const char *group = "";
	char line[200];

	wt_text_terminal_probe(1, &terminal);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct wt_doctor_finding *finding = &doctor->findings[i];

		if (strcmp(finding->group, group) != 0)
			printf("%s%s\n", i ? "\n" : "", finding->group);
		group = finding->group;
		print_finding(finding, &terminal);
	}
	fputc('\n', stdout);
	wt_wrap_print(stdout, verdict(doctor, line), 0, &terminal);
}

/* ---- JSON */

static void put_text(struct wt_json *json, const char *key, const char *text)
{
	wt_json_key(json, key);
	wt_json_string(json, text[0] ? text : NULL);
}

static int print_json(const struct wt_doctor *doctor)
{
	struct wt_json json;
	char line[200];

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "schema");
	wt_json_int(&json, WT_JSON_SCHEMA);
	put_text(&json, "version", PACKAGE_VERSION);
	wt_json_key(&json, "can_record");
	if (count_status(doctor, WT_DOCTOR_FAIL))
		wt_json_bool(&json, false);
	else if (doctor->device_count)
		wt_json_bool(&json, true);
	else
		wt_json_null(&json);
	put_text(&json, "reason", verdict(doctor, line));
	put_text(&json, "preload", doctor->library);
	put_text(&json, "data_dir", doctor->data_dir);
	wt_json_key(&json, "devices");
	wt_json_int(&json, doctor->device_count);
	wt_json_key(&json, "checks");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct wt_doctor_finding *finding = &doctor->findings[i];

		wt_json_object_begin(&json);
		put_text(&json, "group", finding->group);
		put_text(&json, "name", finding->name);
		put_text(&json, "status", json_words[finding->status]);
		put_text(&json, "text", finding->text);
		put_text(&json, "remedy", finding->remedy);
		wt_json_object_end(&json);
	}
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

/* ---- the whole */

/* The Python that the program is run by, else the one that would be. */
static const char *find_python(const struct wt_doctor *doctor, char path[WT_PATH_BYTES])
{
	if (doctor->command)
		return wt_doctor_find_python(doctor->command[0], path) ? path : NULL;
	if (!wt_program_find("python3", path) || !wt_program_find("python", path))
		return path;
	return NULL;
}

static int run_doctor(void *opaque, int operand_count, char **operands)
{
	const struct doctor_values *values = opaque;
	struct wt_doctor doctor = {.timeout_ms = TIMEOUT_MS};
	char python[WT_PATH_BYTES];
	int64_t timeout_ns;
	int code;

	if (values->timeout) {
		if (wt_keep_parse_time(values->timeout, &timeout_ns) || timeout_ns < 1000000 ||
		    timeout_ns / 1000000 > TIMEOUT_MS_MAX)
			return wt_cli_usage_error(
			        "doctor", "--timeout: \"%s\" is no time such as 20s (1ms to 1h)",
			        values->timeout);
		doctor.timeout_ms = (int)(timeout_ns / 1000000);
	}
	doctor.command = operand_count ? (const char *const *)operands : NULL;
	wt_doctor_install(&doctor);
	wt_doctor_gpu(&doctor);
	wt_doctor_cupti(&doctor, find_python(&doctor, python));
	wt_doctor_sampler(&doctor);
	wt_doctor_host(&doctor);
	wt_doctor_data(&doctor);
	if (doctor.command)
		wt_doctor_target(&doctor);
	if (doctor.is_out_of_memory)
		wt_cli_error("out of memory: not all was checked");
	code = WT_EXIT_FINE;
	if (values->is_json)
		code = wt_cli_output_result(print_json(&doctor));
	else
		print_text(&doctor);
	if (!code && (doctor.is_out_of_memory || count_status(&doctor, WT_DOCTOR_FAIL)))
		code = WT_EXIT_FAILED;
	else if (!code && !doctor.device_count)
		code = WT_EXIT_NO_DATA;
	free(doctor.findings);
	return code;
}

const struct wt_command wt_cmd_doctor = {
        .name = "doctor",
        .operands = "[--] [COMMAND [ARGUMENT]...]",
        .summary = "what this host can and can't measure, why, and the remedy",
        .details = "A COMMAND is looked at, not run. Exits with 0 if kernels can be "
                   "recorded, 1 if something stops that, 3 if there is no GPU and all "
                   "else is fine.",
        .example = "wavetap doctor -- ./train.py",
        .theme = WT_THEME_RECORD,
        .options = doctor_options,
        .operand_count_max = -1,
        .flags = WT_COMMAND_STOPS_AT_OPERAND,
        .values_bytes = sizeof(struct doctor_values),
        .run = run_doctor,
};
