/*
 * device.c - reads the limits of each device once, after a context was created on it.
 *
 * The driver calls made here need no context and change nothing; they are made on the
 * application's thread inside its own context creation, never on the launch path and never
 * while a stream is being captured. Nothing is known by a GPU's name: a limit that the driver
 * doesn't give is 0.
 *
 * What was read is kept in this process and copied into the segment once that exists. A
 * forked child keeps the copy: the ordinals are the same.
 */
#include <string.h>

#include "libintercept/hooks.h"

static struct wt_device known[WT_DEVICES_MAX];
static _Atomic uint64_t whole; /* bit per ordinal: known[ordinal] may be read */
static _Atomic uint64_t
        used; /* bit per ordinal: a record named it; only where no hook is in force */
_Static_assert(WT_DEVICES_MAX == 64, "a bit per ordinal");

/* ---- reading */

static const struct {
	int attribute;
	size_t offset;
} fields[] = {
        {WTCU_DEVICE_COMPUTE_CAPABILITY_MAJOR, offsetof(struct wt_device, cc_major)},
        {WTCU_DEVICE_COMPUTE_CAPABILITY_MINOR, offsetof(struct wt_device, cc_minor)},
        {WTCU_DEVICE_MULTIPROCESSOR_COUNT, offsetof(struct wt_device, sm_count)},
        {WTCU_DEVICE_WARP_SIZE, offsetof(struct wt_device, warp_size)},
        {WTCU_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR,
         offsetof(struct wt_device, max_threads_per_sm)},
        {WTCU_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR, offsetof(struct wt_device, max_blocks_per_sm)},
        {WTCU_DEVICE_MAX_THREADS_PER_BLOCK, offsetof(struct wt_device, max_threads_per_block)},
        {WTCU_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR, offsetof(struct wt_device, regs_per_sm)},
        {WTCU_DEVICE_MAX_REGISTERS_PER_BLOCK, offsetof(struct wt_device, regs_per_block)},
        {WTCU_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
         offsetof(struct wt_device, smem_per_sm_bytes)},
        {WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK, offsetof(struct wt_device, smem_per_block_bytes)},
        {WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         offsetof(struct wt_device, smem_per_block_optin_bytes)},
        {WTCU_DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK,
         offsetof(struct wt_device, smem_reserved_per_block_bytes)},
        {WTCU_DEVICE_L2_CACHE_SIZE, offsetof(struct wt_device, l2_bytes)},
        {WTCU_DEVICE_CLOCK_RATE, offsetof(struct wt_device, clock_khz)},
        {WTCU_DEVICE_MEMORY_CLOCK_RATE, offsetof(struct wt_device, mem_clock_khz)},
        {WTCU_DEVICE_GLOBAL_MEMORY_BUS_WIDTH, offsetof(struct wt_device, mem_bus_bits)},
        {WTCU_DEVICE_PCI_DOMAIN_ID, offsetof(struct wt_device, pci_domain)},
        {WTCU_DEVICE_PCI_BUS_ID, offsetof(struct wt_device, pci_bus)},
        {WTCU_DEVICE_PCI_DEVICE_ID, offsetof(struct wt_device, pci_device)},
        {WTCU_DEVICE_CLUSTER_LAUNCH, offsetof(struct wt_device, cluster_launch)},
};

static void read_attributes(struct wt_device *device, wtcu_device_get_attribute_fn get)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		int value;

		if (get(&value, fields[i].attribute, device->ordinal) == WTCU_SUCCESS)
			memcpy((char *)device + fields[i].offset, &value, sizeof(int32_t));
	}
}

