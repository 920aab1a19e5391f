/*
 * counters.c - prints a file written for WTFAKE_COUNTERS, one NAME VALUE line
 * per counter that is not 0; with names, the values of those alone.
 *
 *	fake_counters FILE [NAME...]
 */
#include <stdio.h>
#include <string.h>

#include "tests/fake/fake_counters.h"

static unsigned long long value_of(const struct fake_counters *counters, const char *name)
{
	for (int i = 0; i < FAKE_COUNTERS_MAX && counters->counter[i].name[0]; i++)
		if (!strcmp(counters->counter[i].name, name))
			return counters->counter[i].value;
	return 0;
}

int main(int argc, char **argv)
{
	static struct fake_counters counters;
	FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;

	if (!file || fread(&counters, sizeof(counters), 1, file) != 1 ||
	    counters.magic != FAKE_COUNTERS_MAGIC) {
		fprintf(stderr, "fake_counters: no counters in %s\n",
		        argc > 1 ? argv[1] : "(none)");
		return 1;
	}
	fclose(file);
	for (int i = 2; i < argc; i++)
		printf("%llu\n", value_of(&counters, argv[i]));
	for (int i = 0; argc == 2 && i < FAKE_COUNTERS_MAX && counters.counter[i].name[0]; i++)
		if (counters.counter[i].value)
			printf("%s %llu\n", counters.counter[i].name,
			       (unsigned long long)counters.counter[i].value);
	return 0;
}
