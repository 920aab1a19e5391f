/*
 * test_run_key.c - any text into a run key: what fits and is clean stays as it is, everything else
 * becomes valid UTF-8 without control characters, short enough, and different for different texts.
 * One thread.
 */
#include <stdlib.h>

#include "schema/wt_run_key.h"
#include "tests/tap.h"

static const char *key_of(const char *text)
{
	static char keys[8][WT_RUN_KEY_BYTES];
	static unsigned next;
	char *key = keys[next++ % 8];

	memset(key, 'x', WT_RUN_KEY_BYTES);
	wt_run_key_set(key, text);
	return key;
}

static bool is_sound(const char *key)
{
	const unsigned char *at = (const unsigned char *)key;

	if (!memchr(key, '\0', WT_RUN_KEY_BYTES))
		return false;
	while (*at) {
		int length = wt_utf8_length(at);

		if (!length || *at < 0x20 || *at == 0x7f)
			return false;
		at += length;
	}
	return true;
}

static void test_kept(void)
{
	static const char *const texts[] = {"",
	                                    "a",
	                                    "two words ",
	                                    "quote ' \" \\ / ..",
	                                    "\xc3\xa9\xe2\x82\xac",
	                                    "\xf0\x9f\x98\x80 end"};
	char longest[WT_RUN_KEY_BYTES];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		is_str(key_of(texts[i]), texts[i], "kept");
	memset(longest, 'k', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	is_str(key_of(longest), longest, "255 bytes are kept");
}

static void test_changed(void)
{
	static const char *const texts[] = {"two\nlines", "two?lines", "two\tlines",
	                                    "\x7f",       "\xff",      "\xc3",
	                                    "\xe2\x82",   "\xc0\x80",  "a\xf5\x80\x80\x80"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ok(is_sound(key_of(texts[i])), "sound: text %zu", i);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(key_of(texts[i]), key_of(texts[k])))
				ok(false, "texts %zu and %zu have one key", i, k);
	}
	ok(!strncmp(key_of("two\nlines"), "two?lines~", 10), "what can be read stays readable");
}

/* A character of several bytes is never cut in two, wherever the end falls. */
static void test_long(void)
{
	char text[1024], other[1024];
	int bad = 0, equal = 0;

	for (int before = 220; before < 260; before++) {
		memset(text, 'b', (size_t)before);
		strcpy(text + before, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		                      "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		                      "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
		strcpy(other, text);
		strcat(other, "+");
		bad += !is_sound(key_of(text));
		equal += strlen(text) >= WT_RUN_KEY_BYTES && !strcmp(key_of(text), key_of(other));
	}
	is_i64(bad, 0, "long keys are sound");
	is_i64(equal, 0, "long texts that differ at their end have two keys");
}

static void test_random(void)
{
	char text[600], again[WT_RUN_KEY_BYTES];
	int bad = 0, changed = 0;

	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t length = (size_t)rand() % (sizeof(text) - 1);
		const char *key;

		for (size_t k = 0; k < length; k++)
			text[k] = (char)(rand() % 255 + 1);
		text[length] = '\0';
		key = key_of(text);
		bad += !is_sound(key);
		/* `wavetap run` makes a key, and the library makes one of that. */
		wt_run_key_set(again, key);
		changed += strcmp(again, key) != 0;
	}
	is_i64(bad, 0, "random bytes give sound keys");
	is_i64(changed, 0, "a key stays as it is");
}

int main(void)
{
	test_kept();
	test_changed();
	test_long();
	test_random();
	return tap_done();
}
