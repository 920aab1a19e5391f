/*
 * wt_device.h - what wavetap knows about one CUDA device (or MIG instance).
 *
 * Read once per process by libwavetap.so, after the application's own context
 * creation returned, from cuDeviceGetAttribute and friends; written into the
 * segment's device table (wt_segment.h); stored by the daemon in table
 * `device`; used by analysis/ for occupancy and waves. Nothing here comes from
 * a table of GPU names: a part we have never seen works as long as the driver
 * answers. A limit the driver did not give is 0, which means "unknown", never
 * "none".
 *
 * Plain data, no threads, no I/O. Layout shared by two programs: do not move
 * fields; append into `reserved` and raise WT_SEGMENT_ABI.
 */
#ifndef WT_DEVICE_H
#define WT_DEVICE_H

#include <stdint.h>
#include <string.h>

#define WT_DEVICE_NAME_BYTES 96

struct wt_device {
	uint8_t uuid[16]; /* the key of a device: ordinals change with CUDA_VISIBLE_DEVICES */
	char name[WT_DEVICE_NAME_BYTES]; /* NUL-terminated, as cuDeviceGetName gave it */
	int32_t ordinal; /* in this process; equals CUPTI's deviceId */
	int32_t cc_major; /* compute capability */
	int32_t cc_minor;
	int32_t sm_count; /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT (16) */
	int32_t warp_size; /* (10) */
	int32_t max_threads_per_sm; /* (39) */
	int32_t max_blocks_per_sm; /* (106), CUDA 11.0 */
	int32_t max_threads_per_block; /* (1) */
	int32_t regs_per_sm; /* (82) 32-bit registers */
	int32_t regs_per_block; /* (12) */
	int32_t smem_per_sm_bytes; /* (81) */
	int32_t smem_per_block_bytes; /* (8) without opt-in */
	int32_t smem_per_block_optin_bytes; /* (97) */
	int32_t smem_reserved_per_block_bytes; /* (111) taken by the system in every block */
	int32_t l2_bytes; /* (38) */
	int32_t clock_khz; /* (13) peak SM clock */
	int32_t mem_clock_khz; /* (36) */
	int32_t mem_bus_bits; /* (37) */
	uint64_t mem_total_bytes; /* cuDeviceTotalMem */
	int32_t driver_version; /* cuDriverGetVersion, e.g. 13000 */
	int32_t pci_domain; /* (50) */
	int32_t pci_bus; /* (33) */
	int32_t pci_device; /* (34) */
	int32_t cluster_launch; /* (120) 1 = supported */
	uint8_t reserved[44];
};

_Static_assert(sizeof(struct wt_device) == 256, "device table entry is 256 bytes");

/* "GPU-" and 8-4-4-4-12 digits, as NVIDIA's tools write it. */
#define WT_UUID_TEXT_BYTES 41

static inline const char *wt_device_uuid_text(char text[WT_UUID_TEXT_BYTES], const uint8_t uuid[16])
{
	static const char digits[] = "0123456789abcdef";
	char *at = text;

	memcpy(at, "GPU-", 4);
	at += 4;
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = digits[uuid[i] >> 4];
		*at++ = digits[uuid[i] & 15];
	}
	*at = '\0';
	return text;
}

#endif /* WT_DEVICE_H */
