/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of rules about functions of the program: see own_rules.h. */
#include "cli/trace/own_rules.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define WORD_MAX 128
#define TYPE_MAX 512

struct parser {
	const char *file, *at, *end;
	uint32_t line, word_line;
	char word[WORD_MAX];  /* a name, or one character; "": the end of the file */
	struct errbuf *err;
};

__attribute__((format(printf, 2, 3))) static int fail(const struct parser *p, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(p->err, "%s:%u: %s", p->file, p->word_line, text);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_name(const char *word)
{
	return isalpha((unsigned char)word[0]) || word[0] == '_';
}

static void skip_blanks(struct parser *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '#' || (*p->at == '/' && p->end - p->at > 1 && p->at[1] == '/'))
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		if (p->at == p->end || !isspace((unsigned char)*p->at))
			return;
		p->line += *p->at == '\n';
	}
}

/* The next word. Returns -1 if it is too long or no text. */
static int next(struct parser *p)
{
	size_t n = 0;

	skip_blanks(p);
	p->word_line = p->line;
	p->word[0] = '\0';
	if (p->at == p->end)
		return 0;
	if (!isgraph((unsigned char)*p->at))
		return fail(p, "a byte that is no character of C");
	do {
		if (n == sizeof(p->word) - 1)
			return fail(p, "a name has at most %d characters", WORD_MAX - 1);
		p->word[n++] = *p->at++;
	} while (p->at < p->end && is_name_char(p->word[n - 1]) && is_name_char(*p->at));
	p->word[n] = '\0';
	return 0;
}

static bool is(const struct parser *p, const char *word)
{
	return !strcmp(p->word, word);
}

static int expected(const struct parser *p, const char *what)
{
	return fail(p, "%s%s%s found, %s expected", *p->word ? "'" : "", *p->word ? p->word : "the end of the file", *p->word ? "'" : "",
		    what);
}

static int take(struct parser *p, const char *word)
{
	char what[16];

	snprintf(what, sizeof(what), "'%s'", word);
	return is(p, word) ? next(p) : expected(p, what);
}

static char *copy(const struct parser *p, const char *s)
{
	char *t = strdup(s);

	if (!t)
		err_set(p->err, "no memory");
	return t;
}

/* Names and stars up to one of the characters: a type, and a name as the last of them. all: with the name. */
static int read_declaration(struct parser *p, const char *until, char all[TYPE_MAX], char type[TYPE_MAX], char name[WORD_MAX])
{
	size_t n = 0;

	all[0] = type[0] = name[0] = '\0';
	while (is_name(p->word) || is(p, "*")) {
		memcpy(type, all, n + 1);
		if (n + strlen(p->word) + 2 > TYPE_MAX)
			return fail(p, "this declaration is too long");
		n += (size_t)snprintf(all + n, TYPE_MAX - n, "%s%s", n ? " " : "", p->word);
		snprintf(name, WORD_MAX, "%s", is_name(p->word) ? p->word : "");
		if (next(p) < 0)
			return -1;
	}
	if (!*p->word || !strchr(until, p->word[0]))
		return fail(p, "'%s' found; a declaration has names and '*' only (give a function pointer as void *)",
			    *p->word ? p->word : "the end of the file");
	return 0;
}

static int read_params(struct parser *p, struct own_rule *r)
{
	char all[TYPE_MAX], type[TYPE_MAX], name[WORD_MAX];

	if (is(p, ")"))
		return next(p);
	for (;;) {
		if (read_declaration(p, ",)", all, type, name) < 0)
			return -1;
		if (!strcmp(all, "void") && !r->n_param && is(p, ")"))
			return next(p);
		if (!*name || !*type)
			return fail(p, "a parameter of %s lacks its type or its name: write for instance 'int n'", r->name);
		if (r->n_param == OWN_PARAMS_MAX)
			return fail(p, "%s has more than %d parameters", r->name, OWN_PARAMS_MAX);
		r->param[r->n_param] = copy(p, all);
		r->param_name[r->n_param] = copy(p, name);
		if (!r->param[r->n_param] || !r->param_name[r->n_param++])
			return -1;
		if (is(p, ")"))
			return next(p);
		if (next(p) < 0)
			return -1;
	}
}

static int find_param(struct parser *p, const struct own_rule *r, struct own_value *v)
{
	if (is(p, "return")) {
		v->param = r->n_param;
		return !strcmp(r->returns, "void") ? fail(p, "%s returns nothing", r->name) : 0;
	}
	for (v->param = 0; v->param < r->n_param; v->param++)
		if (is(p, r->param_name[v->param]))
			break;
	if (v->param == r->n_param)
		return fail(p, "%s has no parameter '%s'", r->name, p->word);
	if (v->is_pointed && !strchr(r->param[v->param], '*'))
		return fail(p, "'%s' is no pointer", p->word);
	if (!v->is_pointed && strchr(r->param[v->param], '*'))
		return fail(p, "'%s' is a pointer: INT(*%s) is the number that it points to", p->word, p->word);
	return 0;
}

