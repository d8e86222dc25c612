/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readable dump of a merged tree. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/tree/site_text.h"
#include "skelgen/tree/tree.h"
#include "trace/functions.h"

#define MAX_ELEMENTS 4
#define MAX_INTERVALS 6

struct print {
	const struct skel_tree *tree;
	FILE *out;
};

static void print_ranks(struct print *p, const struct rank_set *s)
{
	fputc('[', p->out);
	if (rank_set_count(s) == p->tree->n_ranks)
		fputs("all", p->out);
	else
		for (uint32_t i = 0; i < s->n && i <= MAX_INTERVALS; i++) {
			const struct rank_interval *iv = &s->iv[i];

			if (i)
				fputc(',', p->out);
			if (i == MAX_INTERVALS)
				fprintf(p->out, "... %u ranks", rank_set_count(s));
			else if (iv->first == iv->last)
				fprintf(p->out, "%u", iv->first);
			else if (iv->stride == 1)
				fprintf(p->out, "%u..%u", iv->first, iv->last);
			else
				fprintf(p->out, "%u..%u/%u", iv->first, iv->last, iv->stride);
		}
	fputc(']', p->out);
}

static const char *special_value(uint8_t kind, int64_t v)
{
	if (kind == TK_DST || kind == TK_SRC || kind == TK_ASRC || kind == TK_ROOT) {
		if (v == TRACE_PROC_NULL)
			return "PROC_NULL";
		if (v == TRACE_ANY_SOURCE && kind == TK_SRC)
			return "ANY";
		if (v == TRACE_ROOT)
			return "ROOT";
	}
	if (kind == TK_TAG && v == TRACE_ANY_TAG)
		return "ANY";
	if (kind == TK_COMM && v <= 1)
		return v < 0 ? "NULL" : v == 0 ? "WORLD" : "SELF";
	return v == TRACE_NULL && kind != TK_INT && kind != TK_COUNT ? "-" : NULL;
}

/* Name of a datatype, operation or communicator of the leaf's first rank, or the number. */
static void print_constant(struct print *p, const struct skel_node *leaf, uint8_t kind, int64_t v)
{
	const struct trace_defs *d = &trace_get_rank(p->tree->trace, rank_set_first(&leaf->ranks))->defs;
	const char *name = special_value(kind, v);

	if (!name && (kind == TK_TYPE || kind == TK_TYPES) && v >= 0 && v < (int64_t)d->n_type)
		name = d->type[v].name;
	if (!name && kind == TK_OP && v >= 0 && v < (int64_t)d->n_op)
		name = d->op[v].name;
	if (name)
		fputs(name, p->out);
	else
		fprintf(p->out, "%s%" PRId64, kind == TK_TYPE ? "type" : kind == TK_COMM ? "comm" : "", v);
}

static void print_fn(struct print *p, const struct skel_node *leaf, uint8_t kind, const struct rank_fn *f)
{
	char text[160];

	if (f->form == RF_CONST)
		print_constant(p, leaf, kind, f->a);
	else
		fputs(rank_fn_format(f, rank_set_count(&leaf->ranks), text, sizeof(text)), p->out);
}

/* Least and greatest value of a scalar that varies. */
static void print_range(struct print *p, const struct skel_node *leaf, uint32_t i)
{
	int64_t lo = INT64_MAX, hi = INT64_MIN;
	uint32_t index = 0;

	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), index++) {
		const struct skel_leaf_rank *lr = &leaf->by_rank[index];

		for (uint32_t k = 0; k < lr->n_variant - lr->optional; k++) {
			struct sig_walk w;
			uint32_t at = 0;

			sig_walk_begin(&w, &trace_get_rank(p->tree->trace, r)->defs, lr->variant[k]);
			while (sig_walk_next(&w) && at++ < i)
				;
			lo = w.val[0] < lo ? w.val[0] : lo;
			hi = w.val[0] > hi ? w.val[0] : hi;
		}
	}
	fprintf(p->out, "%" PRId64 "..%" PRId64 "*", lo, hi);
}

