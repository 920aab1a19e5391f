/*
 * compare_precision.c - which precision a kernel computes in, by the words of its name: see compare.h.
 * A name may say nothing, or of inputs and outputs different things: then the narrowest is told, which is
 * what is multiplied. Pure; any thread.
 */
#include <ctype.h>
#include <string.h>

#include "cli/compare.h"

/* From the narrowest on; the first whose word is in the name counts. */
static const struct {
	const char *word, *precision;
} words[] = {
        {"e4m3", "fp8"},       {"e5m2", "fp8"},       {"fp8", "fp8"},        {"nvjet_qq", "fp8"},
        {"int8", "int8"},      {"i8i8", "int8"},      {"s8s8", "int8"},      {"bf16", "bf16"},
        {"bfloat16", "bf16"},  {"nvjet_tst", "bf16"}, {"nvjet_tss", "bf16"}, {"nvjet_hsh", "fp16"},
        {"nvjet_hss", "fp16"}, {"fp16", "fp16"},      {"float16", "fp16"},   {"half", "fp16"},
        {"f16f16", "fp16"},    {"hgemm", "fp16"},     {"h884", "fp16"},      {"h1688", "fp16"},
        {"h16816", "fp16"},    {"s16816", "fp16"},    {"tf32", "tf32"},      {"tensorop_s", "tf32"},
        {"float32", "fp32"},   {"f32f32", "fp32"},    {"sgemm", "fp32"},     {"fp32", "fp32"},
        {"float", "fp32"},     {"dgemm", "fp64"},     {"double", "fp64"},
};

/* Not as the end of another word: "half" is in "behalf", too. */
static bool has_word(const char *name, const char *word)
{
	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
		if (at == name || !isalpha((unsigned char)at[-1]) ||
		    isdigit((unsigned char)word[0]))
			return true;
	return false;
}

const char *wt_compare_precision(const char *demangled)
{
	char lower[1024];
	size_t length = strlen(demangled);

	if (length >= sizeof(lower))
		length = sizeof(lower) - 1;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)tolower((unsigned char)demangled[i]);
	lower[length] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_word(lower, words[i].word))
			return words[i].precision;
	return NULL;
}
