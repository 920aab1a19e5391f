/*
 * configs.c - kernel names, devices and launch configurations of a run, each stored once.
 *
 * A cache in front of the tables, read when the run file is opened, so that an id never
 * changes. Occupancy and waves depend on the configuration alone and are computed when it
 * is first seen. Main thread; may block on the disk.
 */
#include "daemon/daemon.h"

#include <errno.h>

/* One more element for an array that doubles. */
static int make_room(void **array, size_t count, size_t *room, size_t element_bytes)
{
	size_t wanted = *room ? 2 * *room : 64;
	void *more;

	if (count < *room)
		return 0;
	more = realloc(*array, wanted * element_bytes);
	if (!more)
		return -ENOMEM;
	*array = more;
	*room = wanted;
	return 0;
}

void wt_configs_fini(struct wt_run *run)
{
	for (size_t i = 0; i < run->names_count; i++)
		free(run->names[i].name);
	free(run->names);
	free(run->configs);
	free(run->gpus);
	wt_map_fini(&run->name_of);
	wt_map_fini(&run->config_of);
	run->names = NULL;
	run->configs = NULL;
	run->gpus = NULL;
	run->names_count = run->names_room = run->configs_count = run->configs_room = 0;
	run->gpus_count = 0;
}

/* ---- kernels */

static int remember_name(struct wt_run *run, const char *name, int64_t kernel_id)
{
	uint64_t hash = wt_fnv1a(name, strlen(name));
	struct wt_kernel_name *entry;
	int err = make_room((void **)&run->names, run->names_count, &run->names_room,
	                    sizeof(*run->names));

	if (err)
		return err;
	entry = &run->names[run->names_count];
	entry->name = strdup(name);
	if (!entry->name)
		return -ENOMEM;
	entry->kernel_id = kernel_id;
	entry->next = wt_map_get(&run->name_of, hash);
	return wt_map_set(&run->name_of, hash, (uint32_t)run->names_count++);
}

int wt_configs_kernel(struct wt_run *run, const char *name, int64_t *ret_kernel_id)
{
	uint32_t at = wt_map_get(&run->name_of, wt_fnv1a(name, strlen(name)));
	int err;

	for (; at != WT_MAP_NONE; at = run->names[at].next) {
		if (!strcmp(run->names[at].name, name)) {
			*ret_kernel_id = run->names[at].kernel_id;
			return 0;
		}
	}
	err = wt_store_run(run, WT_SQL_KERNEL, "t", name);
	if (!err) {
		*ret_kernel_id = sqlite3_last_insert_rowid(run->db);
		err = remember_name(run, name, *ret_kernel_id);
	}
	return err;
}

/* ---- devices */

