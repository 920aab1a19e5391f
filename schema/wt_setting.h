/*
 * wt_setting.h - settings of the environment that are plain numbers, and what counts as one. What makes
 * no sense is as if it weren't there: the library, which never prints, takes the usual value, and
 * `wavetap run` and `doctor` say so.
 *
 * Inline, no heap and no locale: the library uses it inside the application. Any thread.
 */
#ifndef WT_SETTING_H
#define WT_SETTING_H

#include <stddef.h>
#include <stdint.h>

enum wt_setting_id {
	WT_SETTING_CUPTI_BUFFERS, /* on a device; 0: as many as CUPTI likes */
	WT_SETTING_FLUSH_MS,
	WT_SETTING_BUDGET_WINDOW_MS,
	WT_SETTING_PROFILE_WARMUP_MS,
	WT_SETTING_PROFILE_SHARE, /* percent of the time */
	WT_SETTING_MAX
};

struct wt_setting {
	char name[32];
	uint32_t least, most, usual;
};

static inline const struct wt_setting *wt_setting(enum wt_setting_id id)
{
	static const struct wt_setting settings[WT_SETTING_MAX] = {
	        [WT_SETTING_CUPTI_BUFFERS] = {"WAVETAP_CUPTI_BUFFERS", 0, 65536, 64},
	        [WT_SETTING_FLUSH_MS] = {"WAVETAP_FLUSH_MS", 5, 60000, 200},
	        [WT_SETTING_BUDGET_WINDOW_MS] = {"WAVETAP_BUDGET_WINDOW_MS", 1, 3600000, 1000},
	        [WT_SETTING_PROFILE_WARMUP_MS] = {"WAVETAP_PROFILE_WARMUP_MS", 0, 86400000, 1000},
	        [WT_SETTING_PROFILE_SHARE] = {"WAVETAP_PROFILE_SHARE", 1, 100, 75},
	};

	return &settings[id];
}

/* Digits alone, within the limits: 1, and the value. Else, or given NULL: 0, and the usual one. */
static inline int wt_setting_parse(const struct wt_setting *setting, const char *given,
                                   uint32_t *ret_value)
{
	uint64_t value = 0;
	size_t digits = 0;

	*ret_value = setting->usual;
	for (; given && given[digits] >= '0' && given[digits] <= '9' && digits < 12; digits++)
		value = value * 10 + (uint64_t)(given[digits] - '0');
	if (!digits || given[digits] || value < setting->least || value > setting->most)
		return 0;
	*ret_value = (uint32_t)value;
	return 1;
}

#endif /* WT_SETTING_H */
