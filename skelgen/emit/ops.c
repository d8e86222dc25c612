/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Emitted source to skel.ops: declarations, statements, and the file's layout. Expressions are in ops_expr.c. */
#include "skelgen/emit/ops.h"

#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/ops_work.h"

/* What is known of the program besides its code. */
struct ops_program {
	uint64_t field[OPS_F_N];
	struct token name;
	bool have_run, have_name;
};

/* ---- shared with ops_expr.c ---- */

void ops_fail(struct ops_work *w, const char *what)
{
	const struct token *t = &w->lex.now;

	if (!w->failed)
		err_set(w->err, "skel.c, line %u: '%.*s' %s", t->line, (int)(t->n < 60 ? t->n : 60), t->text, what);
	w->failed = true;
}

void ops_expect(struct ops_work *w, const char *text)
{
	char what[64] = "stands where there should be ";

	if (!w->failed && lex_skip(&w->lex, text))
		return;
	strncat(what, text, sizeof what - strlen(what) - 1);
	ops_fail(w, what);
}

void ops_put(struct ops_work *w, struct ops_words *to, uint64_t word)
{
	if (to->n == to->cap) {
		size_t cap = to->cap > 0 ? 2 * to->cap : 256;
		uint64_t *p = realloc(to->w, cap * sizeof *p);

		if (p == NULL) {
			ops_fail(w, "needs memory that there is not");
			return;
		}
		to->w = p;
		to->cap = cap;
	}
	to->w[to->n++] = word;
}

/* ---- arrays ---- */

/* Begin one: its place. The values follow. */
static uint32_t array_begin(struct ops_work *w)
{
	ops_put(w, &w->array, 0);
	return (uint32_t)w->array.n - 1;
}

/* Put value number i. */
static void array_value(struct ops_work *w, char kind, uint64_t i, int64_t v)
{
	unsigned per_word = kind == 'A' ? 1 : kind == 'I' ? 2 : 8, at = (unsigned)(i % per_word);

	if (at == 0)
		ops_put(w, &w->values, 0);
	if (w->failed)
		return;
	char *to = (char *)&w->values.w[w->values.n - 1];

	if (kind == 'A')
		memcpy(to, &v, sizeof v);
	else if (kind == 'I')
		((int32_t *)to)[at] = (int32_t)v;
	else
		to[at] = (char)v;
}

static void array_end(struct ops_work *w, uint32_t place, char kind, uint64_t n)
{
	if (!w->failed)
		w->array.w[place] = (uint64_t)(unsigned char)kind | n << 8;
}

uint32_t ops_array_read(struct ops_work *w, char kind)
{
	uint32_t place = array_begin(w);
	uint64_t n = 0;

	while (!w->failed && !lex_is(&w->lex, "}")) {
		bool minus = lex_skip(&w->lex, "-");

		if (w->lex.now.kind != TOKEN_INT)
			ops_fail(w, "is not an integer");
		array_value(w, kind, n++, minus ? -w->lex.now.i : w->lex.now.i);
		lex_next(&w->lex);
		if (!lex_skip(&w->lex, ","))
			break;
	}
	ops_expect(w, "}");
	array_end(w, place, kind, n);
	return place;
}

/* One string in several pieces. */
static uint32_t string_read(struct ops_work *w)
{
	uint32_t place = array_begin(w);
	uint64_t n = 0;

	for (; !w->failed && w->lex.now.kind == TOKEN_STRING; lex_next(&w->lex))
		for (size_t i = 0; i < w->lex.now.n; i++)
			array_value(w, 'B', n++, w->lex.now.text[i]);
	array_end(w, place, 'B', n);
	return place;
}

/* arrayN or ranksN stands for this array. */
static void array_name(struct ops_work *w, const struct token *name, uint32_t place)
{
	unsigned long k = name->n > 5 ? strtoul(name->text + 5, NULL, 10) : UINT32_MAX;

	if (w->failed || k >= UINT32_MAX / 4)
		return ops_fail(w, "is not a numbered array");
	if (k >= w->n_array_of) {
		uint32_t n = 2 * (uint32_t)k + 16, *p = realloc(w->array_of, n * sizeof *p);

		if (p == NULL)
			return ops_fail(w, "needs memory that there is not");
		memset(p + w->n_array_of, 0, (n - w->n_array_of) * sizeof *p);
		w->array_of = p;
		w->n_array_of = n;
	}
	w->array_of[k] = place + 1;
}

/* ---- statements ---- */

static void block(struct ops_work *w);

/* "for (" was read. */
static void loop(struct ops_work *w)
{
	if (lex_skip(&w->lex, "long")) { /* long i1 = 0; i1 < count; i1++ */
		lex_next(&w->lex);
		ops_expect(w, "=");
		lex_next(&w->lex);
		ops_expect(w, ";");
		lex_next(&w->lex);
		ops_expect(w, "<");
		ops_expression(w);
		ops_expect(w, ";");
		lex_next(&w->lex);
		ops_expect(w, "++");
		ops_emit(w, OPS_FOR, 0, 0);
	} else { /* skel_loop(id, total, run); skel_next(id); */
		ops_expression(w);
		ops_expect(w, ";");
		ops_expect(w, "skel_next");
		ops_expect(w, "(");
		ops_emit(w, OPS_LOOP, 0, (uint32_t)w->lex.now.i);
		lex_next(&w->lex);
		ops_expect(w, ")");
		ops_expect(w, ";");
	}
	ops_expect(w, ")");
	block(w);
}

