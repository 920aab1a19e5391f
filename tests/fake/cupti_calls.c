/*
 * cupti_calls.c - which calls of the driver and the runtime are recorded.
 *
 * CUPTI's ways with them, as measured with CUDA 13.0: the kinds DRIVER and
 * RUNTIME switch all calls of theirs, at any time. Single calls give records if
 * one of them, or the kind, was on when the first context was made, or once
 * the kind has been switched on later. Switching the kind off ends that for
 * good: single calls are accepted again, but give nothing until the kind is
 * on again. While the kind is on, single calls can be switched off and on.
 *
 * Under `cupti_lock`, all of it.
 */
#include <string.h>

#include "tests/fake/cupti_int.h"

#define CBIDS_MAX 1024

static struct calls {
	int kind;
	wtcupti_callback_id limit; /* the first number that CUPTI 13.0 refuses */
	bool is_whole; /* the kind is on */
	bool was_disabled; /* the kind was switched off, ever */
	bool gives_records;
	bool is_on[CBIDS_MAX];
} table[] = {
        {.kind = WTCUPTI_KIND_DRIVER, .limit = 807},
        {.kind = WTCUPTI_KIND_RUNTIME, .limit = 523},
};
#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

static bool saw_context;

static struct calls *calls_of(int kind)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (table[i].kind == kind)
			return &table[i];
	return NULL;
}

static bool any_on(const struct calls *calls)
{
	return calls->is_whole || memchr(calls->is_on, true, sizeof(calls->is_on));
}

bool cupti_calls_any_on(void)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (any_on(&table[i]))
			return true;
	return false;
}

void cupti_calls_switch_kind(int kind, bool on)
{
	struct calls *calls = calls_of(kind);

	if (!calls)
		return;
	calls->is_whole = calls->gives_records = on;
	calls->was_disabled |= !on;
	memset(calls->is_on, on, sizeof(calls->is_on));
}

wtcupti_result cupti_calls_switch(int kind, wtcupti_callback_id cbid, bool on, bool has_context)
{
	struct calls *calls = calls_of(kind);

	if (!cbid || cbid >= calls->limit)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	calls->is_on[cbid] = on;
	if (on && !has_context && !calls->was_disabled)
		calls->gives_records = true;
	return WTCUPTI_SUCCESS;
}

bool cupti_call_is_recorded(int kind, int cbid)
{
	const struct calls *calls = calls_of(kind);

	return cbid > 0 && cbid < CBIDS_MAX && calls->gives_records && calls->is_on[cbid];
}

void cupti_calls_note_context(void)
{
	for (size_t i = 0; i < TABLE_COUNT && !saw_context; i++)
		table[i].gives_records &= any_on(&table[i]);
	saw_context = true;
}

void cupti_calls_reset(void)
{
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		cupti_calls_switch_kind(table[i].kind, false);
		table[i].was_disabled = false;
	}
}
