/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C source of a model: a function per graph, a label per node; counters, time and variables are locals, and are put back
 * into the place where somebody else looks at them. See compile.h. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/induce/compile.h"
#include "model/induce/compile_text.h"
#include "model/induce/file.h"
#include "model/induce/interpret.h"

struct emitter {
	const struct model *m;
	const struct model_graph *g;
	uint32_t graph;
	bool quick; /* nobody looks at events, and they have no bound of their own */
	FILE *out;
};

/* In a comment: nothing that could end it. */
static void put_name(const struct emitter *e, const char *name)
{
	for (; *name; name++)
		fputc(isalnum((unsigned char)*name) || *name == '_' || *name == '.' || *name == ' ' ? *name : '_', e->out);
}

static void put_number(const struct emitter *e, double x)
{
	fprintf(e->out, "%a", x);
}

static void put_feature(const struct emitter *e, uint32_t x)
{
	const struct model_feature *f = &e->g->feature[x];
	static const char *const call[MODEL_FEATURE_OPS] = {
	    [MODEL_MODF] = "model_mod", [MODEL_LOG2] = "model_log2",     [MODEL_RING] = "model_ring",
	    [MODEL_DIVF] = "model_divide", [MODEL_INVERSE] = "model_inverse", [MODEL_SIGN] = "model_sign",
	    [MODEL_RING_BACK] = "model_ring_back"};

	switch (f->op) {
	case MODEL_INPUT:
		fprintf(e->out, "i%u", f->a);
		return;
	case MODEL_VAR:
		fprintf(e->out, "v%u", f->a);
		return;
	case MODEL_COUNT:
		fprintf(e->out, "(double)(int64_t)c%u", f->a); /* below 2^53, and signed is quicker */
		return;
	case MODEL_FROM:
		fputs("(double)from", e->out);
		return;
	case MODEL_CALLER:
		fputs("(double)caller", e->out);
		return;
	case MODEL_MOD:
		/* Whole numbers have the same remainder, quicker. */
		if (e->g->feature[f->a].op == MODEL_COUNT) {
			fprintf(e->out, "(double)(int64_t)(c%u %% %uu)", e->g->feature[f->a].a, f->b);
			return;
		}
		fputs("model_mod(", e->out);
		put_feature(e, f->a);
		fprintf(e->out, ", %u)", f->b);
		return;
	case MODEL_IS:
		fputs("(double)(", e->out);
		put_feature(e, f->a);
		fprintf(e->out, " == %u)", f->b);
		return;
	}
	fprintf(e->out, "%s(", call[f->op]);
	put_feature(e, f->a);
	if (model_feature_is_pair(f->op)) {
		fputs(", ", e->out);
		put_feature(e, f->b);
	}
	fputc(')', e->out);
}

/* 0 + first + second...: as the interpreter adds up. */
static void put_stage(const struct emitter *e, const struct model_stage *st)
{
	for (uint32_t t = 0; t < st->n_terms; t++)
		fputc('(', e->out);
	fputs("0.0", e->out);
	for (uint32_t t = 0; t < st->n_terms; t++) {
		const struct model_term *term = &st->term[t];

		fputs(" + ", e->out);
		put_number(e, term->coef);
		for (uint32_t k = 0; k < term->n_x; k++) {
			fputs(" * ", e->out);
			if (term->x[k] & MODEL_STAGE)
				fprintf(e->out, "g%u", term->x[k] & ~MODEL_STAGE);
			else
				put_feature(e, term->x[k]);
		}
		fputc(')', e->out);
	}
}

/* Earlier stages as locals g0, g1...: inside braces of the caller's. */
static void put_stages(const struct emitter *e, const struct model_fn *fn)
{
	for (uint32_t s = 0; s + 1 < fn->n_stages; s++) {
		fprintf(e->out, "\t\tconst double g%u __attribute__((unused)) = ", s);
		put_stage(e, &fn->stage[s]);
		fputs(";\n", e->out);
	}
}

static void put_value(const struct emitter *e, const struct model_fn *fn)
{
	if (fn->n_stages)
		put_stage(e, &fn->stage[fn->n_stages - 1]);
	else
		fputs("0.0", e->out);
}