/* "if (" was read. */
static void condition(struct ops_work *w)
{
	ops_expression(w);
	ops_expect(w, ")");
	ops_emit(w, OPS_IF, 0, 0);
	block(w);
	if (lex_skip(&w->lex, "else")) {
		ops_emit(w, OPS_ELSE, 0, 0);
		block(w);
	}
}

/* "{ const int64_t *v = skel_values(3); ... }" */
static void with_values(struct ops_work *w)
{
	for (const char *const *s = (const char *const[]){"const", "int64_t", "*", "v", "=", "skel_values", "(", NULL};
	     *s != NULL; s++)
		ops_expect(w, *s);
	ops_emit(w, OPS_VALUES, 0, (uint32_t)w->lex.now.i);
	lex_next(&w->lex);
	ops_expect(w, ")");
	ops_expect(w, ";");
}

static void simple(struct ops_work *w)
{
	ops_expression(w);
	if (!w->failed && lex_skip(&w->lex, "=")) {
		/* The left side was read as a value; what stays of it is the place in type[]. */
		if (w->code.n == 0 || w->code.w[w->code.n - 1] != OPS_WORD(OPS_HANDLE, 0, OPS_TYPE))
			return ops_fail(w, "is assigned to what is not a datatype");
		w->code.n--;
		ops_expression(w);
		ops_emit(w, OPS_SET_TYPE, 0, 0);
	} else {
		ops_emit(w, OPS_DO, 0, 0);
	}
	ops_expect(w, ";");
}

static void statement(struct ops_work *w)
{
	if (lex_skip(&w->lex, "for")) {
		ops_expect(w, "(");
		loop(w);
	} else if (lex_skip(&w->lex, "if")) {
		ops_expect(w, "(");
		condition(w);
	} else if (lex_is(&w->lex, "{")) {
		block(w);
	} else if (lex_skip(&w->lex, "(")) { /* (void)rank; */
		for (int i = 0; i < 3; i++)
			lex_next(&w->lex);
		ops_expect(w, ";");
	} else {
		simple(w);
	}
}

static void block(struct ops_work *w)
{
	if (++w->depth > OPS_MAX_DEPTH)
		return ops_fail(w, "is nested too deeply");
	ops_expect(w, "{");
	if (lex_is(&w->lex, "const"))
		with_values(w);
	while (!w->failed && !lex_is(&w->lex, "}") && w->lex.now.kind != TOKEN_END)
		statement(w);
	ops_expect(w, "}");
	ops_emit(w, OPS_END, 0, 0);
	w->depth--;
}

/* ---- declarations ---- */

/* To the end of the balanced parentheses or braces that begin here. */
static void balanced_skip(struct ops_work *w, struct token *thread_level)
{
	int open = 0;

	do {
		open += lex_is(&w->lex, "(") || lex_is(&w->lex, "{");
		open -= lex_is(&w->lex, ")") || lex_is(&w->lex, "}");
		if (w->lex.now.n > 11 && memcmp(w->lex.now.text, "MPI_THREAD_", 11) == 0)
			*thread_level = w->lex.now;
		lex_next(&w->lex);
	} while (open > 0 && w->lex.now.kind != TOKEN_END);
}

static const struct {
	const char *name;
	bool real;
} fields[] = {
#define IS_INT(name)  {#name, false},
#define IS_REAL(name) {#name, true},
	OPS_PROGRAM(IS_INT, IS_REAL)
};

static void field_set(struct ops_work *w, struct ops_program *p, const struct token *name)
{
	const struct token *t = &w->lex.now;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strlen(fields[i].name) != name->n || memcmp(fields[i].name, name->text, name->n) != 0)
			continue;
		if (t->kind != TOKEN_INT && t->kind != TOKEN_REAL)
			return ops_fail(w, "is not a number");
		if (fields[i].real)
			memcpy(&p->field[i], &t->d, sizeof t->d);
		else
			p->field[i] = (uint64_t)t->i;
		return;
	}
	if (name->n == 4 && memcmp(name->text, "name", 4) == 0 && t->kind == TOKEN_STRING) {
		p->name = *t;
		p->have_name = true;
	} else if (name->n < 4 || memcmp(name->text, "data", 4) != 0) {
		ops_fail(w, "belongs to a field that ops.h does not have");
	}
}

/* "struct skel_program program" was begun. */
static void program_read(struct ops_work *w, struct ops_program *p)
{
	for (const char *const *s = (const char *const[]){"struct", "skel_program", "program", "=", "{", NULL}; *s != NULL;
	     s++)
		ops_expect(w, *s);
	while (!w->failed && lex_skip(&w->lex, ".")) {
		struct token name = w->lex.now;

		lex_next(&w->lex);
		ops_expect(w, "=");
		field_set(w, p, &name);
		lex_next(&w->lex);
		if (!lex_skip(&w->lex, ","))
			break;
	}
	ops_expect(w, "}");
}