static int remember_gpu(struct wt_run *run, const struct wt_device *device, int64_t device_id)
{
	struct wt_gpu *more = realloc(run->gpus, (run->gpus_count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	run->gpus = more;
	run->gpus[run->gpus_count++] = (struct wt_gpu){*device, device_id};
	return 0;
}

int wt_configs_device(struct wt_run *run, const struct wt_device *device, uint32_t *ret_gpu_idx)
{
	char pci[24];
	int err;

	for (size_t i = 0; i < run->gpus_count; i++) {
		if (!memcmp(run->gpus[i].device.uuid, device->uuid, sizeof(device->uuid))) {
			*ret_gpu_idx = (uint32_t)i;
			return 0;
		}
	}
	snprintf(pci, sizeof(pci), "%04x:%02x:%02x", (unsigned)device->pci_domain & 0xffffu,
	         (unsigned)device->pci_bus & 0xffu, (unsigned)device->pci_device & 0xffu);
#define I(field) (int64_t) device->field
	err = wt_store_run(run, WT_SQL_GPU, "btiiiiiiiiiiiiiiiiiiit", device->uuid,
	                   sizeof(device->uuid), device->name, I(cc_major), I(cc_minor),
	                   I(sm_count), I(warp_size), I(max_threads_per_sm), I(max_blocks_per_sm),
	                   I(max_threads_per_block), I(regs_per_sm), I(regs_per_block),
	                   I(smem_per_sm_bytes), I(smem_per_block_bytes),
	                   I(smem_per_block_optin_bytes), I(smem_reserved_per_block_bytes),
	                   I(l2_bytes), I(clock_khz), I(mem_clock_khz), I(mem_bus_bits),
	                   I(mem_total_bytes), I(driver_version), pci);
#undef I
	if (!err)
		err = remember_gpu(run, device, sqlite3_last_insert_rowid(run->db));
	if (!err)
		*ret_gpu_idx = (uint32_t)run->gpus_count - 1;
	return err;
}

const struct wt_device *wt_configs_device_of(const struct wt_run *run, int64_t device_id)
{
	static const struct wt_device unknown;

	for (size_t i = 0; i < run->gpus_count; i++)
		if (run->gpus[i].device_id == device_id)
			return &run->gpus[i].device;
	return &unknown;
}

/* ---- configurations */

static uint64_t hash_key(const struct wt_config_key *key)
{
	uint64_t words[sizeof(*key) / 8], hash = 0;

	_Static_assert(sizeof(*key) % 8 == 0, "whole words");
	memcpy(words, key, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / 8; i++) {
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

static const char *name_of(const struct wt_run *run, int64_t kernel_id)
{
	size_t guess = (size_t)kernel_id - 1; /* as long as no name is missing */

	if (guess < run->names_count && run->names[guess].kernel_id == kernel_id)
		return run->names[guess].name;
	for (size_t i = 0; i < run->names_count; i++)
		if (run->names[i].kernel_id == kernel_id)
			return run->names[i].name;
	return NULL;
}

static int remember_config(struct wt_run *run, struct wt_config *config)
{
	uint64_t hash = hash_key(&config->key);
	int err = make_room((void **)&run->configs, run->configs_count, &run->configs_room,
	                    sizeof(*run->configs));

	if (err)
		return err;
	wt_derive_sweep(&config->launch, wt_configs_device_of(run, config->key.device_id)->sm_count,
	                name_of(run, config->key.kernel_id), &config->sweep);
	run->configs[run->configs_count] = *config;
	run->configs[run->configs_count].next = wt_map_get(&run->config_of, hash);
	return wt_map_set(&run->config_of, hash, (uint32_t)run->configs_count++);
}

static int bind_real(sqlite3_stmt *statement, int at, bool is_known, double value)
{
	return is_known ? sqlite3_bind_double(statement, at, value)
	                : sqlite3_bind_null(statement, at);
}

static int bind_int(sqlite3_stmt *statement, int at, bool is_known, int64_t value)
{
	return is_known ? sqlite3_bind_int64(statement, at, value)
	                : sqlite3_bind_null(statement, at);
}

int wt_configs_bind(sqlite3_stmt *statement, int first, const struct wt_config_values *v)
{
	const char *limiter = v->limiter[0] ? v->limiter : NULL;
	const int codes[] = {
	        sqlite3_bind_int64(statement, first, v->blocks),
	        bind_int(statement, first + 1, v->has_occupancy, v->blocks_per_sm),
	        bind_int(statement, first + 2, v->resident_blocks > 0, v->resident_blocks),
	        bind_real(statement, first + 3, v->has_occupancy, v->occupancy),
	        sqlite3_bind_text(statement, first + 4, limiter, -1, SQLITE_STATIC),
	        bind_real(statement, first + 5, v->has_waves, v->waves),
	        bind_real(statement, first + 6, v->has_waves_sm, v->waves_sm),
	        bind_int(statement, first + 7, v->has_waves, v->full_waves),
	        bind_int(statement, first + 8, v->has_waves, v->last_wave_blocks),
	        sqlite3_bind_text(statement, first + 9, v->model_reason, -1, SQLITE_STATIC),
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] != SQLITE_OK)
			return codes[i];
	return SQLITE_OK;
}

static int insert_config(struct wt_run *run, struct wt_config *config,
                         const struct wt_device *device)
{
	const struct wt_config_key *key = &config->key;
	sqlite3_stmt *statement = run->statement[WT_SQL_CONFIG];
	struct wt_config_values values;
	int code;

	wt_derive_config(device, key, &config->launch, &values);
	code = wt_db_bind(statement, "iiiiiiiiiiiiiiiii", key->kernel_id, key->device_id,
	                  (int64_t)key->grid[0], (int64_t)key->grid[1], (int64_t)key->grid[2],
	                  (int64_t)key->block[0], (int64_t)key->block[1], (int64_t)key->block[2],
	                  (int64_t)key->cluster[0], (int64_t)key->cluster[1],
	                  (int64_t)key->cluster[2], (int64_t)key->regs_per_thread,
	                  (int64_t)key->static_smem_bytes, (int64_t)key->dynamic_smem_bytes,
	                  (int64_t)key->is_cooperative, (int64_t)key->max_active_clusters,
	                  (int64_t)key->sm_count);
	if (code == SQLITE_OK)
		code = wt_configs_bind(statement, 18, &values);
	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		sqlite3_reset(statement);
	}
	config->config_id = sqlite3_last_insert_rowid(run->db);
	return wt_store_check(run, code);
}

int wt_configs_config(struct wt_run *run, const struct wt_config_key *key, uint32_t gpu_idx,
                      uint32_t *ret_config_idx)
{
	uint32_t at = wt_map_get(&run->config_of, hash_key(key));
	struct wt_config config = {.key = *key};
	int err;

	for (; at != WT_MAP_NONE; at = run->configs[at].next) {
		if (!memcmp(&run->configs[at].key, key, sizeof(*key))) {
			*ret_config_idx = at;
			return 0;
		}
	}
	err = insert_config(run, &config, &run->gpus[gpu_idx].device);
	if (!err)
		err = remember_config(run, &config);
	if (!err)
		*ret_config_idx = (uint32_t)run->configs_count - 1;
	return err;
}

/* ---- reading it back */

static int load_names(struct wt_run *run)
{
	sqlite3_stmt *query = NULL;
	int code =
	        sqlite3_prepare_v2(run->db, "SELECT kernel_id, name FROM kernel", -1, &query, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = remember_name(run, (const char *)sqlite3_column_text(query, 1),
		                    sqlite3_column_int64(query, 0));
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

static int load_gpus(struct wt_run *run)
{
	static const char sql[] =
	        "SELECT device_id, uuid, name, cc_major, cc_minor, sm_count, warp_size, "
	        "max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, regs_per_sm, "
	        "regs_per_block, smem_per_sm_bytes, smem_per_block_bytes, "
	        "smem_per_block_optin_bytes, smem_reserved_per_block_bytes, clock_khz, "
	        "mem_clock_khz, mem_bus_bits FROM gpu ORDER BY 1";
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &query, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		struct wt_device device = {0};
		int32_t *const fields[] = {&device.cc_major,
		                           &device.cc_minor,
		                           &device.sm_count,
		                           &device.warp_size,
		                           &device.max_threads_per_sm,
		                           &device.max_blocks_per_sm,
		                           &device.max_threads_per_block,
		                           &device.regs_per_sm,
		                           &device.regs_per_block,
		                           &device.smem_per_sm_bytes,
		                           &device.smem_per_block_bytes,
		                           &device.smem_per_block_optin_bytes,
		                           &device.smem_reserved_per_block_bytes,
		                           &device.clock_khz,
		                           &device.mem_clock_khz,
		                           &device.mem_bus_bits};

		code = SQLITE_OK;
		if (sqlite3_column_bytes(query, 1) == sizeof(device.uuid))
			memcpy(device.uuid, sqlite3_column_blob(query, 1), sizeof(device.uuid));
		snprintf(device.name, sizeof(device.name), "%s",
		         (const char *)sqlite3_column_text(query, 2));
		for (int i = 0; i < (int)(sizeof(fields) / sizeof(fields[0])); i++)
			*fields[i] = sqlite3_column_int(query, 3 + i);
		err = remember_gpu(run, &device, sqlite3_column_int64(query, 0));
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

static int load_configs(struct wt_run *run)
{
	static const char sql[] =
	        "SELECT config_id, kernel_id, device_id, grid_x, grid_y, grid_z, block_x, block_y, "
	        "block_z, cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes, "
	        "dynamic_smem_bytes, cooperative, max_active_clusters, sm_count FROM config";
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &query, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		struct wt_config config = {0};
		struct wt_config_key *key = &config.key;
		uint32_t *const fields[] = {&key->grid[0],           &key->grid[1],
		                            &key->grid[2],           &key->block[0],
		                            &key->block[1],          &key->block[2],
		                            &key->cluster[0],        &key->cluster[1],
		                            &key->cluster[2],        &key->regs_per_thread,
		                            &key->static_smem_bytes, &key->dynamic_smem_bytes,
		                            &key->is_cooperative,    &key->max_active_clusters};

		code = SQLITE_OK;
		config.config_id = sqlite3_column_int64(query, 0);
		key->kernel_id = sqlite3_column_int64(query, 1);
		key->device_id = sqlite3_column_int64(query, 2);
		for (int i = 0; i < (int)(sizeof(fields) / sizeof(fields[0])); i++)
			*fields[i] = (uint32_t)sqlite3_column_int64(query, 3 + i);
		key->sm_count = sqlite3_column_int(query, 17);
		wt_derive_config(wt_configs_device_of(run, key->device_id), key, &config.launch,
		                 NULL);
		err = remember_config(run, &config);
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

int wt_configs_load(struct wt_run *run)
{
	int err = load_gpus(run);

	if (!err)
		err = load_names(run);
	return err ? err : load_configs(run);
}
