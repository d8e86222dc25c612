/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models as text and as a graph: see text.h. Names are those of the journal, which are clean.
 * Characters that are special to dot are escaped. */
#include <math.h>
#include <string.h>

#include "model/induce/text.h"

struct printer {
	const struct model *m;
	const struct model_graph *g;
	uint32_t graph;
	FILE *out;
	const char *escape; /* characters that get a backslash */
};

static void put_name(const struct printer *p, const char *name)
{
	for (; *name; name++) {
		for (const char *e = p->escape; *e; e++)
			if (*e == *name)
				fputc('\\', p->out);
		fputc(*name, p->out);
	}
}

static void put_node(const struct printer *p, uint32_t node)
{
	const struct model_node *n = node == MODEL_END ? NULL : &p->g->node[node];

	if (!n)
		fputs("end", p->out);
	else if (n->point != MODEL_NONE)
		put_name(p, p->m->point[n->point]);
	else if (n->callee != MODEL_NONE)
		fprintf(p->out, "call %u of procedure %u", node, n->callee);
	else
		fputs("begin", p->out);
}

/* Counters of one node differ in the arcs that reset them; the text distinguishes the counters by their numbers. */
static void put_counter(const struct printer *p, uint32_t counter)
{
	const struct model_node *n = &p->g->node[p->g->counter[counter]];

	fputc('#', p->out);
	put_node(p, p->g->counter[counter]);
	if (n->n_counters > 1)
		fprintf(p->out, ".%u", counter - n->first_counter);
}

static void put_feature(const struct printer *p, uint32_t x)
{
	const struct model_feature *f = &p->g->feature[x];
	static const char *const pair[] = {[MODEL_MODF] = " mod ", [MODEL_DIVF] = " div "};

	switch (f->op) {
	case MODEL_INPUT:
		put_name(p, p->m->input[f->a].name);
		return;
	case MODEL_VAR:
		put_name(p, p->m->var[f->a].name);
		return;
	case MODEL_COUNT:
		put_counter(p, f->a);
		return;
	case MODEL_FROM:
		fputs("from", p->out);
		return;
	case MODEL_CALLER:
		fputs("caller", p->out);
		return;
	}
	fputs(f->op == MODEL_LOG2 ? "log2(" : f->op == MODEL_INVERSE ? "1/(" : f->op == MODEL_SIGN ? "sign(" : "(", p->out);
	put_feature(p, f->a);
	if (f->op == MODEL_MOD || f->op == MODEL_IS) {
		fprintf(p->out, f->op == MODEL_MOD ? " mod %u" : " = %u", f->b);
	} else if (f->op == MODEL_RING || f->op == MODEL_RING_BACK) {
		fputs(f->op == MODEL_RING ? " + 1 around " : " - 1 around ", p->out);
		put_feature(p, f->b);
	} else if (model_feature_is_pair(f->op)) {
		fputs(pair[f->op], p->out);
		put_feature(p, f->b);
	}
	fputc(')', p->out);
}

static void put_stage(const struct printer *p, const struct model_stage *st)
{
	for (uint32_t t = 0; t < st->n_terms; t++) {
		const struct model_term *term = &st->term[t];
		bool coef = !term->n_x || fabs(term->coef) != 1;

		fputs(t ? (term->coef < 0 ? " - " : " + ") : term->coef < 0 ? "-" : "", p->out);
		if (coef)
			fprintf(p->out, "%.10g", fabs(term->coef));
		for (uint32_t k = 0; k < term->n_x; k++) {
			fputs(k || coef ? " " : "", p->out);
			if (term->x[k] & MODEL_STAGE)
				fprintf(p->out, "g%u", term->x[k] & ~MODEL_STAGE);
			else
				put_feature(p, term->x[k]);
		}
	}
	if (!st->n_terms)
		fputc('0', p->out);
}

static void put_fn(const struct printer *p, const struct model_fn *fn)
{
	if (!fn->n_stages)
		fputc('0', p->out);
	else
		put_stage(p, &fn->stage[fn->n_stages - 1]);
	for (uint32_t s = 0; s + 1 < fn->n_stages; s++) {
		fprintf(p->out, "%s g%u = ", s ? "," : " where", s);
		put_stage(p, &fn->stage[s]);
	}
}

static void put_range(const struct printer *p, const struct model_atom *a)
{
	if (isinf(a->a) && isinf(a->b)) {
		fputs("always", p->out);
		return;
	}
	if (!isinf(a->a) && !isinf(a->b) && a->a != a->b)
		fprintf(p->out, "%.10g <= ", a->a);
	put_feature(p, a->x);
	if (a->a == a->b)
		fprintf(p->out, " = %.10g", a->a);
	else if (isinf(a->b))
		fprintf(p->out, " >= %.10g", a->a);
	else
		fprintf(p->out, " <= %.10g", a->b);
}

