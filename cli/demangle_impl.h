/*
 * demangle_impl.h - what the parts of the demangler share; demangle.h is the
 * interface. demangle_text.c holds the arena and the scanner, demangle_type.c
 * types and template arguments, demangle.c names and the entry.
 *
 * Every production reads at d->at and returns text in the arena. The first
 * failure sets d->error and moves d->at to an empty text, so that loops end and
 * results need no check until the last.
 *
 * Threads: one demangler, one thread. Never blocks.
 */
#ifndef WT_CLI_DEMANGLE_IMPL_H
#define WT_CLI_DEMANGLE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	ARENA_MAX_BYTES = 4 << 20,
	ARENA_MIN_BYTES = 64 << 10,
	ARENA_GROWTH = 512, /* arena bytes per byte of name; real names need less than 250 */
	DEPTH_MAX = 200,
	SUBST_MAX = 4096,
	ARGS_MAX = 128, /* template arguments of one list */
};

struct str {
	const char *p;
	size_t n;
};

/* A type is text before and after the place of a declarator: "void (*" ")(int)". */
struct type {
	struct str left, right;
	bool needs_parens; /* a function or array, should a pointer to it follow */
};

struct name {
	struct type text;
	bool is_template; /* its last part carries template arguments: a return type follows */
	bool has_no_return; /* constructor, destructor */
	const char *suffix; /* " const" of a member function, after its parameters */
};

struct demangler {
	const char *at;
	char *arena;
	size_t used, size;
	int error;
	unsigned depth;
	bool name_only;
	size_t subst_count, subst_capacity, arg_count;
	struct type *subst; /* subst_capacity of them */
	struct type args[ARGS_MAX]; /* what T_, T0_ ... mean in the present encoding */
};

static inline struct str lit(const char *text)
{
	return (struct str){text, strlen(text)};
}

static inline struct type plain(struct str text)
{
	return (struct type){text, {"", 0}, false};
}

/* demangle_text.c */
void wt_dm_fail(struct demangler *d, int error);
struct str wt_dm_join(struct demangler *d, const struct str *parts, size_t count);
bool wt_dm_take(struct demangler *d, char c);
void wt_dm_want(struct demangler *d, char c);
bool wt_dm_enter(struct demangler *d);
struct str wt_dm_whole(struct demangler *d, struct type t);
void wt_dm_remember(struct demangler *d, struct type t);
size_t wt_dm_parse_number(struct demangler *d);
size_t wt_dm_parse_seq(struct demangler *d, unsigned base);
struct str wt_dm_parse_source_name(struct demangler *d);

#define JOIN(d, ...)                                                                               \
	wt_dm_join((d), (const struct str[]){__VA_ARGS__},                                         \
	           sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))

/* demangle_type.c */
struct type wt_dm_parse_template_param(struct demangler *d);
struct type wt_dm_parse_substitution(struct demangler *d);
struct str wt_dm_parse_type_list(struct demangler *d);
struct str wt_dm_parse_template_args(struct demangler *d, bool is_encoding);
struct type wt_dm_parse_type(struct demangler *d);
struct str wt_dm_with_args(struct demangler *d, struct str name, struct str args);

/* demangle.c */
struct name wt_dm_parse_name(struct demangler *d, bool is_encoding);
struct str wt_dm_parse_encoding(struct demangler *d, bool is_local);

#endif /* WT_CLI_DEMANGLE_IMPL_H */
