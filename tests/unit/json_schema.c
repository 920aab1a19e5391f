/*
 * json_schema.c - checks JSON texts against a schema (JSON Schema 2020-12, the part that
 * doc/schema uses), so that the tests need no package for it.
 *
 *   json_schema SCHEMA FILE...   each FILE is valid? Then prints the members of the schema that no
 *                                FILE had, one a line
 *   json_schema --names SCHEMA   prints the names of all members that the schema allows
 *
 * What it knows: type required properties additionalProperties items enum const minimum anyOf
 * oneOf $ref $defs, and words about the schema. A keyword that it does not know is an error, and so
 * is an object with `properties` that does not say what others it may have: neither may pass
 * silently. $ref: "#/$defs/NAME", "FILE#/$defs/NAME" or "FILE", beside the schema.
 * Exit: 0 valid, 1 not, 2 the schema or the command is wrong. Single-threaded; blocks on files.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/json_text.h"

#define FILES_MAX 16
#define PATH_BYTES 1024

/* A schema file, loaded once. */
struct file {
	char path[PATH_BYTES];
	struct json_value *root;
};

static struct file files[FILES_MAX];
static size_t file_count;

/* A schema and the file that it is in, which its references start from. */
struct schema {
	const struct file *file;
	struct json_value *value;
};

/* Where in the text. */
struct place {
	const struct place *parent;
	const char *key; /* NULL: the element `index` */
	size_t index;
};

static bool is_quiet; /* within anyOf and oneOf */

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("json_schema: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	for (size_t i = 0; i < file_count; i++)
		json_free(files[i].root);
	exit(2);
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	size_t used = 0, room = 1 << 16;
	char *text = malloc(room);

	if (!in || !text)
		die("%s: can't be read", path);
	while ((used += fread(text + used, 1, room - used - 1, in)), !feof(in)) {
		char *more;

		if (ferror(in))
			die("%s: can't be read", path);
		if (used + 1 < room)
			continue;
		more = realloc(text, room *= 2);
		if (!more)
			die("out of memory");
		text = more;
	}
	fclose(in);
	text[used] = '\0';
	return text;
}

static const struct file *load(const char *path)
{
	char problem[200], *text;

	for (size_t i = 0; i < file_count; i++)
		if (!strcmp(files[i].path, path))
			return &files[i];
	if (file_count == FILES_MAX || strlen(path) >= PATH_BYTES)
		die("too many schemas");
	text = read_file(path);
	strcpy(files[file_count].path, path);
	files[file_count].root = json_parse(text, problem, sizeof(problem));
	free(text);
	if (!files[file_count].root)
		die("%s: %s", path, problem);
	return &files[file_count++];
}

/* ---- references */

static struct schema resolve(const struct file *from, const char *reference)
{
	const char *hash = strchr(reference, '#'), *slash = strrchr(from->path, '/');
	size_t name = hash ? (size_t)(hash - reference) : strlen(reference);
	struct schema to = {from, NULL};
	char path[2 * PATH_BYTES];

	if (name) {
		snprintf(path, sizeof(path), "%.*s%.*s", slash ? (int)(slash - from->path + 1) : 0,
		         from->path, (int)name, reference);
		to.file = load(path);
	}
	to.value = to.file->root;
	if (hash && !strncmp(hash, "#/$defs/", 8))
		to.value = json_member(json_member(to.file->root, "$defs"), hash + 8);
	else if (hash && hash[1])
		die("%s: reference %s: not of a known form", from->path, reference);
	if (!to.value)
		die("%s: reference %s leads nowhere", from->path, reference);
	return to;
}

/* ---- the schema itself */