static void put_atom(const struct printer *p, const struct model_atom *a)
{
	switch (a->kind) {
	case MODEL_ATOM_RANGE:
		put_range(p, a);
		return;
	case MODEL_ATOM_ABOVE:
	case MODEL_ATOM_BELOW:
		put_feature(p, a->x);
		fputs(a->kind == MODEL_ATOM_ABOVE ? " >= " : " < ", p->out);
		put_fn(p, &a->fn);
		return;
	}
	if (a->kind == MODEL_ATOM_CHANCE) {
		fprintf(p->out, "chance has it, in %.4g %%", 100 * a->a);
		return;
	}
	put_feature(p, a->x);
	if (a->kind == MODEL_ATOM_ARITH)
		fprintf(p->out, " in %.10g, %.10g, %.10g...", a->a, a->a + a->b, a->a + a->b * 2);
	else
		fprintf(p->out, " in %.10g, %.10g, %.10g...", a->a, a->a * a->b, a->a * a->b * a->b);
	if (a->n)
		fprintf(p->out, " (%llu values)", (unsigned long long)a->n);
}

static void put_arc(const struct printer *p, const struct model_arc *a)
{
	fprintf(p->out, "    %s ", a->info ? "=>" : "->");
	put_node(p, a->to);
	fprintf(p->out, ", seen %llu times\n", (unsigned long long)a->seen);
	if (a->n_resets) {
		fputs("      initialises", p->out);
		for (uint32_t i = 0; i < a->n_resets; i++) {
			fputc(' ', p->out);
			put_counter(p, a->reset[i]);
		}
		fputc('\n', p->out);
	}
	if (a->time.n_stages) {
		fputs("      time += ", p->out);
		put_fn(p, &a->time);
		fprintf(p->out, " (+- %.3g) s\n", a->time_error_s);
	}
	for (uint32_t i = 0; i < a->n_data; i++) {
		fputs("      ", p->out);
		put_name(p, p->m->var[a->data[i].var].name);
		fputs(" = ", p->out);
		put_fn(p, &a->data[i].fn);
		if (a->data[i].error > 0)
			fprintf(p->out, " (+- %.3g)", a->data[i].error);
		fputc('\n', p->out);
	}
}

/* The condition of the choice that begins with i. Returns its last part. */
static uint32_t put_condition(const struct printer *p, const struct model_node *n, uint32_t i)
{
	put_atom(p, &n->choice[i].atom);
	while (n->choice[i].both) {
		fputs(" and ", p->out);
		put_atom(p, &n->choice[++i].atom);
	}
	return i;
}

static void put_doubt(const struct printer *p, const struct model_node *n, const struct model_doubt *d)
{
	const struct model_choice *a = &n->choice[d->first], *b = &n->choice[d->second];

	if (d->first == d->second) {
		put_feature(p, a->atom.x);
		fputs(" > ", p->out);
		put_fn(p, &a->atom.fn);
		fputs(": no run had it", p->out);
		return;
	}
	fputs("if ", p->out);
	put_condition(p, n, d->first);
	fputs(" to ", p->out);
	put_node(p, n->arc[a->arc].to);
	fputs(", if ", p->out);
	put_condition(p, n, d->second);
	fputs(" to ", p->out);
	put_node(p, n->arc[b->arc].to);
	fputs(": no run had both at once", p->out);
}

void model_doubt_text(const struct model *m, uint32_t graph, uint32_t node, uint32_t i, char *text, size_t size)
{
	struct printer p = {.m = m, .g = &m->graph[graph], .graph = graph, .escape = ""};
	const struct model_node *n = &p.g->node[node];

	text[0] = '\0';
	p.out = fmemopen(text, size, "w");
	if (!p.out)
		return;
	put_doubt(&p, n, &n->doubt[i]);
	fclose(p.out);
	text[size - 1] = '\0';
}

static void put_choices(const struct printer *p, const struct model_node *n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n->n_choices; i++) {
		fputs(i ? "    else to " : "    to ", p->out);
		put_node(p, n->arc[n->choice[i].arc].to);
		fputs(" if ", p->out);
		i = put_condition(p, n, i);
		fputc('\n', p->out);
	}
	for (uint32_t i = 0; i < n->n_doubts; i++) {
		fputs("    in doubt: ", p->out);
		put_doubt(p, n, &n->doubt[i]);
		fputc('\n', p->out);
	}
	switch (n->rest) {
	case MODEL_NEGATIVE:
		if (n->n_arcs == 1 && !n->n_choices)
			return;
		fputs(n->n_choices ? "    else to " : "    to ", p->out);
		put_node(p, n->arc[n->negative].to);
		fputc('\n', p->out);
		return;
	case MODEL_UNKNOWN:
		fprintf(p->out, "    else not known: %s\n", n->reason);
		return;
	}
	for (uint32_t i = 0; i < n->n_arcs; i++)
		sum += n->weight[i];
	for (uint32_t i = 0; i < n->n_arcs; i++) {
		if (!(n->weight[i] > 0))
			continue;
		fputs("    by chance to ", p->out);
		put_node(p, n->arc[i].to);
		fprintf(p->out, " in %.4g %%\n", 100 * n->weight[i] / sum);
	}
}