/* "static const" was read. */
static void constant_read(struct ops_work *w, struct ops_program *p)
{
	struct token name;
	bool string = lex_is(&w->lex, "char");

	if (lex_is(&w->lex, "struct")) {
		program_read(w, p);
	} else {
		lex_next(&w->lex);
		name = w->lex.now;
		lex_next(&w->lex);
		ops_expect(w, "[");
		ops_expect(w, "]");
		ops_expect(w, "=");
		if (!string)
			ops_expect(w, "{");
		array_name(w, &name, string ? string_read(w) : ops_array_read(w, 'I'));
	}
	ops_expect(w, ";");
}

static void level_set(struct ops_program *p, const struct token *level)
{
	static const char *const names[] = {"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};

	for (uint64_t i = 0; level->text != NULL && i < 4; i++)
		if (strlen(names[i]) + 11 == level->n && memcmp(names[i], level->text + 11, level->n - 11) == 0)
			p->field[OPS_F_thread_level] = i;
}

static void source_read(struct ops_work *w, struct ops_program *p)
{
	struct token level = {.text = NULL};

	while (!w->failed && w->lex.now.kind != TOKEN_END) {
		if (lex_skip(&w->lex, "__asm__")) {
			balanced_skip(w, &level);
			ops_expect(w, ";");
		} else if (lex_skip(&w->lex, "extern")) {
			while (w->lex.now.kind != TOKEN_END && !lex_skip(&w->lex, ";"))
				lex_next(&w->lex);
		} else if (lex_skip(&w->lex, "static")) {
			if (lex_skip(&w->lex, "const")) {
				constant_read(w, p);
				continue;
			}
			ops_expect(w, "void");
			ops_expect(w, "run");
			balanced_skip(w, &level);
			block(w);
			p->have_run = true;
		} else {
			ops_expect(w, "int");
			ops_expect(w, "main");
			balanced_skip(w, &level);
			balanced_skip(w, &level);
		}
	}
	level_set(p, &level);
	if (!w->failed && (!p->have_run || !p->have_name))
		ops_fail(w, "ends the source without the program or its name");
}

/* ---- the file ---- */

static uint64_t *words_copy(uint64_t *to, const uint64_t *from, size_t n)
{
	if (n > 0)
		memcpy(to, from, n * sizeof *to);
	return to + n;
}

static int layout(const struct ops_work *w, const struct ops_program *p, const uint64_t *data, size_t n_data,
		  uint64_t **out, size_t *n_out, struct errbuf *err)
{
	/* run()'s own block begins with nothing, so its end goes. */
	size_t name = p->name.n / 8 + 1, code = w->code.n - 1;
	size_t n = OPS_HEAD + name + w->array.n + w->values.n + code + n_data;
	uint64_t *f = n <= OPS_MAX_WORDS ? calloc(n, sizeof *f) : NULL, *at;

	if (f == NULL)
		return err_set(err, "no memory for %zu operations", code);
	f[OPS_H_MAGIC] = OPS_MAGIC;
	f[OPS_H_VERSION] = OPS_VERSION;
	f[OPS_H_WORDS] = n;
	f[OPS_H_NAME] = name;
	f[OPS_H_ARRAYS] = w->array.n;
	f[OPS_H_VALUES] = w->values.n;
	f[OPS_H_CODE] = code;
	f[OPS_H_DATA] = n_data;
	memcpy(f + OPS_H_FIELDS, p->field, sizeof p->field);
	at = f + OPS_HEAD;
	memcpy(at, p->name.text, p->name.n);
	at += name;
	at = words_copy(at, w->array.w, w->array.n);
	at = words_copy(at, w->values.w, w->values.n);
	at = words_copy(at, w->code.w, code);
	words_copy(at, data, n_data);
	f[OPS_H_HASH] = ops_hash(f, n);
	*out = f;
	*n_out = n;
	return 0;
}

int skel_ops_compile(const char *source, const uint64_t *data, size_t n_data, uint64_t **words, size_t *n_words,
		     struct errbuf *err)
{
	struct ops_work w = {.err = err};
	struct ops_program p = {.have_run = false};
	struct ops_file checked;
	const char *why;
	int rv = -1;

	*words = NULL;
	lex_open(&w.lex, source);
	source_read(&w, &p);
	if (!w.failed && layout(&w, &p, data, n_data, words, n_words, err) == 0) {
		rv = ops_check(*words, *n_words, &checked, &why);
		if (rv != 0)
			err_set(err, "the operations of the skeleton cannot be run: %s", why);
		else
			ops_file_free(&checked);
	}
	if (rv != 0) {
		free(*words);
		*words = NULL;
	}
	free(w.code.w);
	free(w.array.w);
	free(w.values.w);
	free(w.array_of);
	return rv;
}