/* Sources and tags of completed receives without a wildcard are those that their requests began with. */
static bool tells_nothing(const struct skel_node *leaf, uint32_t i)
{
	uint8_t kind = trace_fn[leaf->fn].param[i].kind;
	const struct skel_param *q = &leaf->param[i];
	bool none = q->fitted && q->fn && (kind == TK_ASRC || kind == TK_ATAG || kind == TK_ASRCS || kind == TK_ATAGS);

	for (uint32_t k = 0; none && k < (trace_kind_is_array(kind) ? q->n : 1); k++)
		none = q->fn[k].form == RF_CONST && q->fn[k].a == TRACE_NULL;
	return none;
}

static void print_param(struct print *p, const struct skel_node *leaf, uint32_t i)
{
	const struct trace_param_info *info = &trace_fn[leaf->fn].param[i];
	const struct skel_param *q = &leaf->param[i];
	bool array = trace_kind_is_array(info->kind);

	fprintf(p->out, "%s%s=", i ? ", " : "", info->name);
	if (!q->fitted && !array) {
		print_range(p, leaf, i);
	} else if (!q->fitted || !q->fn) {
		fputs(q->fitted ? "by rank" : "*", p->out);
	} else if (!array) {
		print_fn(p, leaf, info->kind, q->fn);
	} else {
		fputc('[', p->out);
		for (uint32_t k = 0; k < q->n && k < MAX_ELEMENTS; k++) {
			fputs(k ? ", " : "", p->out);
			print_fn(p, leaf, info->kind, &q->fn[k]);
		}
		fprintf(p->out, "%s]", q->n > MAX_ELEMENTS ? ", ..." : "");
	}
}

static void print_site(struct print *p, const struct skel_node *leaf)
{
	const struct trace_defs *d = &trace_get_rank(p->tree->trace, rank_set_first(&leaf->ranks))->defs;
	const struct trace_site *s = &d->site[d->sigs.sig[leaf->by_rank[0].variant[0]].site];
	char name[256];

	if (!s->n_frame) {
		fprintf(p->out, " @ %016" PRIx64, s->hash);
		return;
	}
	fprintf(p->out, " @ %s", skel_site_text(d, s, name, sizeof(name)));
}

/* Left out in some iterations on some rank? Shown as a question mark. */
static bool is_optional(const struct skel_node *leaf)
{
	for (uint32_t i = 0; i < rank_set_count(&leaf->ranks); i++)
		if (leaf->by_rank[i].optional)
			return true;
	return false;
}

static void print_node(struct print *p, const struct skel_node *n, int depth)
{
	char text[160];

	if (n->kind == SKEL_LEAF) {
		fprintf(p->out, "%*s%s%s(", 2 * depth, "", is_optional(n) ? "? " : "", trace_fn[n->fn].name);
		for (uint32_t i = 0; i < n->n_param; i++)
			if (!tells_nothing(n, i))
				print_param(p, n, i);
		fputc(')', p->out);
		print_site(p, n);
		fputs("  ", p->out);
		print_ranks(p, &n->ranks);
		fputc('\n', p->out);
		return;
	}
	if (n->kind == SKEL_LOOP) {
		fprintf(p->out, "%*sloop %s {  ", 2 * depth, "",
			rank_fn_format(&n->count, rank_set_count(&n->ranks), text, sizeof(text)));
		print_ranks(p, &n->ranks);
		fputc('\n', p->out);
		depth++;
	}
	for (uint32_t i = 0; i < n->n_child; i++)
		print_node(p, n->child[i], depth);
	if (n->kind == SKEL_LOOP)
		fprintf(p->out, "%*s}\n", 2 * (depth - 1), "");
}

int skel_tree_print(const struct skel_tree *tree, FILE *out)
{
	static const char *const alphabet[SKEL_ALPHABETS] = {"that are alike", "that differ in sizes at most",
							      "that differ in sizes and partners at most"};
	struct print p = {tree, out};

	fprintf(out, "# %u ranks, %u calls in %u nodes; a loop repeats calls %s\n", tree->n_ranks, tree->n_leaf,
		tree->n_node, tree->alphabet < SKEL_ALPHABETS ? alphabet[tree->alphabet] : "?");
	fputs("# r: the rank, P: ranks in all, ?: a call of some iterations only, *: values that vary, "
	      "[...]: the ranks that call\n", out);
	print_node(&p, tree->root, 0);
	return fflush(out) || ferror(out) ? -1 : 0;
}
