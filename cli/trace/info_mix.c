/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info --mix: see info_mix.h. A block is named by the call that ends it. */
#include "cli/trace/info_mix.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/info_print.h"
#include "cli/ui/json_out.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/term.h"
#include "cli/ui/util.h"
#include "skelgen/pipeline.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"
#include "trace/functions.h"

#define TOP_BLOCKS  12
#define SHARE_SHOWN 0.03 /* classes below it are not named */
#define TEXT        220
#define PIECES_S    10   /* of a run that does not repeat: pieces of so many seconds show the mix, */
#define PIECES_PART 4    /* or of so great a part of a short run */

#define NAME(CLASS, name) #name,
static const char *const class_name[CLASS_N] = {SKEL_CLASSES(NAME)};
#undef NAME

struct block {
	const struct skel_node *leaf;
	double ns;
};

struct work {
	const struct trace *t;
	struct skel_stages of; /* of the whole run, or of pieces of it */
	struct symbolizer *sym;
	struct block *block; /* the longest first */
	double ns;           /* of all */
};

static int by_time(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x->leaf->leaf_id > y->leaf->leaf_id) - (x->leaf->leaf_id < y->leaf->leaf_id);
}

static int collect_pieces(struct work *w, struct errbuf *err)
{
	struct skel_budget budget = {.seconds = PIECES_S};
	double wall_s = 0;
	int rv;

	for (uint32_t r = 0; r < trace_n_ranks(w->t); r++)
		wall_s = fmax(wall_s, trace_get_rank(w->t, r)->wall_ns * 1e-9);
	budget.seconds = fmin(budget.seconds, wall_s / PIECES_PART);
	rv = skel_understand_pieces(w->t, &budget, &w->of, err);
	return rv == 1 ? err_set(err, "its calls repeat too little to tell its mix, and no pieces can be cut out of the run") : rv;
}

static int collect_whole(struct work *w, struct errbuf *err)
{
	struct skel_stages *s = &w->of;

	if (skel_tree_build(w->t, &s->tree, err) < 0 || skel_times_collect(&s->tree, &s->times, err) < 0)
		return -1;
	return compute_profile_collect(&s->tree, &s->times, &s->profile, err);
}

static int prepare(struct work *w, struct errbuf *err)
{
	if (trace_is_imported(w->t))
		return err_set(err, "an imported trace says nothing of computation");
	if ((skel_tree_fits(w->t) ? collect_whole(w, err) : collect_pieces(w, err)) < 0)
		return -1;
	if (w->of.excerpt)
		w->t = w->of.excerpt;
	w->sym = symbolizer_create();
	w->block = calloc(w->of.tree.n_leaf + 1u, sizeof(*w->block));
	if (!w->block)
		return err_set(err, "no memory");
	for (uint32_t i = 0; i < w->of.tree.n_leaf; i++) {
		const struct skel_node *leaf = w->of.tree.leaf[i];

		w->block[i].leaf = leaf;
		for (uint32_t k = 0, n = rank_set_count(&leaf->ranks); k < n; k++)
			w->block[i].ns += w->of.times.leaf[i][k].gap_ns;
		w->ns += w->block[i].ns;
	}
	qsort(w->block, w->of.tree.n_leaf, sizeof(*w->block), by_time);
	return 0;
}

static void free_work(struct work *w)
{
	free(w->block);
	symbolizer_destroy(w->sym);
	skel_stages_free(&w->of);
}

/* "main (heat.c:42)" */
static const char *where(const struct work *w, const struct skel_node *leaf, char *buf, size_t size)
{
	const struct trace_defs *d = &trace_get_rank(w->t, rank_set_first(&leaf->ranks))->defs;
	uint32_t sym = leaf->by_rank[0].variant[0], site;

	buf[0] = '\0';
	if (sym >= d->sigs.n)
		return buf;
	site = d->sigs.sig[sym].site;
	return site < d->n_site ? symbolizer_site(w->sym, d, &d->site[site], buf, size) : buf;
}

/* ---- for people ---- */

static int by_share(const void *a, const void *b)
{
	const double *const *x = a, *const *y = b;

	return **x != **y ? (**x < **y ? 1 : -1) : (*x > *y) - (*x < *y);
}

/* "scalar 61 %, stream_mem 30 %, asleep 5 %" */
static void describe(const struct profile_mix *m, char *buf, size_t size)
{
	const double *order[CLASS_N];
	size_t n = 0;

	for (int c = 0; c < CLASS_N; c++)
		order[c] = &m->share[c];
	qsort(order, CLASS_N, sizeof(*order), by_share);
	buf[0] = '\0';
	for (int i = 0; i < CLASS_N && *order[i] >= SHARE_SHOWN && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s %.0f %%", n ? ", " : "", class_name[order[i] - m->share],
				      100 * *order[i]);
	if (m->off_cpu > 0 && n < size)
		n += (size_t)snprintf(buf + n, size - n, "; asleep %.0f %%", 100 * m->off_cpu);
	if (m->threads > 1.05 && n < size)
		snprintf(buf + n, size - n, "; %.1f threads", m->threads);
}

