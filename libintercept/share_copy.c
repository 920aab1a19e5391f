/*
 * share_copy.c - what dlsym answers for CUPTI's functions; and a second copy of libcupti.
 *
 * Several copies in a process are normal: Proton brings one, PyTorch's wheel another. The driver
 * serves one of them: once we have armed a copy, subscribing or enabling in any other fails with
 * code 39, in a program that did nothing wrong. So, for who looks CUPTI's functions up:
 *
 *   in the copy we armed      the functions that we share are ours, the others real
 *   in another, no newer      all of them as if looked up in the copy we armed. CUPTI is made
 *                             for that: records and structures grow at their ends, and who was
 *                             built for an older one reads them as they come
 *   in another, newer         real: records of ours would be too short. If the driver refuses it
 *                             because of us, we give CUPTI up and it is asked again
 *   before we armed           the functions that we share are ours, and that copy will be armed
 *
 * Code that is linked with another copy keeps that copy, for its calls come here only in part.
 *
 * THREADS. Any, inside dlsym and inside the calls of the application's profiler. Takes the loader's
 * list lock; giving up may block as a flush does. Not on the launch path.
 */
#include <string.h>

#include "libintercept/module.h"
#include "libintercept/share.h"

/* A library whose CUPTI functions someone looked up: what an unlinked caller means. */
static _Atomic uint64_t looked_up_in;

uintptr_t wt_share_hint(void)
{
	return (uintptr_t)wt_load_acquire(&looked_up_in);
}

#define LEFT_WAIT_MS 500

/* ---- giving way */

/* The program is done with the armed copy: it called cuptiFinalize, which we kept from CUPTI. */
static _Atomic uint64_t is_finalized;

void wt_share_note_finalize(bool is_done)
{
	wt_store_release(&is_finalized, is_done);
}

/*
 * The driver lets another copy in only once this one is finalized, not when nothing is on in it any more (H200,
 * CUDA 13.0). Where the program asked for that, and was the only one to know when it is safe, it gets it now.
 */
static void finalize_if_asked(void)
{
	wtcupti_finalize_fn finalize;

	if (!wt_load_acquire(&is_finalized) || !wt_cupti_is_left(LEFT_WAIT_MS))
		return;
	finalize = (wtcupti_finalize_fn)wt_real_dlsym(wt_cupti.handle, "cuptiFinalize");
	if (finalize)
		finalize();
}

bool wt_share_give_way(uintptr_t caller, wtcupti_result result)
{
	if (result != WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || !wt_cupti_is_held() ||
	    wt_cupti_base_of(caller))
		return false;
	wt_share_give_back();
	wt_cupti_step_back(WT_REASON_OTHER_LIBCUPTI, (uint64_t)result);
	finalize_if_asked();
	return true;
}

/* The real functions of a newer copy that has been looked up in. */
static struct {
	_Atomic(void *) subscribe, subscribe_v2, enable;
} newer;

static wtcupti_result newer_subscribe(wtcupti_subscriber *subscriber, wtcupti_callback_fn callback,
                                      void *user_data)
{
	wtcupti_subscribe_fn real = (wtcupti_subscribe_fn)atomic_load(&newer.subscribe);
	wtcupti_result result = real(subscriber, callback, user_data);

	return wt_share_give_way(CALLER, result) ? real(subscriber, callback, user_data) : result;
}

static wtcupti_result newer_subscribe_v2(wtcupti_subscriber *subscriber,
                                         wtcupti_callback_fn callback, void *user_data,
                                         void *params)
{
	wtcupti_subscribe_v2_fn real = (wtcupti_subscribe_v2_fn)atomic_load(&newer.subscribe_v2);
	wtcupti_result result = real(subscriber, callback, user_data, params);

	return wt_share_give_way(CALLER, result) ? real(subscriber, callback, user_data, params)
	                                         : result;
}

