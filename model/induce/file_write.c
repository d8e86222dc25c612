/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model files are written: see file.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/fd.h"
#include "model/induce/file_impl.h"

const char *const model_feature_word[MODEL_FEATURE_OPS] = {
    [MODEL_INPUT] = "input", [MODEL_VAR] = "var",   [MODEL_COUNT] = "count", [MODEL_FROM] = "from",
    [MODEL_CALLER] = "caller", [MODEL_MOD] = "mod", [MODEL_MODF] = "modf",   [MODEL_LOG2] = "log2",
    [MODEL_RING] = "ring",   [MODEL_RING_BACK] = "ring_back", [MODEL_DIVF] = "divf", [MODEL_INVERSE] = "inverse",
    [MODEL_SIGN] = "sign", [MODEL_IS] = "is",
};
const char *const model_atom_word[MODEL_ATOM_KINDS] = {"range", "arithmetic", "geometric", "chance", "above", "below"};
const char *const model_choice_word[2] = {"choice", "both"};
const char *const model_rest_word[MODEL_RESTS] = {"negative", "random", "unknown"};
const char *const model_input_word[MODEL_INPUT_KINDS] = {"varied", "constant", "tied"};

static __attribute__((format(printf, 2, 3))) void put(struct buf *b, const char *fmt, ...)
{
	char text[128];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text))
		b->failed = true;
	else
		buf_put(b, text, (size_t)n);
}

/* Writes every byte but letters, digits, '_', '-' and '.' as %XX, so that any name becomes a word without blanks. */
static void put_name(struct buf *b, const char *name)
{
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.')
			buf_put_u8(b, c);
		else
			put(b, "%%%02x", c);
	}
}

static void put_index(struct buf *b, uint32_t i, const char *none)
{
	if (i == MODEL_NONE)
		put(b, " %s", none);
	else
		put(b, " %u", i);
}

static void put_fn(struct buf *b, const struct model_fn *fn)
{
	put(b, " %u", fn->n_stages);
	for (uint32_t s = 0; s < fn->n_stages; s++) {
		put(b, " %u", fn->stage[s].n_terms);
		for (uint32_t t = 0; t < fn->stage[s].n_terms; t++) {
			const struct model_term *term = &fn->stage[s].term[t];

			put(b, " %a %u", term->coef, term->n_x);
			for (uint32_t k = 0; k < term->n_x; k++)
				put(b, " %c%u", term->x[k] & MODEL_STAGE ? 'g' : 'f', term->x[k] & ~MODEL_STAGE);
		}
	}
}

static void put_arc(struct buf *b, const struct model_arc *a)
{
	put(b, "arc");
	put_index(b, a->to, "end");
	put(b, " %s %llu %u", a->info ? "info" : "main", (unsigned long long)a->seen, a->n_resets);
	for (uint32_t i = 0; i < a->n_resets; i++)
		put(b, " %u", a->reset[i]);
	put(b, " %a", a->time_error_s);
	put_fn(b, &a->time);
	put(b, " %u\n", a->n_data);
	for (uint32_t i = 0; i < a->n_data; i++) {
		put(b, "data %u %a", a->data[i].var, a->data[i].error);
		put_fn(b, &a->data[i].fn);
		put(b, "\n");
	}
}

static void put_choice(struct buf *b, const struct model_choice *c)
{
	const struct model_atom *a = &c->atom;

	put(b, "%s %u %s %u", model_choice_word[c->both], c->arc, model_atom_word[a->kind], a->x);
	if (a->kind >= MODEL_ATOM_ABOVE)
		put_fn(b, &a->fn);
	else
		put(b, " %a %a %llu", a->a, a->b, (unsigned long long)a->n);
	put(b, "\n");
}

static void put_node(struct buf *b, const struct model_node *n)
{
	put(b, "node");
	put_index(b, n->point, "-");
	put_index(b, n->callee, "-");
	put(b, " %s %u %u %s", model_class_name(n->class), n->n_arcs, n->n_choices, model_rest_word[n->rest]);
	if (n->rest == MODEL_NEGATIVE)
		put(b, " %u", n->negative);
	for (uint32_t i = 0; n->rest == MODEL_RANDOM && i < n->n_arcs; i++)
		put(b, " %a", n->weight[i]);
	if (n->rest == MODEL_UNKNOWN) {
		put(b, " ");
		put_name(b, n->reason);
	}
	if (n->n_doubts)
		put(b, " doubts %u", n->n_doubts);
	put(b, "\n");
	for (uint32_t i = 0; i < n->n_arcs; i++)
		put_arc(b, &n->arc[i]);
	for (uint32_t i = 0; i < n->n_choices; i++)
		put_choice(b, &n->choice[i]);
	for (uint32_t i = 0; i < n->n_doubts; i++)
		put(b, "doubt %u %u\n", n->doubt[i].first, n->doubt[i].second);
}