/* NAME = INT ( [*] PARAMETER | return ) in|out */
static int read_value(struct parser *p, struct own_rule *r)
{
	struct own_value *v = &r->value[r->n_value];
	uint32_t same = 0;

	if (!is_name(p->word))
		return expected(p, "the name of a value, or '}'");
	for (uint32_t i = 0; i < r->n_value; i++)
		if (is(p, r->value[i].name))
			return fail(p, "a second value with the name '%s'", p->word);
	v->name = copy(p, p->word);
	if (!v->name)
		return -1;
	r->n_value++;
	if (next(p) < 0 || take(p, "=") < 0 || take(p, "INT") < 0 || take(p, "(") < 0)
		return -1;
	v->is_pointed = is(p, "*");
	if ((v->is_pointed && next(p) < 0) || find_param(p, r, v) < 0 || next(p) < 0 || take(p, ")") < 0)
		return -1;
	v->is_out = is(p, "out");
	if (!v->is_out && !is(p, "in"))
		return expected(p, "'in' (at the call) or 'out' (at the return)");
	if (!v->is_out && v->param == r->n_param)
		return fail(p, "what %s returns is not known at the call: 'out' expected", r->name);
	for (uint32_t i = 0; i < r->n_value; i++)
		same += r->value[i].is_out == v->is_out;
	if (same > TRACE_OWN_VALUES)
		return fail(p, "more than %d values at the %s", TRACE_OWN_VALUES, v->is_out ? "return" : "call");
	return next(p);
}

/* The tracer itself calls functions of the C library, and records those of MPI. */
static int check_name(const struct parser *p, const struct own_rules *all, const struct own_rule *r)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	bool is_libc = libc && dlsym(libc, r->name);

	if (libc)
		dlclose(libc);
	if (!strncmp(r->name, "MPI_", 4) || !strncmp(r->name, "PMPI_", 5))
		return fail(p, "%s: functions of MPI are recorded without a rule", r->name);
	if (is_libc)
		return fail(p, "%s is a function of the C library, which the tracer calls itself", r->name);
	for (const struct own_rule *o = all->rule; o < r; o++)
		if (!strcmp(o->name, r->name))
			return fail(p, "a second rule for %s; the first one is in line %u", r->name, o->line);
	return 0;
}

static int read_rule(struct parser *p, struct own_rules *all)
{
	char declared[TYPE_MAX], type[TYPE_MAX], name[WORD_MAX], text[2 * TRACE_OWN_TEXT];
	struct own_rule *r;

	if (all->n == OWN_RULES_MAX)
		return fail(p, "more than %d rules", OWN_RULES_MAX);
	if (ARRAY_ROOM(all->rule, all->cap, all->n + 1) != 0)
		return err_set(p->err, "no memory");
	r = &all->rule[all->n++];
	*r = (struct own_rule){.line = p->word_line};
	if (read_declaration(p, "(", declared, type, name) < 0)
		return -1;
	if (!*name || !*type)
		return fail(p, "a rule begins with a declaration in C, such as 'void time_step(int n)'");
	r->returns = copy(p, type);
	r->name = copy(p, name);
	if (!r->returns || !r->name || check_name(p, all, r) < 0 || take(p, "(") < 0 || read_params(p, r) < 0 || take(p, "{") < 0)
		return -1;
	while (!is(p, "}")) {
		if (read_value(p, r) < 0)
			return -1;
		if (!is(p, "}") && take(p, ",") < 0)
			return -1;
	}
	if (strlen(own_rule_text(r, text, sizeof(text))) >= TRACE_OWN_TEXT)
		return fail(p, "the names of %s and its values have more than %d characters", r->name, TRACE_OWN_TEXT - 1);
	return next(p);
}

int own_rules_parse(const char *file, const char *text, size_t len, struct own_rules *out, struct errbuf *err)
{
	struct parser p = {.file = file, .at = text, .end = text + len, .line = 1, .err = err};
	int rv = next(&p);

	*out = (struct own_rules){.file = strdup(file)};
	if (!out->file)
		rv = err_set(err, "no memory");
	while (rv == 0 && *p.word)
		rv = read_rule(&p, out);
	if (rv == 0 && !out->n)
		rv = err_set(err, "%s: no rule in it; a rule is such as: void time_step(int n) { n = INT(n) in }", file);
	if (rv < 0)
		own_rules_free(out);
	return rv;
}

int own_rules_read(const char *file, struct own_rules *out, struct errbuf *err)
{
	FILE *f = fopen(file, "re");
	char *text = f ? malloc(OWN_RULES_FILE + 1) : NULL;
	size_t n;
	int rv;

	*out = (struct own_rules){0};
	if (!text) {
		rv = err_set(err, "%s: cannot be read: %s", file, strerror(errno));
		goto out;
	}
	n = fread(text, 1, OWN_RULES_FILE + 1, f);
	if (ferror(f))
		rv = err_set(err, "%s: cannot be read: %s", file, strerror(errno));
	else if (n > OWN_RULES_FILE)
		rv = err_set(err, "%s: a file of rules has at most %u bytes", file, OWN_RULES_FILE);
	else
		rv = own_rules_parse(file, text, n, out, err);
out:
	free(text);
	if (f)
		fclose(f);
	return rv;
}

void own_rules_free(struct own_rules *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		free(r->rule[i].name);
		free(r->rule[i].returns);
		for (uint32_t k = 0; k < OWN_PARAMS_MAX; k++) {
			free(r->rule[i].param[k]);
			free(r->rule[i].param_name[k]);
		}
		for (uint32_t k = 0; k < r->rule[i].n_value; k++)
			free(r->rule[i].value[k].name);
	}
	free(r->rule);
	free(r->file);
	*r = (struct own_rules){0};
}

const char *own_rule_text(const struct own_rule *r, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%s(", r->name);

	for (int back = 0; back < 2; back++) {
		const char *comma = "";

		for (uint32_t i = 0; i < r->n_value && n < size; i++)
			if (r->value[i].is_out == (back == 1)) {
				n += (size_t)snprintf(out + n, size - n, "%s%s", comma, r->value[i].name);
				comma = ",";
			}
		if (n < size)
			n += (size_t)snprintf(out + n, size - n, back ? ")" : ";");
	}
	return out;
}
