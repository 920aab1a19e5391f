/*
 * test_expression.c - expressions that name kernels: what is compiled matches as the C library says,
 * what would take its memory is refused. Measured with the C library of Debian 12: of what is let
 * through, the greatest takes some MiB.
 */
#include <sys/resource.h>

#include <errno.h>

#include "cli/expression.h"
#include "tests/tap.h"

static void fine(const char *word, const char *in, bool want)
{
	regex_t regex;
	char why[200] = "";
	int rc = wt_expression_compile(&regex, word, why, sizeof(why));

	ok(rc == 0, "\"%.60s\" is taken (%s)", word, why);
	if (rc)
		return;
	ok((regexec(&regex, in, 0, NULL, 0) == 0) == want, "\"%.60s\" %s \"%s\"", word,
	   want ? "finds" : "does not find", in);
	regfree(&regex);
}

static void refused(const char *word, const char *because)
{
	regex_t regex;
	char why[200] = "";
	int rc = wt_expression_compile(&regex, word, why, sizeof(why));

	ok(rc == -EINVAL && strstr(why, because), "\"%.60s\" is refused: %s", word, why);
	if (!rc)
		regfree(&regex);
}

/* `count` of `piece` between `start` and `end`. The text is good until the next call. */
static const char *pile(const char *start, const char *piece, int count, const char *end)
{
	static char text[2000];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s", start);

	for (int i = 0; i < count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", piece);
	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, "%s", end);
	return text;
}

int main(void)
{
	struct rlimit memory = {.rlim_cur = 512 << 20, .rlim_max = 512 << 20};

	/* Under a sanitizer the address space itself is larger. */
	if (!tap_is_sanitized())
		setrlimit(RLIMIT_AS, &memory);
	fine("gemm", "sm90_gemm_bf16", true);
	fine("^gemm", "sm90_gemm_bf16", false);
	fine("a+b?c*(d|e){2,3}$", "aabcdee", true);
	fine("[]]x", "]x", true);
	fine("[^]{9999}]", "{9", false);
	fine("[[:digit:]]+x", "12x", true);
	fine("\\{9999\\}", "{9999}", true);
	fine("x{1000}", "x", false);
	fine("a++++", "aa", true);
	fine("((a+)+)+", "aa", true);
	fine(pile("", "a+", 400, ""), "b", false);
	refused(pile("j", "+", 70, "son"), "four deep");
	refused("((((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9}){9})", "multipl");
	refused("(a{200}){200}", "multiply");
	refused("(a{,200}){150}", "multiply");
	refused("((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "four deep");
	refused("to-e++??????????????????H???????+++++", "four deep"); /* minutes, in regcomp() */
	refused("((((a?b)+c)?d)+e)?", "four deep");
	fine("(((a?b)+c)?d)+", "abcd", true);
	fine("gemm.*?bf16", "sm90_gemm_x_bf16", true);
	refused(pile("", "(", 21, ""), "20 parentheses");
	refused("(a)\\1", "back-references");
	refused(pile("", "kernel", 200, ""), "1,000 characters");
	refused("(", "");
	refused("a{3", "");
	refused("[a", "");
	return tap_done();
}