static void put_graph(struct buf *b, const struct model_graph *g)
{
	put(b, "graph %u %u %u\n", g->n_nodes, g->n_counters, g->n_features);
	for (uint32_t i = 0; i < g->n_counters; i++)
		put(b, "counter %u\n", g->counter[i]);
	for (uint32_t i = 0; i < g->n_features; i++)
		put(b, "feature %s %u %u\n", model_feature_word[g->feature[i].op], g->feature[i].a, g->feature[i].b);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		put_node(b, &g->node[i]);
}

static void put_names(struct buf *b, const struct model *m)
{
	for (uint32_t i = 0; i < m->n_points; i++) {
		put(b, "point ");
		put_name(b, m->point[i]);
		put(b, "\n");
	}
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct model_input *in = &m->input[i];

		put(b, "input ");
		put_name(b, in->name);
		put(b, " %s %a %a", model_input_word[in->kind], in->lo, in->hi);
		if (in->kind == MODEL_INPUT_TIED)
			put(b, " %u %a %a", in->tied_to, in->scale, in->shift);
		put(b, "\n");
	}
	for (uint32_t i = 0; i < m->n_vars; i++) {
		put(b, "var ");
		put_name(b, m->var[i].name);
		put(b, m->var[i].known ? " known" : " unknown ");
		if (!m->var[i].known)
			put_name(b, m->var[i].reason);
		put(b, "\n");
	}
}

int model_format(const struct model *m, struct buf *out, struct errbuf *err)
{
	const struct model_confidence *c = &m->confidence;

	buf_reset(out);
	put(out, MODEL_FILE_MAGIC "\nruns %u rows %llu\n", m->n_runs, (unsigned long long)m->n_rows);
	put(out, "confidence %u %u %u %a %a\n", c->n_runs, c->n_exact, c->n_refused, c->prefix, c->time_error);
	if (c->n_reach)
		put(out, "reach %u", c->n_reach);
	for (uint32_t i = 0; i < c->n_reach; i++)
		put(out, " %a", c->reach[i]);
	if (c->n_reach)
		put(out, "\n");
	if (m->place.known)
		put(out, "place %u %a\n", m->place.processors, m->place.crowd);
	put(out, "tables %u %u %u %u\n", m->n_points, m->n_inputs, m->n_vars, m->n_graphs);
	put_names(out, m);
	for (uint32_t i = 0; i < m->n_graphs; i++)
		put_graph(out, &m->graph[i]);
	if (!out->failed)
		put(out, "end %016llx\n", (unsigned long long)XXH3_64bits(out->data, out->len));
	if (out->failed)
		return err_set(err, "no memory to write a model");
	if (out->len > MODEL_FILE_MAX)
		return err_set(err, "the model takes %zu bytes as a file, more than %u", out->len, MODEL_FILE_MAX);
	return 0;
}

int model_key(const struct model *m, uint64_t *key, struct errbuf *err)
{
	struct buf b = {0};
	int rc = model_format(m, &b, err);

	if (rc == 0)
		*key = XXH3_64bits(b.data, b.len);
	buf_free(&b);
	return rc;
}

int model_save(const struct model *m, const char *path, struct errbuf *err)
{
	struct buf b = {0};
	char *beside = NULL;
	int fd = -1, rc = -1;

	if (model_format(m, &b, err) < 0)
		goto out;
	if (asprintf(&beside, "%s.XXXXXX", path) < 0) {
		beside = NULL;
		err_set(err, "no memory to write a model");
		goto out;
	}
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0) {
		err_set(err, "%s: %s", beside, strerror(errno));
		goto out;
	}
	if (fd_write_all(fd, b.data, b.len) < 0 || fsync(fd) < 0 || fchmod(fd, 0644) < 0 || rename(beside, path) < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		unlink(beside);
		goto out;
	}
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	free(beside);
	buf_free(&b);
	return rc;
}
