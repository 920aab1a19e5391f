/*
 * device_read.c - the limits of one device, as the driver gives them: for libwavetap.so and for
 * wavetap-sampler.
 *
 * The driver calls made here need no context and change nothing. Nothing is known by a GPU's name:
 * a limit that the driver doesn't give is 0. Any thread; blocks as long as the driver does.
 */
#include <stddef.h>
#include <string.h>

#include "libintercept/cuda_abi.h"
#include "libintercept/internal.h"

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

bool wt_device_limits(struct wt_device *device, int ordinal)
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
