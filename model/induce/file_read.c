/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model files are read: see file.h. Word by word; a count is believed only as far as the text that is left could hold it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/clean.h"
#include "model/induce/file_impl.h"

#define WORD_MAX 2048

struct reader {
	const char *at, *end;
	uint32_t line;
	bool failed; /* err is set then */
	struct model *m;
	struct errbuf *err;
	char word[WORD_MAX];
};

static void bad(struct reader *r, const char *what)
{
	if (!r->failed)
		err_set(r->err, "model file: line %u: %s", r->line, what);
	r->failed = true;
}

/* The next word, and the one blank or line end after it. */
static const char *next(struct reader *r)
{
	size_t n = 0;

	while (!r->failed && r->at < r->end && *r->at != ' ' && *r->at != '\n' && n + 1 < sizeof(r->word)) {
		if (*r->at < 0x21 || *r->at > 0x7e)
			bad(r, "a character that is not printable");
		r->word[n++] = *r->at++;
	}
	r->word[n] = '\0';
	if (r->failed || r->at == r->end || !n || (*r->at != ' ' && *r->at != '\n')) {
		bad(r, "a word is missing, or too long");
		r->word[0] = '\0';
		return r->word;
	}
	r->line += *r->at++ == '\n';
	return r->word;
}

/* Whether this word follows. */
static bool ahead(const struct reader *r, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(r->end - r->at) > n && !memcmp(r->at, word, n) && r->at[n] == ' ';
}

static void expect(struct reader *r, const char *word)
{
	if (strcmp(next(r), word)) {
		char text[64];

		snprintf(text, sizeof(text), "\"%s\" expected", word);
		bad(r, text);
	}
}

static uint64_t number_of(struct reader *r, const char *s, uint64_t max)
{
	uint64_t v = 0;

	if (!*s || strlen(s) > 20 || (*s == '0' && s[1]))
		bad(r, "a whole number expected");
	for (; !r->failed && *s; s++) {
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			bad(r, "a whole number expected");
	}
	if (v > max)
		bad(r, "a number is too large");
	return r->failed ? 0 : v;
}

static uint64_t whole(struct reader *r, uint64_t max)
{
	return number_of(r, next(r), max);
}

/* Of things of which each takes at least so many bytes. */
static uint32_t count(struct reader *r, uint32_t max, size_t bytes)
{
	uint64_t n = whole(r, max);

	if (n > (size_t)(r->end - r->at) / bytes + 1)
		bad(r, "more is announced than the file can hold");
	return r->failed ? 0 : (uint32_t)n;
}

static uint32_t index_or(struct reader *r, const char *none)
{
	const char *w = next(r);

	return strcmp(w, none) ? (uint32_t)number_of(r, w, UINT32_MAX - 1) : MODEL_NONE;
}

static double real(struct reader *r)
{
	const char *w = next(r);
	char *end;
	double x;

	if (w[strspn(w, "0123456789abcdefinpx.+-")])
		bad(r, "a number expected");
	x = strtod(w, &end);
	if (r->failed || *end || isnan(x)) {
		bad(r, "a number expected");
		return 0;
	}
	return x;
}

