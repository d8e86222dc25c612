/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations of both languages, and files that include others: see parse.h. */
#include "expert/lang/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clean.h"
#include "expert/lang/translate.h"

struct rules_file_id {
	const struct rules_file_id *outer;
	dev_t dev;
	ino_t ino;
};

int rules_expected(struct rules_parser *p, const char *what)
{
	char word[96];

	if (p->x.failed)
		return -1;
	return rules_error(p->r, p->err, p->x.pos, "%s found, %s expected", rules_lexer_word(&p->x, word, sizeof(word)), what);
}

int rules_take(struct rules_parser *p, uint8_t word)
{
	if (p->x.word != word)
		return rules_expected(p, rules_word_name(word));
	rules_lexer_next(&p->x);
	return p->x.failed ? -1 : 0;
}

int rules_take_name(struct rules_parser *p, const char *name)
{
	char what[RULES_MAX_NAME + 2];

	if (!rules_lexer_is(&p->x, name)) {
		snprintf(what, sizeof(what), "'%s'", name);
		return rules_expected(p, what);
	}
	rules_lexer_next(&p->x);
	return p->x.failed ? -1 : 0;
}

static bool reserved(const struct rules_lexer *x)
{
	static const char *const words[] = {"and", "or", "not", "true", "false", "where", "when", "assert", "retract", "modify",
					    "struct", "parameters"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (rules_lexer_is(x, words[i]))
			return true;
	return false;
}

const char *rules_own_name(struct rules_parser *p, const char *what)
{
	char *s;

	if (p->x.word != RW_NAME) {
		rules_expected(p, what);
		return NULL;
	}
	if (reserved(&p->x)) {
		rules_error(p->r, p->err, p->x.pos, "'%.*s' is a word of the language; %s expected", (int)p->x.len, p->x.text, what);
		return NULL;
	}
	s = memory_copy(&p->r->mem, p->x.text, p->x.len);
	if (!s)
		rules_error(p->r, p->err, p->x.pos, "the rules need more than %u MiB of memory", RULES_MAX_MEMORY >> 20);
	rules_lexer_next(&p->x);
	return p->x.failed ? NULL : s;
}

static const char *own_string(struct rules_parser *p)
{
	size_t len;
	char *s;

	if (p->x.word != RW_STRING) {
		rules_expected(p, "a comment in quotes");
		return NULL;
	}
	s = rules_string_text(p, p->x.text, p->x.len, &len);
	rules_lexer_next(&p->x);
	return s;
}

static void *parser_room(struct rules_parser *p, size_t n, size_t size)
{
	void *m = memory_alloc(&p->r->mem, n * size);

	if (!m)
		rules_error(p->r, p->err, p->x.pos, "the rules need more than %u MiB of memory", RULES_MAX_MEMORY >> 20);
	return m;
}

/* ---- what both languages make ---- */

static struct rules_struct *new_struct(struct rules_parser *p, struct rules_pos pos, const char *name)
{
	const struct rules_struct *old = rules_find(p->r, name);
	struct rules_struct *s;

	if (old) {
		if (old->builtin)
			rules_error(p->r, p->err, pos, "'%s' is the name of a built-in structure", name);
		else
			rules_error(p->r, p->err, pos, "'%s' is declared twice: before at %s:%u", name,
				    p->r->file[old->pos.file], old->pos.line);
		return NULL;
	}
	if (p->r->n_type == RULES_MAX_STRUCTS) {
		rules_error(p->r, p->err, pos, "more than %d structures", RULES_MAX_STRUCTS);
		return NULL;
	}
	s = parser_room(p, 1, sizeof(*s));
	if (!s)
		return NULL;
	s->name = name;
	s->pos = pos;
	s->builtin = pos.file == 0;
	s->id = p->r->n_type;
	p->r->type[p->r->n_type++] = s;
	return s;
}

static struct rules_rule *new_rule(struct rules_parser *p, struct rules_pos pos, const char *comment, enum rule_form form)
{
	struct rules_rule *u;

	if (p->r->n_rule == RULES_MAX_RULES) {
		rules_error(p->r, p->err, pos, "more than %d rules", RULES_MAX_RULES);
		return NULL;
	}
	u = parser_room(p, 1, sizeof(*u));
	if (!u)
		return NULL;
	u->pos = pos;
	u->comment = comment;
	u->form = (uint8_t)form;
	u->pattern = parser_room(p, RULES_MAX_PATTERNS, sizeof(*u->pattern));
	u->action = parser_room(p, RULES_MAX_ACTIONS, sizeof(*u->action));
	if (!u->pattern || !u->action)
		return NULL;
	p->r->rule[p->r->n_rule++] = u;
	return u;
}

static struct rules_pattern *new_pattern(struct rules_parser *p, struct rules_rule *u)
{
	struct rules_pattern *t;

	if (u->n_pattern == RULES_MAX_PATTERNS) {
		rules_error(p->r, p->err, p->x.pos, "a rule joins at most %d structures", RULES_MAX_PATTERNS);
		return NULL;
	}
	t = &u->pattern[u->n_pattern++];
	t->pos = p->x.pos;
	return t;
}

static struct rules_action *new_action(struct rules_parser *p, struct rules_rule *u, enum action_kind kind)
{
	struct rules_action *a;

	if (u->n_action == RULES_MAX_ACTIONS) {
		rules_error(p->r, p->err, p->x.pos, "a rule has at most %d actions", RULES_MAX_ACTIONS);
		return NULL;
	}
	a = &u->action[u->n_action++];
	a->kind = (uint8_t)kind;
	a->pos = p->x.pos;
	return a;
}

/* "(" [name "=" expression {"," name "=" expression}] ")" */
static int parse_sets(struct rules_parser *p, struct rules_action *a)
{
	if (rules_take(p, RW_LPAREN) < 0)
		return -1;
	a->set = parser_room(p, RULES_MAX_PARAMS, sizeof(*a->set));
	if (!a->set)
		return -1;
	while (p->x.word != RW_RPAREN) {
		struct rules_set *s;

		if (a->n_set == RULES_MAX_PARAMS)
			return rules_error(p->r, p->err, p->x.pos, "more than %d parameters", RULES_MAX_PARAMS);
		s = &a->set[a->n_set++];
		s->pos = p->x.pos;
		s->name = rules_own_name(p, "the name of a parameter");
		if (!s->name || rules_take(p, RW_ASSIGN) < 0)
			return -1;
		rules_translate_word(p, s->name);
		s->value = rules_parse_expr(p);
		if (!s->value)
			return -1;
		if (p->x.word != RW_COMMA)
			break;
		rules_lexer_next(&p->x);
	}
	return rules_take(p, RW_RPAREN);
}

/* all N by E {, E} */
static int parse_group(struct rules_parser *p, struct rules_pattern *t)
{
	rules_lexer_next(&p->x);
	t->all = rules_parse_expr(p);
	if (!t->all || rules_take_name(p, "by") < 0)
		return -1;
	t->by = parser_room(p, RULES_MAX_ARGS, sizeof(*t->by));
	if (!t->by)
		return -1;
	if (rules_take(p, RW_LPAREN) < 0)
		return -1;
	for (;;) {
		if (t->n_by == RULES_MAX_ARGS)
			return rules_error(p->r, p->err, p->x.pos, "more than %d expressions after 'by'", RULES_MAX_ARGS);
		t->by[t->n_by] = rules_parse_expr(p);
		if (!t->by[t->n_by++])
			return -1;
		if (p->x.word != RW_COMMA)
			return rules_take(p, RW_RPAREN);
		rules_lexer_next(&p->x);
	}
}

/* ---- declare ... ---- */

/* [shared [(N)]] TYPE as NAME [all N by (E, ...)] */
static int parse_member(struct rules_parser *p, struct rules_rule *u)
{
	struct rules_pattern *t = new_pattern(p, u);

	if (!t)
		return -1;
	t->waits = true;
	if (rules_lexer_is(&p->x, "shared")) {
		t->shared = true;
		rules_lexer_next(&p->x);
		if (p->x.word == RW_LPAREN) {
			rules_lexer_next(&p->x);
			t->uses = rules_parse_expr(p);
			if (!t->uses || rules_take(p, RW_RPAREN) < 0)
				return -1;
		}
	}
	t->pos = p->x.pos;
	t->type_name = rules_own_name(p, "the type of a member");
	if (!t->type_name || rules_take_name(p, "as") < 0)
		return -1;
	t->name = rules_own_name(p, "a name for the member");
	if (!t->name)
		return -1;
	return rules_lexer_is(&p->x, "all") ? parse_group(p, t) : 0;
}

/* [when CONDITION] parameters (...). `makes`: name of the structure that the rule makes. */
static int parse_when(struct rules_parser *p, struct rules_rule *u, const char *makes)
{
	struct rules_action *a;

	if (rules_lexer_is(&p->x, "when")) {
		rules_lexer_next(&p->x);
		u->where = rules_parse_expr(p);
		if (!u->where)
			return -1;
	}
	if (!rules_lexer_is(&p->x, "parameters"))
		return rules_expected(p, u->where ? "an operator or 'parameters'" : "'when' or 'parameters'");
	a = new_action(p, u, AK_ASSERT);
	rules_lexer_next(&p->x);
	if (!a || parse_sets(p, a) < 0)
		return -1;
	a->name = makes;
	return rules_take(p, RW_SEMICOLON);
}

static int parse_composite(struct rules_parser *p, struct rules_pos pos)
{
	struct rules_pos name_pos;
	struct rules_struct *s;
	struct rules_rule *u;
	const char *name;

	rules_lexer_next(&p->x);
	if (rules_take_name(p, "event") < 0)
		return -1;
	name_pos = p->x.pos;
	name = rules_own_name(p, "the name of the composite event");
	s = name ? new_struct(p, name_pos, name) : NULL;
	u = s ? new_rule(p, pos, name, RF_COMPOSITE) : NULL;
	if (!u || rules_take_name(p, "member") < 0 || rules_take(p, RW_LPAREN) < 0)
		return -1;
	s->composite = true;
	s->comment = "";
	s->rule = p->r->n_rule - 1;
	do {
		if (parse_member(p, u) < 0)
			return -1;
		if (p->x.word != RW_COMMA)
			break;
		rules_lexer_next(&p->x);
	} while (p->x.word != RW_RPAREN);
	if (rules_take(p, RW_RPAREN) < 0)
		return -1;
	return parse_when(p, u, name);
}

static int parse_problem(struct rules_parser *p, struct rules_pos pos)
{
	struct rules_rule *u = new_rule(p, pos, NULL, RF_PROBLEM);
	struct rules_pattern *t = u ? new_pattern(p, u) : NULL;

	if (!t)
		return -1;
	rules_lexer_next(&p->x);
	if (rules_take_name(p, "for") < 0)
		return -1;
	t->pos = p->x.pos;
	t->type_name = rules_own_name(p, "the name of a composite event");
	u->comment = t->type_name;
	if (!t->type_name)
		return -1;
	return parse_when(p, u, "problem");
}

static int parse_declare(struct rules_parser *p)
{
	struct rules_pos pos = p->x.pos;

	rules_lexer_next(&p->x);
	if (rules_lexer_is(&p->x, "composite"))
		return parse_composite(p, pos);
	if (rules_lexer_is(&p->x, "problem"))
		return parse_problem(p, pos);
	return rules_expected(p, "'composite event' or 'problem for'");
}

/* ---- defstruct, defrule ---- */

static int parse_type(struct rules_parser *p, uint8_t *type)
{
	for (uint8_t t = 0; t < RT_N; t++)
		if (rules_lexer_is(&p->x, rules_type_name(t))) {
			*type = t;
			rules_lexer_next(&p->x);
			return 0;
		}
	return rules_expected(p, "a type: int, time, double, boolean or string");
}

/* param a, b type t [optional] */
static int parse_params(struct rules_parser *p, struct rules_struct *s)
{
	uint32_t first = s->n_param;
	uint8_t type = RT_INT;
	bool optional;

	do {
		struct rules_pos pos;
		const char *name;

		rules_lexer_next(&p->x);
		pos = p->x.pos;
		name = rules_own_name(p, "the name of a parameter");
		if (!name)
			return -1;
		for (uint32_t i = 0; i < s->n_param; i++)
			if (!strcmp(s->param[i].name, name))
				return rules_error(p->r, p->err, pos, "'%s' has two parameters '%s'", s->name, name);
		if (s->n_param == RULES_MAX_PARAMS)
			return rules_error(p->r, p->err, pos, "'%s' has more than %d parameters", s->name, RULES_MAX_PARAMS);
		s->param[s->n_param++] = (struct rules_param){.name = name, .pos = pos};
	} while (p->x.word == RW_COMMA);
	if (rules_take_name(p, "type") < 0 || parse_type(p, &type) < 0)
		return -1;
	optional = rules_lexer_is(&p->x, "optional");
	if (optional)
		rules_lexer_next(&p->x);
	for (uint32_t i = first; i < s->n_param; i++) {
		s->param[i].type = type;
		s->param[i].optional = optional;
	}
	return 0;
}

static int parse_defstruct(struct rules_parser *p)
{
	struct rules_struct *s;
	struct rules_pos pos;
	const char *name;
	uint8_t category;

	rules_lexer_next(&p->x);
	for (category = 0; category <= SC_OBSERVATION && !rules_lexer_is(&p->x, rules_category_name(category)); category++)
		;
	if (category > SC_OBSERVATION)
		return rules_expected(p, "'event', 'state' or 'observation'");
	rules_lexer_next(&p->x);
	pos = p->x.pos;
	name = rules_own_name(p, "the name of the structure");
	s = name ? new_struct(p, pos, name) : NULL;
	if (!s)
		return -1;
	s->category = category;
	s->comment = own_string(p);
	s->param = parser_room(p, RULES_MAX_PARAMS, sizeof(*s->param));
	if (!s->comment || !s->param)
		return -1;
	while (rules_lexer_is(&p->x, "param"))
		if (parse_params(p, s) < 0)
			return -1;
	if (p->x.word != RW_SEMICOLON)
		return rules_expected(p, "'param' or ';'");
	return rules_take(p, RW_SEMICOLON);
}

/* struct NAME type TYPE [all N by (E, ...)] */
static int parse_binding(struct rules_parser *p, struct rules_rule *u)
{
	struct rules_pattern *t;

	rules_lexer_next(&p->x);
	t = new_pattern(p, u);
	if (!t)
		return -1;
	t->name = rules_own_name(p, "a name for the structure");
	if (!t->name || rules_take_name(p, "type") < 0)
		return -1;
	t->pos = p->x.pos;
	t->type_name = rules_own_name(p, "the type of the structure");
	if (!t->type_name)
		return -1;
	return rules_lexer_is(&p->x, "all") ? parse_group(p, t) : 0;
}

static int parse_action(struct rules_parser *p, struct rules_rule *u)
{
	bool assert = rules_lexer_is(&p->x, "assert"), retract = rules_lexer_is(&p->x, "retract");
	struct rules_action *a;

	do {
		rules_lexer_next(&p->x);
		a = new_action(p, u, assert ? AK_ASSERT : retract ? AK_RETRACT : AK_MODIFY);
		if (!a)
			return -1;
		a->name = rules_own_name(p, assert ? "the type of the structure to assert" : "the name of a structure of this rule");
		if (!a->name)
			return -1;
	} while (retract && p->x.word == RW_COMMA);
	return retract ? 0 : parse_sets(p, a);
}

static bool at_action(const struct rules_parser *p)
{
	return rules_lexer_is(&p->x, "assert") || rules_lexer_is(&p->x, "retract") || rules_lexer_is(&p->x, "modify");
}

static int parse_defrule(struct rules_parser *p)
{
	struct rules_pos pos = p->x.pos;
	struct rules_rule *u;
	const char *comment;

	rules_lexer_next(&p->x);
	comment = own_string(p);
	u = comment ? new_rule(p, pos, comment, RF_RULE) : NULL;
	if (!u)
		return -1;
	if (!rules_lexer_is(&p->x, "struct"))
		return rules_expected(p, "'struct'");
	while (rules_lexer_is(&p->x, "struct"))
		if (parse_binding(p, u) < 0)
			return -1;
	if (rules_lexer_is(&p->x, "where")) {
		rules_lexer_next(&p->x);
		u->where = rules_parse_expr(p);
		if (!u->where)
			return -1;
	}
	if (!at_action(p))
		return rules_expected(p, u->where ? "an operator, 'assert', 'retract' or 'modify'" :
						    "'struct', 'where', 'assert', 'retract' or 'modify'");
	while (at_action(p))
		if (parse_action(p, u) < 0)
			return -1;
	if (p->x.word != RW_SEMICOLON)
		return rules_expected(p, "an action or ';'");
	return rules_take(p, RW_SEMICOLON);
}

/* ---- files ---- */

/* Clean the texts of rules, which are shown. The CR of a CRLF line end becomes a space. */
static void clean_all(char *text, size_t len)
{
	for (char *p = text; (p = memchr(p, '\r', len - (size_t)(p - text)));)
		*p = ' ';
	for (char *p = text; p < text + len; p += strlen(p) + 1)
		clean_text(p);
}

static char *read_all(const char *path, size_t *len, struct rules_file_id *id, struct errbuf *err)
{
	struct stat st;
	char *text = NULL;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*len = 0;
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(err, "%s: cannot open: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		err_set(err, "%s: is not a regular file", path);
	} else if (st.st_size > RULES_MAX_FILE) {
		err_set(err, "%s: a file of rules has at most %u bytes", path, RULES_MAX_FILE);
	} else if (!(text = malloc((size_t)st.st_size + 1))) {
		err_set(err, "%s: no memory", path);
	} else {
		id->dev = st.st_dev;
		id->ino = st.st_ino;
		while (*len < (size_t)st.st_size && (n = read(fd, text + *len, (size_t)st.st_size - *len)) > 0)
			*len += (size_t)n;
		if (n < 0) {
			err_set(err, "%s: %s", path, strerror(errno));
			free(text);
			text = NULL;
		} else {
			text[*len] = '\0';
			clean_all(text, *len);
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static int parse_path(struct rules_parser *outer, struct rules *r, const char *path, struct errbuf *err)
{
	struct rules_file_id id = {.outer = outer ? outer->reading : NULL};
	struct rules_parser p = {.r = r, .err = err, .path = path, .includes = outer ? outer->includes + 1 : 1, .reading = &id};
	char *text;
	size_t len;
	int rv;

	if (r->n_file == RULES_MAX_FILES)
		return err_set(err, "%s: more than %d files of rules", path, RULES_MAX_FILES);
	text = read_all(path, &len, &id, err);
	if (!text)
		return -1;
	for (const struct rules_file_id *f = id.outer; f; f = f->outer)
		if (f->dev == id.dev && f->ino == id.ino) {
			free(text);
			return err_set(err, "%s: this file includes itself", path);
		}
	p.path = r->file[r->n_file] = memory_copy(&r->mem, path, strlen(path));
	rules_lexer_open(&p.x, r, r->n_file++, text, len, err);
	rv = p.path ? rules_parse(&p) : err_set(err, "%s: no memory", path);
	free(text);
	return rv;
}

/* include "FILE"; beside the file that includes it, unless its path is absolute */
static int parse_include(struct rules_parser *p)
{
	struct rules_pos pos = p->x.pos;
	struct errbuf why;
	const char *name, *dir;
	char path[4096];
	struct stat a, b;
	int n;

	rules_lexer_next(&p->x);
	if (p->x.word != RW_STRING)
		return rules_expected(p, "the name of a file in quotes");
	name = own_string(p);
	if (!name || rules_take(p, RW_SEMICOLON) < 0)
		return -1;
	if (p->includes >= RULES_MAX_INCLUDES)
		return rules_error(p->r, p->err, pos, "more than %d files include each other", RULES_MAX_INCLUDES);
	dir = p->path ? strrchr(p->path, '/') : NULL;
	n = snprintf(path, sizeof(path), "%.*s%s", name[0] != '/' && dir ? (int)(dir - p->path + 1) : 0, p->path ? p->path : "",
		     name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return rules_error(p->r, p->err, pos, "the path is too long");
	for (uint32_t i = 1; i < p->r->n_file; i++) {
		bool open = false;

		if (stat(path, &a) < 0 || stat(p->r->file[i], &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
			continue;
		for (const struct rules_file_id *f = p->reading; f; f = f->outer)
			open |= f->dev == a.st_dev && f->ino == a.st_ino;
		if (!open)
			return 0;
	}
	if (parse_path(p, p->r, path, &why) < 0) {
		if (strncmp(why.text, path, strlen(path)) || why.text[strlen(path)] != ':' || why.text[strlen(path) + 1] != ' ')
			return err_set(p->err, "%s", why.text);
		return rules_error(p->r, p->err, pos, "%s", why.text);
	}
	return 0;
}

int rules_parse(struct rules_parser *p)
{
	while (p->x.word != RW_END) {
		int rv;

		if (rules_lexer_is(&p->x, "declare"))
			rv = parse_declare(p);
		else if (rules_lexer_is(&p->x, "defstruct"))
			rv = parse_defstruct(p);
		else if (rules_lexer_is(&p->x, "defrule"))
			rv = parse_defrule(p);
		else if (rules_lexer_is(&p->x, "include"))
			rv = parse_include(p);
		else
			rv = rules_expected(p, "'declare', 'defstruct', 'defrule' or 'include'");
		if (rv < 0)
			return -1;
	}
	return p->x.failed ? -1 : 0;
}

int rules_parse_file(struct rules *r, const char *path, struct errbuf *err)
{
	return parse_path(NULL, r, path, err);
}