static void put_arc(const struct emitter *e, uint32_t node, uint32_t arc)
{
	const struct model_arc *a = &e->g->node[node].arc[arc];

	fprintf(e->out, "a%u_%u: {\n", node, arc);
	if (a->time.n_stages) {
		fputs("\t\tdouble dt;\n", e->out);
		fputs("\t\t{\n", e->out);
		put_stages(e, &a->time);
		fputs("\t\tdt = ", e->out);
		put_value(e, &a->time);
		fputs(";\n\t\t}\n", e->out);
	}
	for (uint32_t i = 0; i < a->n_data; i++) {
		fprintf(e->out, "\t\tdouble w%u;\n\t\t{\n", i);
		put_stages(e, &a->data[i].fn);
		fprintf(e->out, "\t\tw%u = ", i);
		put_value(e, &a->data[i].fn);
		fputs(";\n\t\t}\n", e->out);
	}
	for (uint32_t i = 0; i < a->n_data; i++)
		fprintf(e->out, "\t\tv%u = w%u;\n", a->data[i].var, i);
	if (a->time.n_stages)
		fputs("\t\tif (dt > 0)\n\t\t\ttime = time + dt;\n", e->out);
	for (uint32_t i = 0; i < a->n_resets; i++)
		fprintf(e->out, "\t\tc%u = 0;\n", a->reset[i]);
	if (a->to == MODEL_END)
		fputs("\t\tgoto end;\n\t}\n", e->out);
	else
		fprintf(e->out, "\t\tfrom = %u;\n\t\tgoto n%u;\n\t}\n", node, a->to);
}

static void put_condition(const struct emitter *e, const struct model_atom *a)
{
	switch (a->kind) {
	case MODEL_ATOM_RANGE:
		fputs("const double x = ", e->out);
		put_feature(e, a->x);
		fputs("; if (x >= ", e->out);
		isinf(a->a) ? fputs(a->a < 0 ? "-INFINITY" : "INFINITY", e->out) : fprintf(e->out, "%a", a->a);
		fputs(" && x <= ", e->out);
		isinf(a->b) ? fputs(a->b < 0 ? "-INFINITY" : "INFINITY", e->out) : fprintf(e->out, "%a", a->b);
		fputc(')', e->out);
		return;
	case MODEL_ATOM_ABOVE:
	case MODEL_ATOM_BELOW:
		fputs("\n", e->out);
		put_stages(e, &a->fn);
		fputs("\t\tif (", e->out);
		put_feature(e, a->x);
		fputs(a->kind == MODEL_ATOM_ABOVE ? " >= " : " < ", e->out);
		put_value(e, &a->fn);
		fputc(')', e->out);
		return;
	}
	if (a->kind == MODEL_ATOM_CHANCE) {
		fprintf(e->out, "if (model_random(&p->random) < %a)", a->a);
		return;
	}
	fprintf(e->out, "if (model_%s(", a->kind == MODEL_ATOM_ARITH ? "arith" : "geom");
	put_feature(e, a->x);
	fprintf(e->out, ", %a, %a, %" PRIu64 "u))", a->a, a->b, a->n);
}

/* The condition of the choice that begins with i, with an open brace for each part. Returns its last part. */
static uint32_t put_choice(const struct emitter *e, const struct model_node *n, uint32_t i)
{
	fputs("\t{ ", e->out);
	put_condition(e, &n->choice[i].atom);
	while (n->choice[i].both) {
		fputs("\n\t{ ", e->out);
		put_condition(e, &n->choice[++i].atom);
	}
	return i;
}

static void put_braces(const struct emitter *e, uint32_t n)
{
	for (; n; n--)
		fputs(" }", e->out);
	fputc('\n', e->out);
}

/* As in the interpreter. same: the doubt about the choice itself, whether it holds or not; else those about it and others. */
static void put_doubts(const struct emitter *e, uint32_t node, uint32_t choice, bool same)
{
	const struct model_node *n = &e->g->node[node];

	for (uint32_t d = 0; d < n->n_doubts; d++) {
		uint32_t other = n->doubt[d].second, last;
		const struct model_atom *a = &n->choice[choice].atom;

		if (n->doubt[d].first != choice || (other == choice) != same)
			continue;
		if (same) {
			fputs("\t{\n", e->out);
			put_stages(e, &a->fn);
			fputs("\t\tif (", e->out);
			put_feature(e, a->x);
			fputs(" > ", e->out);
			put_value(e, &a->fn);
			fputc(')', e->out);
			last = other;
		} else {
			last = put_choice(e, n, other);
		}
		fprintf(e->out, "\n\t\t\tSTOP(%u, %u);", MODEL_DOUBT + d, node);
		put_braces(e, last - other + 1);
	}
}