static void put_inputs(const struct printer *p)
{
	const struct model *m = p->m;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct model_input *in = &m->input[i];

		fputs("input ", p->out);
		put_name(p, in->name);
		if (in->kind == MODEL_INPUT_CONSTANT)
			fprintf(p->out, ": always %.10g, nothing is known of other values\n", in->lo);
		else if (in->kind == MODEL_INPUT_VARIED)
			fprintf(p->out, ": %.10g to %.10g\n", in->lo, in->hi);
		else
			fprintf(p->out, ": always %.10g %s %+.10g\n", in->scale, m->input[in->tied_to].name, in->shift);
	}
	for (uint32_t v = 0; v < m->n_vars; v++)
		if (!m->var[v].known) {
			const char *words = strstr(m->var[v].reason, MODEL_FOR_PEOPLE);

			fputs(words ? "" : "variable ", p->out);
			put_name(p, m->var[v].name);
			fprintf(p->out, words ? ": %s\n" : " is not known: %s\n",
				words ? words + strlen(MODEL_FOR_PEOPLE) : m->var[v].reason);
		}
}

int model_print(const struct model *m, FILE *out)
{
	struct printer p = {.m = m, .out = out, .escape = ""};
	const struct model_confidence *c = &m->confidence;

	fprintf(out, "model of %u runs, %llu passages\n", m->n_runs, (unsigned long long)m->n_rows);
	if (c->n_runs)
		fprintf(out,
			"each run left out: %u of %u sequences exact, %u refused, %.1f %% before the first difference, time missed by "
			"%.2g %%\n",
			c->n_exact, c->n_runs, c->n_refused, 100 * c->prefix, 100 * c->time_error);
	for (uint32_t i = 0; i < c->n_reach; i++)
		fprintf(out, "at twice the %s that any run had the time is missed by %.2g %%\n", m->input[i].name, 100 * expm1(c->reach[i] * M_LN2));
	if (m->place.known && m->place.processors)
		fprintf(out, "the runs had %u processors, for one of which there were %.3g ranks at most\n", m->place.processors,
			m->place.crowd);
	else if (m->place.known)
		fprintf(out, "the runs had different numbers of processors, for one of which there were %.3g ranks at most\n",
			m->place.crowd);
	put_inputs(&p);
	for (p.graph = 0; p.graph < m->n_graphs; p.graph++) {
		p.g = &m->graph[p.graph];
		fprintf(out, p.graph ? "procedure %u\n" : "program\n", p.graph);
		for (uint32_t i = 0; i < p.g->n_nodes; i++) {
			fputs("  ", out);
			put_node(&p, i);
			fprintf(out, " (%s)\n", model_class_name(p.g->node[i].class));
			put_choices(&p, &p.g->node[i]);
			for (uint32_t a = 0; a < p.g->node[i].n_arcs; a++)
				put_arc(&p, &p.g->node[i].arc[a]);
		}
	}
	return fflush(out) || ferror(out) ? -1 : 0;
}

static void dot_arc(const struct printer *p, uint32_t from, uint32_t arc)
{
	const struct model_node *n = &p->g->node[from];
	const struct model_arc *a = &n->arc[arc];

	fprintf(p->out, "    g%u_%u -> ", p->graph, from);
	if (a->to == MODEL_END)
		fprintf(p->out, "g%u_end", p->graph);
	else
		fprintf(p->out, "g%u_%u", p->graph, a->to);
	fprintf(p->out, " [%slabel=\"", a->info ? "style=dashed, " : "");
	for (uint32_t i = 0, k = 0; i < n->n_choices; i++)
		if (n->choice[i].arc == arc) {
			fputs(k++ ? "\\nor " : "", p->out);
			i = put_condition(p, n, i);
		}
	if (n->rest == MODEL_RANDOM && n->weight[arc] > 0)
		fputs(" by chance", p->out);
	fputs("\"];\n", p->out);
}

int model_print_dot(const struct model *m, FILE *out)
{
	struct printer p = {.m = m, .out = out, .escape = "\"\\"};

	fputs("digraph model {\n  node [shape=box];\n", out);
	for (p.graph = 0; p.graph < m->n_graphs; p.graph++) {
		p.g = &m->graph[p.graph];
		fprintf(out, "  subgraph cluster_%u {\n    label=\"%s %u\";\n", p.graph, p.graph ? "procedure" : "program", p.graph);
		for (uint32_t i = 0; i < p.g->n_nodes; i++) {
			fprintf(out, "    g%u_%u [label=\"", p.graph, i);
			put_node(&p, i);
			fprintf(out, "\\n%s\"%s];\n", model_class_name(p.g->node[i].class),
				p.g->node[i].callee != MODEL_NONE ? ", peripheries=2" : "");
		}
		fprintf(out, "    g%u_end [label=\"end\"];\n", p.graph);
		for (uint32_t i = 0; i < p.g->n_nodes; i++)
			for (uint32_t a = 0; a < p.g->node[i].n_arcs; a++)
				dot_arc(&p, i, a);
		fputs("  }\n", out);
	}
	fputs("}\n", out);
	return fflush(out) || ferror(out) ? -1 : 0;
}
