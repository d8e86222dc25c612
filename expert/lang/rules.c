/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule base as a whole: see rules.h. */
#include "expert/lang/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expert/lang/builtin.h"
#include "expert/lang/check.h"
#include "expert/lang/parse.h"

static const char *const type_name[RT_N] = {"int", "time", "double", "boolean", "string"};
static const char *const category_name[] = {"event", "state", "observation"};

const char *rules_type_name(uint8_t type)
{
	return type < RT_N ? type_name[type] : "";
}

const char *rules_category_name(uint8_t category)
{
	return category <= SC_OBSERVATION ? category_name[category] : "";
}

int rules_error(const struct rules *r, struct errbuf *err, struct rules_pos pos, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(err, "%s:%u:%u: %s", pos.file < r->n_file ? r->file[pos.file] : "?", pos.line, pos.col, text);
}

const struct rules_struct *rules_find(const struct rules *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_type; i++)
		if (!strcmp(r->type[i]->name, name))
			return r->type[i];
	return NULL;
}

int rules_slot(const struct rules_struct *s, const char *param)
{
	for (uint32_t i = 0; i < s->n_param; i++)
		if (!strcmp(s->param[i].name, param))
			return (int)(RA_N + i);
	return -1;
}

static int parse_text(struct rules *r, const char *name, const char *text, size_t len, struct errbuf *err)
{
	struct rules_parser p = {.r = r, .err = err, .includes = 1};

	r->file[r->n_file] = memory_copy(&r->mem, name, strlen(name));
	if (!r->file[r->n_file])
		return err_set(err, "%s: no memory", name);
	rules_lexer_open(&p.x, r, r->n_file++, text, len, err);
	return rules_parse(&p);
}

static struct rules *create(struct errbuf *err)
{
	struct rules *r = calloc(1, sizeof(*r));

	if (!r || strings_init(&r->text, RULES_MAX_MEMORY) < 0) {
		free(r);
		err_set(err, "no memory");
		return NULL;
	}
	memory_init(&r->mem, RULES_MAX_MEMORY);
	if (parse_text(r, "built-in", builtin_types, strlen(builtin_types), err) < 0) {
		rules_free(r);
		return NULL;
	}
	r->problem = rules_find(r, "problem")->id;
	return r;
}

struct rules *rules_load_text(const char *name, const char *text, size_t len, struct errbuf *err)
{
	struct rules *r = create(err);

	if (!r)
		return NULL;
	if (len > RULES_MAX_FILE)
		err_set(err, "%s: a file of rules has at most %u bytes", name, RULES_MAX_FILE);
	else if (parse_text(r, name, text, len, err) == 0 && rules_check(r, err) == 0)
		return r;
	rules_free(r);
	return NULL;
}

struct rules *rules_load(const char *path, struct errbuf *err)
{
	return rules_load_in_words(path, NULL, err);
}

struct rules *rules_load_in_words(const char *path, const char *(*translate)(const char *text), struct errbuf *err)
{
	struct rules *r = create(err);

	if (r)
		r->translate = translate;
	if (r && (rules_parse_file(r, path, err) < 0 || rules_check(r, err) < 0)) {
		rules_free(r);
		return NULL;
	}
	return r;
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	memory_free(&r->mem);
	strings_free(&r->text);
	free(r);
}
