/*
 * app_multi.c - one process that uses several devices: for each of them a primary context and
 * as many more as asked for, several streams a context, and copies to the next device.
 *
 *	app_multi [--devices N] [--streams S] [--contexts C] [--launches L] [--grid G] [--rounds R]
 *
 * A line per device: "device ORDINAL uuid=HEX sms=S launches=N". --grid 0, the default, takes one
 * block more than the device has SMs. With --rounds the contexts beyond the primary one are
 * destroyed and made again so many times. One thread.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/app_driver.h"

#define DEVICES_MAX 8
#define CONTEXTS_MAX 8
#define STREAMS_MAX 16
#define COPY_BYTES 65536

static const char multi_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                                ".visible .entry multi_work(.param .u64 unused)\n"
                                "{\n"
                                "ret;\n"
                                "}\n"
                                "// wtfake: kernel=multi_work regs=32 block_ns=3000\n"
                                ".visible .entry multi_other(.param .u64 unused)\n"
                                "{\n"
                                "ret;\n"
                                "}\n"
                                "// wtfake: kernel=multi_other regs=64 block_ns=2000\n";

static struct {
	int devices, streams, contexts, launches, grid, rounds;
} opt = {.devices = 1, .streams = 2, .contexts = 1, .launches = 10, .rounds = 1};

/* Entries that only this program needs. */
static wtcu_result (*ctx_create)(wtcu_context *, unsigned int, wtcu_device);
static wtcu_result (*ctx_destroy)(wtcu_context);
static wtcu_result (*device_uuid)(struct wtcu_uuid *, wtcu_device);
static wtcu_result (*copy_devices)(wtcu_deviceptr, wtcu_deviceptr, size_t, wtcu_stream);

struct place {
	wtcu_context context;
	wtcu_function work, other;
	wtcu_stream streams[STREAMS_MAX]; /* the first is the default stream */
};

static struct device {
	struct place places[CONTEXTS_MAX]; /* the first is the primary context */
	wtcu_deviceptr memory;
	int sm_count;
	unsigned long launches;
} devices[DEVICES_MAX];

static void load(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	app_load("getproc_v2");
	*(void **)&ctx_create = dlsym(driver, "cuCtxCreate_v2");
	*(void **)&ctx_destroy = dlsym(driver, "cuCtxDestroy_v2");
	*(void **)&device_uuid = dlsym(driver, "cuDeviceGetUuid_v2");
	*(void **)&copy_devices = dlsym(driver, "cuMemcpyDtoDAsync_v2");
	if (!ctx_create || !ctx_destroy || !device_uuid || !copy_devices)
		app_check(WTCU_ERROR_NOT_FOUND, "a driver entry");
}

/* The current context gets its module and streams. */
static void furnish(struct place *place)
{
	wtcu_module module;

	APP_CHECK(app.module_load(&module, multi_ptx));
	APP_CHECK(app.module_function(&place->work, module, "multi_work"));
	APP_CHECK(app.module_function(&place->other, module, "multi_other"));
	for (int i = 1; i < opt.streams; i++)
		APP_CHECK(app.stream_create(&place->streams[i], 1));
}

static void open_device(int ordinal)
{
	struct device *device = &devices[ordinal];
	wtcu_device handle;

	APP_CHECK(app.device_get(&handle, ordinal));
	APP_CHECK(
	        app.device_attribute(&device->sm_count, WTCU_DEVICE_MULTIPROCESSOR_COUNT, handle));
	APP_CHECK(app.primary_retain(&device->places[0].context, handle));
	APP_CHECK(app.ctx_set(device->places[0].context));
	furnish(&device->places[0]);
	APP_CHECK(app.mem_alloc(&device->memory, COPY_BYTES));
}

static void open_contexts(int ordinal)
{
	for (int i = 1; i < opt.contexts; i++) {
		struct place *place = &devices[ordinal].places[i];

		memset(place, 0, sizeof(*place));
		APP_CHECK(ctx_create(&place->context, 0, ordinal));
		APP_CHECK(app.ctx_set(place->context));
		furnish(place);
	}
}

static void close_contexts(int ordinal)
{
	for (int i = 1; i < opt.contexts; i++) {
		struct place *place = &devices[ordinal].places[i];

		APP_CHECK(app.ctx_set(place->context));
		APP_CHECK(app.ctx_sync());
		APP_CHECK(ctx_destroy(place->context));
	}
}

/* Devices, contexts and streams take turns, so that their records come in any order. */
static void launch_round(void)
{
	unsigned long long unused = 0;
	void *params[] = {&unused};

	for (int n = 0; n < opt.launches; n++)
		for (int i = 0; i < opt.devices * opt.contexts * opt.streams; i++) {
			struct device *device = &devices[i % opt.devices];
			struct place *place = &device->places[i / opt.devices % opt.contexts];
			wtcu_stream stream = place->streams[i / opt.devices / opt.contexts];
			int grid = opt.grid ? opt.grid : device->sm_count + 1;

			APP_CHECK(app.ctx_set(place->context));
			APP_CHECK(app.launch(n % 3 ? place->work : place->other, (unsigned int)grid,
			                     1, 1, 256, 1, 1, 0, stream, params, NULL));
			device->launches++;
		}
}

static void copy_to_neighbours(void)
{
	for (int i = 0; i + 1 < opt.devices; i++) {
		APP_CHECK(app.ctx_set(devices[i].places[0].context));
		APP_CHECK(copy_devices(devices[i + 1].memory, devices[i].memory, COPY_BYTES,
		                       devices[i].places[0].streams[0]));
	}
}

static void report(int ordinal)
{
	struct wtcu_uuid uuid;

	APP_CHECK(app.ctx_set(devices[ordinal].places[0].context));
	APP_CHECK(app.ctx_sync());
	APP_CHECK(device_uuid(&uuid, ordinal));
	printf("device %d uuid=", ordinal);
	for (size_t i = 0; i < sizeof(uuid.bytes); i++)
		printf("%02x", (unsigned char)uuid.bytes[i]);
	printf(" sms=%d launches=%lu\n", devices[ordinal].sm_count, devices[ordinal].launches);
}

static int number(const char *text, int least, int most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < least || value > most) {
		fprintf(stderr, "app_multi: %s: not from %d to %d\n", text, least, most);
		exit(2);
	}
	return (int)value;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
	        {"devices", 1, NULL, 'd'},  {"streams", 1, NULL, 's'}, {"contexts", 1, NULL, 'c'},
	        {"launches", 1, NULL, 'l'}, {"grid", 1, NULL, 'g'},    {"rounds", 1, NULL, 'r'},
	        {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd')
			opt.devices = number(optarg, 1, DEVICES_MAX);
		else if (option == 's')
			opt.streams = number(optarg, 1, STREAMS_MAX);
		else if (option == 'c')
			opt.contexts = number(optarg, 1, CONTEXTS_MAX);
		else if (option == 'l')
			opt.launches = number(optarg, 1, 1000000);
		else if (option == 'g')
			opt.grid = number(optarg, 0, 1000000);
		else if (option == 'r')
			opt.rounds = number(optarg, 1, 1000);
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	load();
	APP_CHECK(app.init(0));
	for (int i = 0; i < opt.devices; i++)
		open_device(i);
	for (int round = 0; round < opt.rounds; round++) {
		for (int i = 0; i < opt.devices; i++)
			open_contexts(i);
		launch_round();
		copy_to_neighbours();
		for (int i = 0; i < opt.devices; i++)
			close_contexts(i);
	}
	for (int i = 0; i < opt.devices; i++)
		report(i);
	return 0;
}
