/*
 * shorten_impl.h - what the parts of kernel_shorten.c share. shorten_span.c finds
 * the pieces of a C++ name, shorten_rules.c knows which names are worth showing,
 * kernel_shorten.c writes them. All of it works on spans of the one text k->s.
 *
 * Threads: one shortener, one thread. Never blocks.
 */
#ifndef WT_CLI_SHORTEN_IMPL_H
#define WT_CLI_SHORTEN_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/kernel_name.h"

enum {
	PARTS_MAX = 32, /* of one path; a::b::c has three */
};

struct span {
	size_t from, to;
};

struct shortener {
	const char *s;
	uint32_t *match; /* of an opening bracket: where it closes; otherwise 0 */
	char *out;
	size_t used, size;
	enum wt_kernel_name_detail detail;
	unsigned depth; /* of recursion */
	unsigned nesting; /* of shown argument lists */
};

struct path {
	struct span parts[PARTS_MAX];
	size_t count;
};

/* shorten_span.c */
void wt_ks_put_bytes(struct shortener *k, const char *p, size_t n);
void wt_ks_put(struct shortener *k, const char *text);
bool wt_ks_span_is(const struct shortener *k, struct span a, const char *text);
bool wt_ks_span_starts(const struct shortener *k, struct span a, const char *text);
bool wt_ks_span_ends(const struct shortener *k, struct span a, const char *text);
bool wt_ks_span_is_any(const struct shortener *k, struct span a, const char *const *texts);
struct span wt_ks_trim(const struct shortener *k, struct span a);
size_t wt_ks_step(const struct shortener *k, size_t i);
void wt_ks_pair_brackets(struct shortener *k, size_t n, uint32_t *stack);
bool wt_ks_is_anonymous(const struct shortener *k, struct span a);
struct path wt_ks_split_path(const struct shortener *k, struct span a);
struct span wt_ks_part_name(const struct shortener *k, struct span part, size_t *ret_args);
bool wt_ks_part_has_params(const struct shortener *k, struct span part);
bool wt_ks_next_arg(const struct shortener *k, size_t list, size_t *at, struct span *ret);
bool wt_ks_is_number(const struct shortener *k, struct span a);
void wt_ks_put_number(struct shortener *k, struct span a);
struct span wt_ks_last_name(const struct shortener *k, struct span a, size_t *ret_args);
struct span wt_ks_after_cast(const struct shortener *k, struct span a);

/* shorten_rules.c */
const char *wt_ks_data_type(const struct shortener *k, struct span a);
const char *wt_ks_index_type(const struct shortener *k, struct span a);
bool wt_ks_is_boring(const struct shortener *k, struct span a);
bool wt_ks_is_wrapper(const struct shortener *k, struct span name);
struct span wt_ks_without_suffix(const struct shortener *k, struct span name);
bool wt_ks_is_known_root(const struct shortener *k, const struct path *p);
bool wt_ks_put_nvjet(struct shortener *k);
bool wt_ks_put_cudnn(struct shortener *k);

#endif /* WT_CLI_SHORTEN_IMPL_H */