static void put_chance(const struct emitter *e, uint32_t node)
{
	const struct model_node *n = &e->g->node[node];
	double sum = 0, part = 0;

	for (uint32_t i = 0; i < n->n_arcs; i++)
		sum = sum + n->weight[i];
	fputs("\t{ const double q = model_random(&p->random);\n", e->out);
	for (uint32_t i = 0; i + 1 < n->n_arcs; i++) {
		part = part + n->weight[i];
		fprintf(e->out, "\t\tif (q * %a < %a)\n\t\t\tgoto a%u_%u;\n", sum, part, node, i);
	}
	fprintf(e->out, "\t\tgoto a%u_%u; }\n", node, n->n_arcs - 1);
}

static void put_node(const struct emitter *e, uint32_t node)
{
	const struct model_node *n = &e->g->node[node];

	fprintf(e->out, "n%u: /* ", node);
	put_name(e, n->point != MODEL_NONE ? e->m->point[n->point] : n->callee != MODEL_NONE ? "a call" : "begin");
	fprintf(e->out, " */\n\tSTEP(%u);\n", node);
	for (uint32_t i = 0; i < n->n_counters; i++)
		fprintf(e->out, "\tc%u++;\n", n->first_counter + i);
	if (n->point != MODEL_NONE)
		e->quick ? fprintf(e->out, "\tp%u++;\n", node) : fprintf(e->out, "\tPASS(%u, %u)\n", n->point, node);
	if (n->callee != MODEL_NONE)
		fprintf(e->out, "\tSAVE;\n\tif (%s_%u(p, %u) < 0) {\n\t\tCOUNTS;\n\t\treturn -1;\n\t}\n\tLOAD;\n",
			e->quick ? "quick" : "graph", n->callee, node);
	for (uint32_t i = 0; i < n->n_choices; i++) {
		uint32_t first = i;

		put_doubts(e, node, first, true);
		i = put_choice(e, n, first);
		fputs(" {\n", e->out);
		put_doubts(e, node, first, false);
		fprintf(e->out, "\t\t\tgoto a%u_%u; }", node, n->choice[i].arc);
		put_braces(e, i - first + 1);
	}
	if (n->rest == MODEL_NEGATIVE)
		fprintf(e->out, "\tgoto a%u_%u;\n", node, n->negative);
	else if (n->rest == MODEL_RANDOM)
		put_chance(e, node);
	else
		fprintf(e->out, "\tSTOP(4, %u);\n", node);
	for (uint32_t i = 0; i < n->n_arcs; i++)
		put_arc(e, node, i);
}

/* SAVE and LOAD between locals and the place; COUNTS puts back what is counted here. Variables that no rule sets stay in
 * the place as they are. */
static void put_macros(const struct emitter *e)
{
	FILE *o = e->out;

	fprintf(o, "#define GRAPH %u\n#define SAVE do { p->time = time; p->steps = steps;", e->graph);
	if (!e->quick)
		fputs(" p->events = events;", o);
	for (uint32_t v = 0; v < e->m->n_vars; v++)
		if (e->m->var[v].known)
			fprintf(o, " p->var[%u] = v%u;", v, v);
	fputs(" } while (0)\n#define LOAD do { time = p->time; steps = p->steps;", o);
	if (!e->quick)
		fputs(" events = p->events;", o);
	for (uint32_t v = 0; v < e->m->n_vars; v++)
		if (e->m->var[v].known)
			fprintf(o, " v%u = p->var[%u];", v, v);
	fputs(" } while (0)\n#define COUNTS do {", o);
	for (uint32_t i = 0; e->quick && i < e->g->n_nodes; i++)
		if (e->g->node[i].point != MODEL_NONE)
			fprintf(o, " p->passages[%u] += p%u; p->events += p%u;", e->g->node[i].point, i, i);
	fputs(" } while (0)\n", o);
}

