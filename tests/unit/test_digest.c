/*
 * test_digest.c - SHA-256 against the examples of FIPS 180-4 and against itself in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/digest.h"
#include "tests/tap.h"

static bool is_digest(const char *text, size_t bytes, size_t piece, const char *want)
{
	struct wt_digest digest;
	char hex[WT_DIGEST_HEX_BYTES];

	wt_digest_init(&digest);
	for (size_t at = 0; at < bytes; at += piece)
		wt_digest_add(&digest, text + at, piece < bytes - at ? piece : bytes - at);
	wt_digest_finish(&digest, hex);
	return !strcmp(hex, want);
}

int main(void)
{
	static const char million[] =
	        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char *as = malloc(1000000);

	ok(is_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
	   "of nothing");
	ok(is_digest("abc", 3, 3,
	             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
	   "abc");
	ok(is_digest(two_blocks, strlen(two_blocks), 100,
	             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
	   "one that ends in a block of its own");
	if (as) {
		memset(as, 'a', 1000000);
		ok(is_digest(as, 1000000, 1000000, million), "a million times a");
		ok(is_digest(as, 1000000, 63, million), "in pieces of 63");
		ok(is_digest(as, 1000000, 65, million), "in pieces of 65");
	}
	free(as);
	return tap_done();
}
