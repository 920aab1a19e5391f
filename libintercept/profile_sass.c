/*
 * profile_sass.c - SASS metrics around one launch: how often each of its instructions was executed
 * on each physical SM.
 *
 * CUPTI puts counting code into the function when it is first launched while enabled (lazily). A
 * kernel's first instruction is executed once by every warp, so its count on an SM is the warps that
 * began there. The first instruction is the one at the lowest offset of the function; functions that
 * the kernel calls have records of their own, so the kernel's is found by the number of warps of its
 * grid, which is known. Where none fits, the data is of something else, and thrown away.
 *
 * The thread of the launch that is profiled. About 6 ms per launch (measured, H200).
 */
#include "libintercept/profile.h"

#define FUNCTIONS_MAX 64 /* that one launch executes; with more it is left alone */
#define DATA_BYTES_MAX (UINT64_C(1) << 30)

int wt_profile_sass_open(struct wt_profile_session *session)
{
	struct wtcupti_device_get_chip_name chip = {
	        .struct_size = WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES,
	        .device_index = (size_t)session->device,
	};
	struct wtcupti_sass_get_properties properties = {
	        .struct_size = WTCUPTI_SASS_GET_PROPERTIES_BYTES,
	        .name = "smsp__sass_inst_executed",
	};
	struct wtcupti_sass_config config = {.granularity = WTCUPTI_SASS_SM};
	struct wtcupti_sass_set_config set = {
	        .struct_size = WTCUPTI_SASS_SET_CONFIG_BYTES,
	        .count = 1,
	        .configs = &config,
	        .device_index = (uint32_t)session->device,
	};
	int code = session->api.get_chip_name(&chip);

	if (code)
		return code;
	properties.chip_name = chip.chip_name;
	code = session->api.sass_properties(&properties);
	if (code)
		return code;
	config.id = properties.metric.id;
	return session->api.sass_set_config(&set);
}

static int disable(struct wt_profile_session *session, size_t *ret_dropped)
{
	struct wtcupti_sass_disable disable = {
	        .struct_size = WTCUPTI_SASS_DISABLE_BYTES,
	        .context = session->context,
	};
	int code;

	*ret_dropped = 0;
	if (!session->is_sass_enabled)
		return 0;
	code = session->api.sass_disable(&disable);
	session->is_sass_enabled = code != 0;
	*ret_dropped = disable.dropped_records;
	return code;
}

/* A disable that failed is tried again: patched functions take many times as long. */
int wt_profile_sass_close(struct wt_profile_session *session)
{
	struct wtcupti_sass_unset_config unset = {
	        .struct_size = WTCUPTI_SASS_UNSET_CONFIG_BYTES,
	        .device_index = (uint32_t)session->device,
	};
	size_t dropped;
	int code = disable(session, &dropped);

	session->is_sass_enabled = false;
	return code ? code : session->api.sass_unset_config(&unset);
}

int wt_profile_sass_start(struct wt_profile_session *session)
{
	struct wtcupti_sass_enable enable = {
	        .struct_size = WTCUPTI_SASS_ENABLE_BYTES,
	        .context = session->context,
	        .is_lazy = 1,
	};
	int code = session->api.sass_enable(&enable);

	session->is_sass_enabled = !code;
	return code;
}

/* ---- the data */

struct data {
	struct wtcupti_sass_data *record;
	size_t records, instances;
};

static uint64_t executions(const struct data *data, size_t record)
{
	uint64_t sum = 0;

	for (size_t sm = 0; sm < data->instances; sm++)
		sum += data->record[record].values[sm].value;
	return sum;
}

/* The first instruction of the function that began so many warps; data->records if there is none. */
static size_t find_entry(const struct data *data, uint64_t warps)
{
	size_t first[FUNCTIONS_MAX], functions = 0;

	for (size_t i = 0; i < data->records; i++) {
		const struct wtcupti_sass_data *one = &data->record[i];
		size_t f = 0;

		while (f < functions &&
		       (data->record[first[f]].cubin_crc != one->cubin_crc ||
		        data->record[first[f]].function_index != one->function_index))
			f++;
		if (f == FUNCTIONS_MAX)
			return data->records;
		if (f == functions)
			first[functions++] = i;
		else if (one->pc_offset < data->record[first[f]].pc_offset)
			first[f] = i;
	}
	for (size_t f = 0; f < functions; f++)
		if (executions(data, first[f]) == warps)
			return first[f];
	return data->records;
}

static void count(const struct data *data, size_t entry, struct wt_profile_sm_counts *counts)
{
	counts->sms = (uint32_t)data->instances;
	for (size_t sm = 0; sm < data->instances; sm++) {
		counts->warps[sm] = (uint32_t)data->record[entry].values[sm].value;
		counts->instructions[sm] = 0;
	}
	for (size_t i = 0; i < data->records; i++)
		for (size_t sm = 0; sm < data->instances; sm++)
			counts->instructions[sm] += data->record[i].values[sm].value;
}

static int flush(struct wt_profile_session *session, struct data *data,
                 struct wt_profile_bytes *room)
{
	struct wtcupti_sass_flush_data flush = {
	        .struct_size = WTCUPTI_SASS_FLUSH_DATA_BYTES,
	        .context = session->context,
	        .records = data->records,
	        .instances = data->instances,
	};
	struct wtcupti_sass_value *values;
	uint64_t per_record = sizeof(*data->record) + data->instances * sizeof(*values);

	if (data->records > DATA_BYTES_MAX / per_record ||
	    !wt_profile_map(room, data->records * per_record))
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	data->record = (void *)room->memory;
	values = (void *)(data->record + data->records);
	for (size_t i = 0; i < data->records; i++) {
		data->record[i].struct_size = WTCUPTI_SASS_FLUSH_DATA_BYTES;
		data->record[i].values = values + i * data->instances;
	}
	flush.data = data->record;
	return session->api.sass_flush(&flush);
}

static int read_data(struct wt_profile_session *session, uint64_t warps_expected)
{
	struct wtcupti_sass_get_data_properties get = {
	        .struct_size = WTCUPTI_SASS_GET_DATA_PROPERTIES_BYTES,
	        .context = session->context,
	};
	struct wt_profile_bytes room = {0};
	struct data data;
	size_t entry;
	int code = session->api.sass_data_size(&get);

	if (code || !get.records || !get.instances || get.instances > WT_PROFILE_SMS_MAX)
		return code;
	data = (struct data){.records = get.records, .instances = get.instances};
	code = flush(session, &data, &room);
	if (!code) {
		entry = find_entry(&data, warps_expected);
		if (entry < data.records)
			count(&data, entry, &session->counts);
		else
			wt_log("profile: no function of %zu instructions began %llu warps",
			       data.records, (unsigned long long)warps_expected);
	}
	wt_profile_unmap(&room);
	return code;
}

int wt_profile_sass_stop(struct wt_profile_session *session, bool is_wanted,
                         uint64_t warps_expected)
{
	size_t dropped;
	int code = 0, disable_code;

	session->counts.sms = 0;
	if (is_wanted)
		code = read_data(session, warps_expected);
	disable_code = disable(session, &dropped);
	if (is_wanted && dropped) /* not all that was counted was in the data */
		session->counts.sms = 0;
	return code ? code : disable_code;
}
