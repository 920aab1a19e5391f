/*
 * test_policy_hash.c - hashes of a content security policy, against vectors of FIPS 180-4's examples and of
 * sha256sum, put into base64 by hand (openssl base64).
 */
#include <string.h>

#include "cli/html/policy_hash.h"
#include "tests/tap.h"

static void check(const void *data, size_t bytes, const char *want, const char *what)
{
	char got[WT_POLICY_HASH_BYTES];

	wt_policy_hash(data, bytes, got);
	ok(!strcmp(got, want), "%s: %s", what, got);
}

int main(void)
{
	static char letters[1000000];

	check("", 0, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "nothing");
	check("abc", 3, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "abc");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	      "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=", "56 bytes: two blocks");
	memset(letters, 'a', sizeof(letters));
	check(letters, sizeof(letters),
	      "zcduXJkU+5KBocfihNc+Z/GAmkiklyAOBG05zMcRLNA=", "a million a");
	check(letters, 55, "n0OQ+NMMLdkuyfCVtl4rmumwqSWlJY4kHJ8ekQ9zQxg=", "55 bytes");
	check(letters, 63, "fT50oF19sVvOStnsBljqmOPwbu7PFrTG//LaRX3cLzQ=", "63 bytes");
	check(letters, 64, "/+BU/nrgy23GXDr5th1SCfQ5hR20PQulmXM33xVGaOs=", "64 bytes");
	check(letters, 65, "Y1NhxIu56rFBmOduqKt/GkFoXWrWKqkUbTAdTxfrCuA=", "65 bytes");
	return tap_done();
}