static bool is_word(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

static const char *const keywords[] = {"type",    "required", "properties", "additionalProperties",
                                       "items",   "enum",     "const",      "minimum",
                                       "anyOf",   "oneOf",    "$ref",       "$defs",
                                       "$schema", "$id",      "title",      "description",
                                       NULL};
static const char *const types[] = {"null",   "boolean", "integer", "number",
                                    "string", "array",   "object",  NULL};

static void lint(const struct file *file, const struct json_value *schema);

static void lint_members(const struct file *file, const struct json_value *schema, const char *key)
{
	const struct json_value *members = json_member(schema, key);

	for (const struct json_value *at = members ? members->first : NULL; at; at = at->next)
		lint(file, at);
}

static void lint_type(const struct file *file, const struct json_value *type)
{
	if (!type)
		return;
	if (type->type == JSON_STRING && is_word(type->text, types))
		return;
	for (const struct json_value *at = type->first; at; at = at->next)
		if (at->type != JSON_STRING || !is_word(at->text, types))
			die("%s: a type that is none", file->path);
	if (type->type != JSON_ARRAY || !type->first)
		die("%s: a type that is none", file->path);
}

static void lint(const struct file *file, const struct json_value *schema)
{
	const struct json_value *properties = json_member(schema, "properties"), *required;
	const struct json_value *reference = json_member(schema, "$ref");

	if (schema->type == JSON_TRUE || schema->type == JSON_FALSE)
		return;
	if (schema->type != JSON_OBJECT)
		die("%s: a schema that is neither object nor truth value", file->path);
	for (const struct json_value *at = schema->first; at; at = at->next)
		if (!is_word(at->key, keywords))
			die("%s: keyword %s is not known here", file->path, at->key);
	if (properties && !json_member(schema, "additionalProperties"))
		die("%s: properties without additionalProperties", file->path);
	if (reference)
		(void)resolve(file, reference->text);
	lint_type(file, json_member(schema, "type"));
	required = json_member(schema, "required");
	for (const struct json_value *at = required ? required->first : NULL; at; at = at->next)
		if (at->type != JSON_STRING || !json_member(properties, at->text))
			die("%s: required, but no property: %s", file->path,
			    at->text ? at->text : "?");
	lint_members(file, schema, "properties");
	lint_members(file, schema, "$defs");
	lint_members(file, schema, "anyOf");
	lint_members(file, schema, "oneOf");
	if (json_member(schema, "items"))
		lint(file, json_member(schema, "items"));
	if (json_member(schema, "additionalProperties"))
		lint(file, json_member(schema, "additionalProperties"));
}

/* ---- checking */

static void print_place(const struct place *place)
{
	if (!place)
		return;
	print_place(place->parent);
	if (place->key)
		fprintf(stderr, "/%s", place->key);
	else
		fprintf(stderr, "/%zu", place->index);
}

__attribute__((format(printf, 2, 3))) static bool wrong(const struct place *place,
                                                        const char *format, ...)
{
	va_list ap;

	if (is_quiet)
		return false;
	print_place(place);
	fputs(": ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return false;
}

static bool check(struct schema schema, const struct json_value *value, const struct place *place);

static bool is_of_type(const struct json_value *value, const char *type)
{
	switch (value->type) {
	case JSON_NULL:
		return !strcmp(type, "null");
	case JSON_FALSE:
	case JSON_TRUE:
		return !strcmp(type, "boolean");
	case JSON_NUMBER:
		return !strcmp(type, "number") || (value->is_integer && !strcmp(type, "integer"));
	case JSON_STRING:
		return !strcmp(type, "string");
	case JSON_ARRAY:
		return !strcmp(type, "array");
	default:
		return !strcmp(type, "object");
	}
}

static bool check_type(const struct json_value *type, const struct json_value *value,
                       const struct place *place)
{
	if (!type || (type->type == JSON_STRING && is_of_type(value, type->text)))
		return true;
	for (const struct json_value *at = type->first; at; at = at->next)
		if (is_of_type(value, at->text))
			return true;
	return wrong(place, "is not of the type asked for%s%s", value->text ? ": " : "",
	             value->text ? value->text : "");
}

static bool check_value(const struct json_value *schema, const struct json_value *value,
                        const struct place *place)
{
	const struct json_value *constant = json_member(schema, "const");
	const struct json_value *choices = json_member(schema, "enum");
	const struct json_value *minimum = json_member(schema, "minimum");
	bool is_good = check_type(json_member(schema, "type"), value, place);
	bool is_choice = !choices;

	if (constant && !json_is_equal(constant, value))
		is_good = wrong(place, "is not the constant");
	for (const struct json_value *at = choices ? choices->first : NULL; at; at = at->next)
		is_choice = is_choice || json_is_equal(at, value);
	if (!is_choice)
		is_good = wrong(place, "is none of the choices%s%s", value->text ? ": " : "",
		                value->text ? value->text : "");
	if (minimum && value->type == JSON_NUMBER && value->number < minimum->number)
		is_good = wrong(place, "%s is below %s", value->text, minimum->text);
	return is_good;
}

static bool check_object(struct schema schema, const struct json_value *value,
                         const struct place *place)
{
	const struct json_value *properties = json_member(schema.value, "properties");
	const struct json_value *required = json_member(schema.value, "required");
	struct json_value *others = json_member(schema.value, "additionalProperties");
	bool is_good = true;

	if (value->type != JSON_OBJECT)
		return true;
	for (const struct json_value *at = required ? required->first : NULL; at; at = at->next)
		if (!json_member(value, at->text))
			is_good = wrong(place, "lacks %s", at->text);
	for (const struct json_value *at = value->first; at; at = at->next) {
		const struct place below = {place, at->key, 0};
		struct json_value *property = json_member(properties, at->key);

		if (!property && others && others->type == JSON_FALSE)
			is_good = wrong(&below, "is a member that the schema does not have");
		else if (property || others)
			is_good &= check((struct schema){schema.file, property ? property : others},
			                 at, &below);
		if (property)
			property->is_seen = true;
	}
	return is_good;
}

static bool check_items(struct schema schema, const struct json_value *value,
                        const struct place *place)
{
	struct json_value *items = json_member(schema.value, "items");
	struct place below = {place, NULL, 0};
	bool is_good = true;

	if (value->type != JSON_ARRAY || !items)
		return true;
	for (const struct json_value *at = value->first; at; at = at->next, below.index++)
		is_good &= check((struct schema){schema.file, items}, at, &below);
	return is_good;
}

/* At least one of anyOf, exactly one of oneOf. */
static bool check_choices(struct schema schema, const char *key, const struct json_value *value,
                          const struct place *place)
{
	const struct json_value *choices = json_member(schema.value, key);
	bool was_quiet = is_quiet;
	size_t good = 0, only = 0, count = 0;

	if (!choices)
		return true;
	is_quiet = true;
	for (struct json_value *at = choices->first; at; at = at->next, count++)
		good += check((struct schema){schema.file, at}, value, place);
	is_quiet = was_quiet;
	if (good == 1 || (good && !strcmp(key, "anyOf")))
		return true;
	/* "null or this": what is wrong with this is the news. */
	for (struct json_value *at = choices->first; at && !good && value->type != JSON_NULL;
	     at = at->next)
		if (only++ == count - 1)
			return check((struct schema){schema.file, at}, value, place);
	return wrong(place, "%zu of the choices of %s hold", good, key);
}

static bool check(struct schema schema, const struct json_value *value, const struct place *place)
{
	const struct json_value *reference = json_member(schema.value, "$ref");
	bool is_good;

	if (schema.value->type == JSON_FALSE)
		return wrong(place, "must not be");
	if (schema.value->type == JSON_TRUE)
		return true;
	is_good = !reference || check(resolve(schema.file, reference->text), value, place);
	is_good &= check_value(schema.value, value, place);
	is_good &= check_object(schema, value, place);
	is_good &= check_items(schema, value, place);
	is_good &= check_choices(schema, "anyOf", value, place);
	return is_good & check_choices(schema, "oneOf", value, place);
}

/* ---- the program */

/* Members of the schema's own file: all of them, or only those that no text had. */
static void print_members(const struct json_value *schema, const char *path, bool is_all)
{
	const struct json_value *properties = json_member(schema, "properties");
	char below[PATH_BYTES];

	for (const struct json_value *at = schema->first; at; at = at->next)
		if (at != properties)
			print_members(at, path, is_all);
	for (const struct json_value *at = properties ? properties->first : NULL; at;
	     at = at->next) {
		snprintf(below, sizeof(below), "%s/%s", path, at->key);
		if (is_all)
			puts(at->key);
		else if (!at->is_seen)
			puts(below);
		print_members(at, below, is_all);
	}
}

static bool check_text(struct schema schema, const char *path)
{
	char problem[200], *text = read_file(path);
	struct json_value *value = json_parse(text, problem, sizeof(problem));
	bool is_good = value && check(schema, value, NULL);

	if (!value)
		fprintf(stderr, "%s\n", problem);
	if (!is_good)
		fprintf(stderr, "%s: not valid by %s\n", path, schema.file->path);
	json_free(value);
	free(text);
	return is_good;
}

int main(int argc, char **argv)
{
	bool is_good = true, is_names = argc == 3 && !strcmp(argv[1], "--names");
	const struct file *file;

	if (argc < 3)
		die("usage: json_schema SCHEMA FILE... | --names SCHEMA");
	file = load(argv[is_names ? 2 : 1]);
	lint(file, file->root);
	for (size_t i = 0; i < file_count; i++) /* and those that it refers to */
		lint(&files[i], files[i].root);
	for (int i = 2; i < argc && !is_names; i++)
		is_good &= check_text((struct schema){file, file->root}, argv[i]);
	if (is_good)
		print_members(file->root, "", is_names);
	for (size_t i = 0; i < file_count; i++)
		json_free(files[i].root);
	return is_good ? 0 : 1;
}