static wtcupti_result newer_enable(int kind)
{
	wtcupti_activity_kind_fn real = (wtcupti_activity_kind_fn)atomic_load(&newer.enable);
	wtcupti_result result = real(kind);

	return wt_share_give_way(CALLER, result) ? real(kind) : result;
}

/* Its own functions, but for those that the driver may refuse because of us. */
static void *answer_newer(const char *symbol, void *real)
{
	const struct {
		const char *symbol;
		_Atomic(void *) *real;
		void *ours;
	} entries[] = {
	        {"cuptiSubscribe", &newer.subscribe, (void *)newer_subscribe},
	        {"cuptiSubscribe_v2", &newer.subscribe_v2, (void *)newer_subscribe_v2},
	        {"cuptiActivityEnable", &newer.enable, (void *)newer_enable},
	};

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void *expected = NULL;

		if (strcmp(symbol, entries[i].symbol))
			continue;
		/* With a third copy there is no place for its function: it stands alone. */
		if (atomic_compare_exchange_strong(entries[i].real, &expected, real) ||
		    expected == real)
			return entries[i].ours;
	}
	return real;
}

/* ---- which copy */

struct copy {
	const void *address;
	wtcupti_get_version_fn get_version;
};

static int find_copy(struct dl_phdr_info *info, size_t size, void *data)
{
	struct copy *copy = data;
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (!wt_module_holds(&module, copy->address))
		return 0;
	copy->get_version = (wtcupti_get_version_fn)wt_module_symbol(&module, "cuptiGetVersion");
	return 1;
}

/* Does this copy make records of the armed one's form, or of an older one? */
static bool is_no_newer(const void *address)
{
	struct copy copy = {.address = address};
	uint32_t version = 0;

	dl_iterate_phdr(find_copy, &copy);
	return copy.get_version && !copy.get_version(&version) && version <= wt_cupti.version;
}

/* Is the caller linked with a copy that is not the armed one? Then that is whom it means. */
static bool is_linked_elsewhere(uintptr_t caller)
{
	char soname[WT_SONAME_BYTES];

	wt_cupti_linked_soname(caller, soname);
	return soname[0] && strcmp(soname, wt_cupti.soname);
}

static bool in_armed(uintptr_t address)
{
	return address >= wt_cupti.base && address < wt_cupti.end;
}

/* ---- dlsym */

static void *shared_function(const char *symbol)
{
	static const struct {
		const char *symbol;
		void *ours;
	} exported[] = {
#define WT_SHARED(symbol) {#symbol, (void *)symbol},
#include "libintercept/cupti_exports.def"
	};

	for (size_t i = 0; i < sizeof(exported) / sizeof(exported[0]); i++)
		if (!strcmp(symbol, exported[i].symbol))
			return exported[i].ours;
	return NULL;
}

/* CUPTI is armed, and `real` lies in another copy. */
static void *answer_other(const char *symbol, void *ours, void *real, uintptr_t caller)
{
	void *armed;

	if (!wt_cupti_base_of((uintptr_t)real) || is_linked_elsewhere(caller))
		return real;
	if (!is_no_newer(real))
		return answer_newer(symbol, real);
	armed = wt_real_dlsym(wt_cupti.handle, symbol);
	if (!armed)
		return real;
	/* Should we give CUPTI up, that copy goes on serving this program. */
	wt_store_release(&looked_up_in, wt_cupti.base);
	return ours ? ours : armed;
}

void *wt_share_lookup(const char *symbol, void *real, uintptr_t caller)
{
	void *ours = shared_function(symbol);
	uintptr_t base;

	if (wt_cupti_is_held()) {
		if (in_armed((uintptr_t)real))
			return ours ? ours : real;
		return answer_other(symbol, ours, real, caller);
	}
	if (!ours || wt_cupti_state_now() == WT_CUPTI_FAILED)
		return real;
	base = wt_cupti_base_of((uintptr_t)real);
	if (!base)
		return real;
	wt_store_release(&looked_up_in, base);
	return ours;
}