static void print_blocks(const struct work *w, bool all)
{
	uint32_t shown = 0;

	printf("%s    share  samples  doubt  before the call%s\n", term_on(TERM_FAINT), term_off());
	for (uint32_t i = 0; i < w->of.tree.n_leaf; i++) {
		const struct block *b = &w->block[i];
		const struct profile_mix *m = &w->of.profile.mix[w->of.profile.of_leaf[b->leaf->leaf_id]];
		char text[TEXT], place[256];

		if (!all && (shown == TOP_BLOCKS || b->ns < 0.002 * w->ns))
			break;
		describe(m, text, sizeof(text));
		printf("  %5.1f %% %8llu  %5.2f  %s %s\n%28s%s\n", w->ns > 0 ? 100 * b->ns / w->ns : 0,
		       (unsigned long long)m->n_sample, m->doubt, trace_fn[b->leaf->fn].name,
		       where(w, b->leaf, place, sizeof(place)), "", text);
		shown++;
	}
	if (shown < w->of.tree.n_leaf)
		printf("%s  and %u more of little time%s\n", term_on(TERM_FAINT), w->of.tree.n_leaf - shown, term_off());
}

static void print_memory(const struct work *w)
{
	static const char *const level[PROFILE_LEVELS] = {"second-level cache", "last-level cache", "memory"};
	const char *sep = "  a rank works on ";
	char size[32];

	for (int l = 0; l < PROFILE_LEVELS; l++) {
		if (w->of.profile.bytes[l] <= 0)
			continue;
		printf("%s%s in the %s", sep, cli_bytes(size, sizeof(size), w->of.profile.bytes[l]), level[l]);
		sep = ", ";
	}
	if (w->of.profile.vector_bits > 0)
		printf("%svectors of %.0f bits", *sep == ',' ? "; " : "  ", w->of.profile.vector_bits);
	puts(*sep == ',' || w->of.profile.vector_bits > 0 ? "\n" : "");
}

static void print_text(const struct work *w, const char *path, bool all)
{
	const char *why = trace_unsampled(w->t);
	char text[TEXT];

	describe(&w->of.profile.mix[0], text, sizeof(text));
	if (w->of.profile.mix[0].doubt >= 1)
		printf("%s: nothing was sampled%s%s%s; taken for granted is\n  %s\n", path, why ? " (" : "", why ? cli_shown(why) : "",
		       why ? ")" : "", text);
	else
		printf("%s: computation, from %s\n  %s\n", path, w->of.profile.source, text);
	if (w->of.excerpt)
		printf("  its calls repeat too little: shown are %u pieces of the run with %llu of %llu calls\n", w->of.pieces.n,
		       (unsigned long long)w->of.pieces.events, (unsigned long long)w->of.run.events);
	if (w->of.profile.mix[0].doubt < 1)
		print_memory(w);
	if (w->of.profile.mix[0].doubt < 1)
		print_blocks(w, all);
}

/* ---- for machines ---- */

static json_t *mix_json(const struct profile_mix *m)
{
	json_t *shares = json_object();

	for (int c = 0; c < CLASS_N; c++)
		json_object_set_new(shares, class_name[c], json_real(m->share[c]));
	return json_pack("{s:o, s:f, s:f, s:f, s:I}", "shares", shares, "off_cpu", m->off_cpu, "threads", m->threads,
			 "doubt", m->doubt, "samples", (json_int_t)m->n_sample);
}

static int print_json(const struct work *w, const char *path)
{
	json_t *mixes = json_array(), *blocks = json_array(), *root;
	char place[256];

	for (uint32_t i = 0; i < w->of.profile.n_mix; i++)
		json_array_append_new(mixes, mix_json(&w->of.profile.mix[i]));
	for (uint32_t i = 0; i < w->of.tree.n_leaf; i++) {
		const struct skel_node *leaf = w->block[i].leaf;

		json_array_append_new(blocks, json_pack("{s:i, s:s, s:s, s:f, s:i}", "leaf", (int)leaf->leaf_id, "call",
							trace_fn[leaf->fn].name, "where",
							where(w, leaf, place, sizeof(place)), "seconds",
							w->block[i].ns * 1e-9, "mix",
							(int)w->of.profile.of_leaf[leaf->leaf_id]));
	}
	root = json_pack("{s:s, s:i, s:s, s:{s:f, s:f, s:f}, s:f, s:f, s:o, s:o}", "trace", path, "pieces", (int)w->of.pieces.n, "source", w->of.profile.source, "bytes", "l2",
			 w->of.profile.bytes[PROFILE_L2], "l3", w->of.profile.bytes[PROFILE_L3], "memory",
			 w->of.profile.bytes[PROFILE_MEM], "vector_bits", w->of.profile.vector_bits,
			 "row", w->of.profile.row, "mixes", mixes, "blocks", blocks);
	return cli_print_json(root);
}

int info_print_mix(const struct trace *t, const char *path, bool all, bool json)
{
	struct work w = {.t = t};
	struct errbuf err;
	int rc = 0;

	if (prepare(&w, &err) < 0)
		rc = cli_fail("%s: %s", path, err.text);
	else if (json)
		rc = print_json(&w, path);
	else
		print_text(&w, path, all);
	free_work(&w);
	return rc;
}