static void put_graph(const struct emitter *e)
{
	FILE *o = e->out;

	put_macros(e);
	fprintf(o, "static int %s_%u(struct place *p, uint32_t caller)\n{\n", e->quick ? "quick" : "graph", e->graph);
	fputs("\tconst uint64_t max_steps = p->max_steps;\n\tdouble time = p->time;\n\tuint64_t steps = p->steps;\n\tuint32_t from = 0;\n", o);
	if (!e->quick)
		fputs("\tuint64_t events = p->events;\n", o);
	for (uint32_t i = 0; e->quick && i < e->g->n_nodes; i++)
		if (e->g->node[i].point != MODEL_NONE)
			fprintf(o, "\tuint64_t p%u = 0;\n", i);
	for (uint32_t i = 0; i < e->m->n_inputs; i++)
		fprintf(o, "\tconst double i%u __attribute__((unused)) = p->input[%u];\n", i, i);
	for (uint32_t v = 0; v < e->m->n_vars; v++)
		if (e->m->var[v].known)
			fprintf(o, "\tdouble v%u = p->var[%u];\n", v, v);
	for (uint32_t c = 0; c < e->g->n_counters; c++)
		fprintf(o, "\tuint64_t c%u = 0;\n", c);
	fputs("\n\t(void)caller;\n\t(void)from;\n\tgoto n0;\n", o);
	for (uint32_t i = 0; i < e->g->n_nodes; i++)
		put_node(e, i);
	fputs("end: __attribute__((unused));\n\tSAVE;\n\tCOUNTS;\n\treturn 0;\n}\n#undef SAVE\n#undef LOAD\n#undef COUNTS\n#undef GRAPH\n\n", o);
}

/* A C string: all but letters, digits and a few signs in octal. */
static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || strchr(" _+-.,:()#", *s))
			fputc(*s, out);
		else
			fprintf(out, "\\%03o", (unsigned)(unsigned char)*s);
	fputs("\", ", out);
}

/* Names of inputs, control points or variables. */
static void put_names(FILE *out, const char *of, const struct model *m, int what)
{
	uint32_t n = what == 0 ? m->n_inputs : what == 1 ? m->n_points : m->n_vars;

	fprintf(out, "static const char *const %s_name[] = {", of);
	for (uint32_t i = 0; i < n; i++)
		put_string(out, what == 0 ? m->input[i].name : what == 1 ? m->point[i] : m->var[i].name);
	fputs("0};\n", out);
}

int model_emit_header(FILE *out)
{
	return fputs(model_h, out) < 0 ? -1 : 0;
}

int model_emit_c(const struct model *m, FILE *out, struct errbuf *err)
{
	struct emitter e = {.m = m, .out = out};
	uint64_t key;

	if (model_key(m, &key, err) < 0)
		return -1;
	fprintf(out, "/* A model of %u runs, as C: made by precedent. Compile with -ffp-contract=off. */\n", m->n_runs);
	fprintf(out, "#define INPUTS %u\n#define VARS %u\n#define POINTS %u\n#define ABI %d\n#define STEPS %lluu\n#define KEY 0x%016" PRIx64 "u\n", m->n_inputs,
		m->n_vars, m->n_points, MODEL_PROGRAM_ABI, MODEL_STEPS_DEFAULT, key);
	fputs(model_c_head, out);
	put_names(out, "input", m, 0);
	put_names(out, "point", m, 1);
	put_names(out, "var", m, 2);
	fputs("static const double var_begin[VARS + 1] = {", out);
	for (uint32_t v = 0; v < m->n_vars; v++)
		fputs(m->var[v].known ? "0, " : "NAN, ", out);
	fputs("0};\n\n", out);
	/* Callees stand after callers in the model, and in front of them in C. */
	for (e.graph = m->n_graphs; e.graph-- > 0;) {
		e.g = &m->graph[e.graph];
		e.quick = false;
		put_graph(&e);
		e.quick = true;
		put_graph(&e);
	}
	fputs(model_c_tail, out);
	return fflush(out) || ferror(out) ? err_set(err, "the source of a model could not be written") : 0;
}
