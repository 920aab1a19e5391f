/*
 * cupti_range.c - the range profiler of the simulated CUPTI.
 */
#include "tests/fake/cupti_prof.h"

bool cupti_wants_sms(void)
{
	return false;
}

void cupti_take_sms(const struct fake_op *op, const struct fake_sms *sms)
{
	(void)op, (void)sms;
}