static uint8_t one_of(struct reader *r, const char *const *words, unsigned n)
{
	const char *w = next(r);

	for (unsigned i = 0; i < n; i++)
		if (words[i] && !strcmp(w, words[i]))
			return (uint8_t)i;
	bad(r, "a word that is not known");
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *name(struct reader *r)
{
	const char *w = next(r);
	char text[WORD_MAX];
	size_t n = 0;
	char *copy;

	for (; !r->failed && *w; w++) {
		int c = (unsigned char)*w;

		if (c == '%') {
			int a = hex(w[1]), b = a < 0 ? -1 : hex(w[2]);

			c = a * 16 + b;
			if (b < 0 || !c) {
				bad(r, "a name that is none");
				break;
			}
			w += 2;
		}
		text[n++] = (char)c;
	}
	text[n] = '\0';
	if (!r->failed && !clean_is_line(text))
		bad(r, "a name with control characters, or not in UTF-8");
	copy = r->failed ? NULL : model_strdup(r->m, text);
	if (!copy)
		bad(r, "no memory");
	return copy;
}

static void *alloc(struct reader *r, size_t n, size_t size)
{
	void *p = r->failed ? NULL : model_alloc(r->m, n, size);

	if (!p)
		bad(r, "no memory");
	return p;
}

static uint32_t operand(struct reader *r)
{
	const char *w = next(r);
	uint64_t i = number_of(r, *w ? w + 1 : w, MODEL_STAGE - 1);

	if (*w != 'f' && *w != 'g')
		bad(r, "an operand expected");
	return (uint32_t)i | (*w == 'g' ? MODEL_STAGE : 0);
}

static void fn_read(struct reader *r, struct model_fn *fn)
{
	fn->n_stages = count(r, MODEL_MAX_STAGES, 2);
	fn->stage = alloc(r, fn->n_stages, sizeof(*fn->stage));
	for (uint32_t s = 0; !r->failed && s < fn->n_stages; s++) {
		struct model_stage *st = &fn->stage[s];

		st->n_terms = count(r, MODEL_MAX_TERMS, 8);
		st->term = alloc(r, st->n_terms, sizeof(*st->term));
		for (uint32_t t = 0; !r->failed && t < st->n_terms; t++) {
			st->term[t].coef = real(r);
			st->term[t].n_x = (uint32_t)whole(r, 3);
			for (uint32_t k = 0; !r->failed && k < st->term[t].n_x; k++)
				st->term[t].x[k] = operand(r);
		}
	}
}

static void arc_read(struct reader *r, struct model_arc *a)
{
	static const char *const kind[] = {"main", "info"};

	expect(r, "arc");
	a->to = index_or(r, "end");
	a->info = one_of(r, kind, 2);
	a->seen = whole(r, UINT64_MAX);
	a->n_resets = count(r, MODEL_MAX_COUNTERS, 2);
	a->reset = alloc(r, a->n_resets, sizeof(*a->reset));
	for (uint32_t i = 0; !r->failed && i < a->n_resets; i++)
		a->reset[i] = (uint32_t)whole(r, UINT32_MAX);
	a->time_error_s = real(r);
	fn_read(r, &a->time);
	a->n_data = count(r, MODEL_MAX_NAMES, 12);
	a->data = alloc(r, a->n_data, sizeof(*a->data));
	for (uint32_t i = 0; !r->failed && i < a->n_data; i++) {
		expect(r, "data");
		a->data[i].var = (uint32_t)whole(r, UINT32_MAX);
		a->data[i].error = real(r);
		fn_read(r, &a->data[i].fn);
	}
}

static void choice_read(struct reader *r, struct model_choice *c)
{
	c->both = one_of(r, model_choice_word, 2);
	c->arc = (uint32_t)whole(r, UINT32_MAX);
	c->atom.kind = one_of(r, model_atom_word, MODEL_ATOM_KINDS);
	c->atom.x = (uint32_t)whole(r, UINT32_MAX);
	if (c->atom.kind >= MODEL_ATOM_ABOVE) {
		fn_read(r, &c->atom.fn);
		return;
	}
	c->atom.a = real(r);
	c->atom.b = real(r);
	c->atom.n = whole(r, UINT64_MAX);
}

static void node_read(struct reader *r, struct model_node *n)
{
	static const char *const class[] = {"S", "Pt", "Pd", "Ptd"};

	expect(r, "node");
	n->point = index_or(r, "-");
	n->callee = index_or(r, "-");
	n->class = one_of(r, class, MODEL_CLASSES);
	n->n_arcs = count(r, MODEL_MAX_ARCS, 20);
	n->n_choices = count(r, MODEL_MAX_CHOICES, 16);
	n->rest = one_of(r, model_rest_word, MODEL_RESTS);
	if (n->rest == MODEL_NEGATIVE)
		n->negative = (uint32_t)whole(r, UINT32_MAX);
	if (n->rest == MODEL_RANDOM)
		n->weight = alloc(r, n->n_arcs, sizeof(*n->weight));
	for (uint32_t i = 0; !r->failed && n->rest == MODEL_RANDOM && i < n->n_arcs; i++)
		n->weight[i] = real(r);
	if (n->rest == MODEL_UNKNOWN)
		n->reason = name(r);
	if (ahead(r, "doubts")) {
		expect(r, "doubts");
		n->n_doubts = count(r, MODEL_MAX_CHOICES, 10);
	}
	n->doubt = alloc(r, n->n_doubts, sizeof(*n->doubt));
	n->arc = alloc(r, n->n_arcs, sizeof(*n->arc));
	n->choice = alloc(r, n->n_choices, sizeof(*n->choice));
	for (uint32_t i = 0; !r->failed && i < n->n_arcs; i++)
		arc_read(r, &n->arc[i]);
	for (uint32_t i = 0; !r->failed && i < n->n_choices; i++)
		choice_read(r, &n->choice[i]);
	for (uint32_t i = 0; !r->failed && i < n->n_doubts; i++) {
		expect(r, "doubt");
		n->doubt[i].first = (uint32_t)whole(r, UINT32_MAX);
		n->doubt[i].second = (uint32_t)whole(r, UINT32_MAX);
	}
}

static void graph_read(struct reader *r, struct model_graph *g)
{
	expect(r, "graph");
	g->n_nodes = count(r, MODEL_MAX_NODES, 20);
	g->n_counters = count(r, MODEL_MAX_COUNTERS, 9);
	g->n_features = count(r, MODEL_MAX_FEATURES, 12);
	g->node = alloc(r, g->n_nodes, sizeof(*g->node));
	g->counter = alloc(r, g->n_counters, sizeof(*g->counter));
	g->feature = alloc(r, g->n_features, sizeof(*g->feature));
	for (uint32_t i = 0; !r->failed && i < g->n_counters; i++) {
		expect(r, "counter");
		g->counter[i] = (uint32_t)whole(r, UINT32_MAX);
	}
	for (uint32_t i = 0; !r->failed && i < g->n_features; i++) {
		expect(r, "feature");
		g->feature[i].op = one_of(r, model_feature_word, MODEL_FEATURE_OPS);
		g->feature[i].a = (uint32_t)whole(r, UINT32_MAX);
		g->feature[i].b = (uint32_t)whole(r, UINT32_MAX);
	}
	for (uint32_t i = 0; !r->failed && i < g->n_nodes; i++)
		node_read(r, &g->node[i]);
}

static void names_read(struct reader *r)
{
	struct model *m = r->m;
	static const char *const known[] = {"unknown", "known"};

	for (uint32_t i = 0; !r->failed && i < m->n_points; i++) {
		expect(r, "point");
		m->point[i] = name(r);
	}
	for (uint32_t i = 0; !r->failed && i < m->n_inputs; i++) {
		struct model_input *in = &m->input[i];

		expect(r, "input");
		in->name = name(r);
		in->kind = one_of(r, model_input_word, MODEL_INPUT_KINDS);
		in->lo = real(r);
		in->hi = real(r);
		if (in->kind == MODEL_INPUT_TIED) {
			in->tied_to = (uint32_t)whole(r, UINT32_MAX);
			in->scale = real(r);
			in->shift = real(r);
		}
	}
	for (uint32_t i = 0; !r->failed && i < m->n_vars; i++) {
		expect(r, "var");
		m->var[i].name = name(r);
		m->var[i].known = one_of(r, known, 2);
		if (!m->var[i].known)
			m->var[i].reason = name(r);
	}
}

/* Lines that may be left out, and the word behind them. */
static void place_read(struct reader *r)
{
	static const char *const word[] = {"tables", "place", "reach"};
	struct model_confidence *c = &r->m->confidence;
	struct model_place *p = &r->m->place;
	uint32_t next = one_of(r, word, 3);

	if (next == 2) {
		c->n_reach = (uint32_t)whole(r, MODEL_REACH_MAX);
		for (uint32_t i = 0; !r->failed && i < c->n_reach; i++)
			c->reach[i] = real(r);
		next = one_of(r, word, 2);
	}
	p->known = next == 1;
	if (!p->known)
		return;
	p->processors = (uint32_t)whole(r, UINT32_MAX);
	p->crowd = real(r);
	expect(r, "tables");
}

static void model_read(struct reader *r)
{
	struct model *m = r->m;
	struct model_confidence *c = &m->confidence;

	expect(r, "precedent-model");
	if (whole(r, UINT32_MAX) != 1)
		bad(r, "this version of the format is not known");
	expect(r, "runs");
	m->n_runs = (uint32_t)whole(r, UINT32_MAX);
	expect(r, "rows");
	m->n_rows = whole(r, UINT64_MAX);
	expect(r, "confidence");
	c->n_runs = (uint32_t)whole(r, UINT32_MAX);
	c->n_exact = (uint32_t)whole(r, UINT32_MAX);
	c->n_refused = (uint32_t)whole(r, UINT32_MAX);
	c->prefix = real(r);
	c->time_error = real(r);
	place_read(r);
	m->n_points = count(r, MODEL_MAX_POINTS, 8);
	m->n_inputs = count(r, MODEL_MAX_NAMES, 12);
	m->n_vars = count(r, MODEL_MAX_NAMES, 10);
	m->n_graphs = count(r, MODEL_MAX_GRAPHS, 12);
	m->point = alloc(r, m->n_points, sizeof(*m->point));
	m->input = alloc(r, m->n_inputs, sizeof(*m->input));
	m->var = alloc(r, m->n_vars, sizeof(*m->var));
	m->graph = alloc(r, m->n_graphs, sizeof(*m->graph));
	if (!r->failed)
		names_read(r);
	for (uint32_t i = 0; !r->failed && i < m->n_graphs; i++)
		graph_read(r, &m->graph[i]);
}

struct model *model_parse(const char *text, size_t len, struct errbuf *err)
{
	struct reader r = {.at = text, .end = text + len, .line = 1, .m = model_create(), .err = err};
	struct buf again = {0};
	const char *end;
	char hash[32];

	if (!r.m)
		bad(&r, "no memory");
	if (len > MODEL_FILE_MAX)
		bad(&r, "the file is too large");
	if (len < 15 || memcmp(text, "precedent-model", 15))
		bad(&r, "not a model: it does not begin with \"precedent-model\", see precedent-model(5)");
	if (!r.failed)
		model_read(&r);
	end = r.at;
	if (!r.failed) {
		expect(&r, "end");
		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)XXH3_64bits(text, (size_t)(end - text)));
		if (strcmp(next(&r), hash) || r.at != r.end)
			bad(&r, "the file does not end here, or was changed");
	}
	if (!r.failed && model_check(r.m, err) < 0)
		r.failed = true;
	if (!r.failed && (model_format(r.m, &again, err) < 0 || again.len != len || memcmp(again.data, text, len)))
		bad(&r, "not as a writer writes it");
	buf_free(&again);
	if (!r.failed)
		return r.m;
	model_destroy(r.m);
	return NULL;
}

static char *file_read(int fd, size_t *len, struct errbuf *err, const char *path)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MODEL_FILE_MAX) {
		err_set(err, "%s: is not a regular file of at most %u MiB", path, MODEL_FILE_MAX >> 20);
		return NULL;
	}
	text = malloc((size_t)st.st_size + 1);
	if (!text) {
		err_set(err, "no memory to read %s", path);
		return NULL;
	}
	for (*len = 0; *len < (size_t)st.st_size;) {
		ssize_t n = read(fd, text + *len, (size_t)st.st_size - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*len += (size_t)n;
	}
	return text;
}

struct model *model_load(const char *path, struct errbuf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct model *m = NULL;
	size_t len;
	char *text;

	if (fd < 0) {
		err_set(err, "%s: cannot open: %s", path, strerror(errno));
		return NULL;
	}
	text = file_read(fd, &len, err, path);
	close(fd);
	if (!text)
		return NULL;
	m = model_parse(text, len, err);
	if (!m)
		err_prefix(err, "%s", path);
	free(text);
	return m;
}
