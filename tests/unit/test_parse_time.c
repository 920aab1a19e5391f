/*
 * test_parse_time.c - lengths of time as typed, against nanoseconds counted by hand.
 */
#include <errno.h>

#include "cli/parse_time.h"
#include "tests/tap.h"

static void good(const char *text, int64_t want)
{
	int64_t ns = -1;
	int rc = wt_parse_time(text, &ns);

	ok(rc == 0 && ns == want, "\"%s\" is %lld ns (got %d, %lld)", text, (long long)want, rc,
	   (long long)ns);
}

static void bad(const char *text, int want)
{
	int64_t ns = 4711;
	int rc = wt_parse_time(text, &ns);

	ok(rc == want && ns == 4711, "\"%s\" is refused (got %d)", text, rc);
}

int main(void)
{
	good("10s", INT64_C(10000000000));
	good("500ms", 500000000);
	good("100us", 100000);
	good("7ns", 7);
	good("2min", INT64_C(120000000000));
	good("1h", INT64_C(3600000000000));
	good("1.5s", 1500000000);
	good(".5ms", 500000);
	good("5.ms", 5000000);
	good("0s", 0);
	good("0.0000000015s", 2); /* rounded */
	good("0.4ns", 0);
	good("0.5ns", 1);
	good("0.123456789012345678901234567890s", 123456789);
	good("0.00000000000000000000000000000000000000000000001s", 0);
	good("000000000000000000000000000000010s", INT64_C(10000000000));
	good("9223372036.854775807s",
	     INT64_C(9223372036854775807) / 10 * 10); /* 18 digits are kept */
	good("1\xc2\xb5s", 1000);
	good("1\xce\xbcs", 1000);
	good("2562047h", INT64_C(2562047) * 3600 * 1000000000);
	bad("10", -EDOM);
	bad("0", -EDOM);
	bad("1.5", -EDOM);
	bad("", -EINVAL);
	bad("s", -EINVAL);
	bad(".s", -EINVAL);
	bad("-1s", -EINVAL);
	bad("+1s", -EINVAL);
	bad(" 1s", -EINVAL);
	bad("1 s", -EINVAL);
	bad("1S", -EINVAL);
	bad("1m", -EINVAL);
	bad("1sec", -EINVAL);
	bad("1.2.3s", -EINVAL);
	bad("1e3s", -EINVAL);
	bad("0x10s", -EINVAL);
	bad("50%", -EINVAL);
	bad("2562048h", -ERANGE);
	bad("9223372037s", -ERANGE);
	bad("1000000000000000000000ns", -ERANGE);
	return tap_done();
}