/* True if the device could be told from others: without its UUID there is no key. */
static bool read_device(struct wt_device *device, int ordinal)
{
	wtcu_device_get_attribute_fn get_attribute =
	        (wtcu_device_get_attribute_fn)wt_driver_entry("cuDeviceGetAttribute");
	wtcu_device_get_name_fn get_name =
	        (wtcu_device_get_name_fn)wt_driver_entry("cuDeviceGetName");
	/* of a MIG instance the second version gives its own UUID, the first its parent's */
	wtcu_device_get_uuid_fn get_uuid =
	        (wtcu_device_get_uuid_fn)wt_driver_entry("cuDeviceGetUuid_v2");
	wtcu_device_total_mem_fn total_mem =
	        (wtcu_device_total_mem_fn)wt_driver_entry("cuDeviceTotalMem_v2");
	wtcu_driver_get_version_fn get_version =
	        (wtcu_driver_get_version_fn)wt_driver_entry("cuDriverGetVersion");
	struct wtcu_uuid uuid;
	size_t bytes;

	if (!get_uuid)
		get_uuid = (wtcu_device_get_uuid_fn)wt_driver_entry("cuDeviceGetUuid");
	if (!get_attribute || !get_uuid || get_uuid(&uuid, ordinal) != WTCU_SUCCESS)
		return false;
	*device = (struct wt_device){.ordinal = ordinal};
	memcpy(device->uuid, uuid.bytes, sizeof(device->uuid));
	read_attributes(device, get_attribute);
	if (get_name)
		(void)get_name(device->name, sizeof(device->name) - 1, ordinal);
	if (total_mem && total_mem(&bytes, ordinal) == WTCU_SUCCESS)
		device->mem_total_bytes = bytes;
	if (get_version)
		(void)get_version(&device->driver_version);
	return true;
}

void wt_device_read(int ordinal)
{
	struct wt_fork_page *page = wt_fork_page();
	struct wt_device device;
	struct wt_view *view;
	uint64_t bit;

	if (!page || ordinal < 0 || ordinal >= WT_DEVICES_MAX)
		return;
	bit = UINT64_C(1) << ordinal;
	if (wt_load_relaxed(&page->captures_open) ||
	    atomic_fetch_or(&page->devices_claimed, bit) & bit)
		return;
	if (!(wt_load_acquire(&whole) & bit)) {
		if (!read_device(&device, ordinal)) {
			atomic_fetch_and(&page->devices_claimed,
			                 ~bit); /* the next context tries again */
			return;
		}
		known[ordinal] = device;
		atomic_fetch_or(&whole, bit);
	}
	/* Either we see the view, or whoever publishes it sees the bit: see publish_all. */
	view = atomic_load(&page->view);
	if (view)
		wt_device_publish(view);
}

/* ---- into the segment */

static bool is_published(const struct wt_producer *producer, uint64_t count, int ordinal)
{
	for (uint64_t i = 0; i < count; i++)
		if (producer->device[i].ordinal == ordinal)
			return true;
	return false;
}

static void publish_all(struct wt_producer *producer, bool is_injected)
{
	uint64_t ready = atomic_load(&whole) & (is_injected ? atomic_load(&used) : UINT64_MAX);
	uint64_t count = wt_load_relaxed(&producer->device_count);

	for (int ordinal = 0; ordinal < WT_DEVICES_MAX; ordinal++) {
		if (!(ready >> ordinal & 1) || is_published(producer, count, ordinal))
			continue;
		producer->device[count] = known[ordinal];
		wt_store_relaxed(&producer->driver_version,
		                 (uint64_t)known[ordinal].driver_version);
		wt_store_release(&producer->device_count, ++count);
	}
}

/* The first to come publishes for all who come meanwhile, so nobody waits and nothing is missed. */
void wt_device_publish(struct wt_view *view)
{
	struct wt_fork_page *page = wt_fork_page();
	uint64_t served;

	if (!page || atomic_fetch_add(&page->device_requests, 1))
		return;
	do {
		served = atomic_load(&page->device_requests);
		publish_all(view->producer, wt_load_relaxed(&page->is_injected));
	} while (!atomic_compare_exchange_strong(&page->device_requests, &served, 0));
}

/* ---- without hooks */

/* On our own thread. These calls need no context, and no capture forbids them. */
bool wt_device_read_all(struct wt_view *view)
{
	wtcu_device_get_count_fn get_count =
	        (wtcu_device_get_count_fn)wt_driver_entry("cuDeviceGetCount");
	int count;

	if (!get_count || get_count(&count) != WTCU_SUCCESS)
		return false;
	for (int ordinal = 0; ordinal < count && ordinal < WT_DEVICES_MAX; ordinal++)
		if (read_device(&known[ordinal], ordinal))
			atomic_fetch_or(&whole, UINT64_C(1) << ordinal);
	wt_device_publish(view);
	return true;
}

/* In CUPTI's callback. Either the device has been read, or whoever reads it sees the bit. */
void wt_device_used(struct wt_view *view, uint32_t ordinal)
{
	uint64_t bit = ordinal < WT_DEVICES_MAX ? UINT64_C(1) << ordinal : 0;

	if (!(wt_load_relaxed(&used) & bit) && !(atomic_fetch_or(&used, bit) & bit))
		wt_device_publish(view);
}
