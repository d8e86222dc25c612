/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a rank's samples to its blocks: see blocks.h. */
#include "skelgen/profile/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "skelgen/profile/cost_model.h"
#include "skelgen/profile/off_cpu.h"
#include "skelgen/profile/memset_copy.h"
#include "skelgen/timing/timed_walk.h"
#include "trace/read/samples_read.h"

#define LENDERS   16 /* ranks whose pages hold the machine code of all */
#define GROUP_MIN 8 /* samples of a block in a body, for a model of the block alone */
#define NOWHERE   UINT32_MAX
#define NAP_NS    50000.0 /* an unsuccessful test takes a microsecond, and 50 us or more if a sleep follows */

enum module_kind { MODULE_PROGRAM, MODULE_LIBC, MODULE_BLOCKED, MODULE_LIBM, MODULE_MPI };

/* A loop or piece of code with samples, and the classes of its time over all samples of the rank. */
struct body {
	uint32_t module;
	uint64_t first, last;
	struct loop_body *code; /* NULL: it could not be decoded */
	struct cost_model_result use;
	struct cost_model_branches branches;
};

struct sorted {
	uint32_t leaf, body, sample;
};

/* Samples of the first ranks, for their machine code. Read at the first need. */
struct lenders {
	struct trace_samples s[LENDERS];
	bool asked[LENDERS];
};

struct rank_work {
	struct lenders *lenders;
	const struct skel_tree *tree;
	uint32_t rank;
	struct trace_samples s;
	uint8_t *module_kind;
	uint32_t *leaf;       /* of each sample; NOWHERE: not in a block */
	uint32_t *body_of;    /* by place; NOWHERE: of no block */
	struct body *body;
	uint32_t n_body;
	struct sorted *sorted; /* by leaf and body */
	struct sorted *by_body;
	uint32_t n_sorted;
	struct loop_sample *hit;
	uint64_t cache[TSAMPLE_LEVELS];
	struct loop_body *scratch;
};

/* ---- modules ---- */

static bool begins_with_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

static enum module_kind kind_of_module(const char *path)
{
	static const char *const mpi[] = {"libmpi", "libmpich", "mca_", "libopen-pal", "libopen-rte", "libpmix", "libpmi",
					  "libevent", "libuc", "libfabric", "libpsm", "libibverbs", "libmlx", "libefa",
					  "libprecedent_trace", "libhwloc", "libgomp", "libomp.", "libiomp", NULL};
	static const char *const libm[] = {"libm.", "libm-", "libmvec", "libimf", "libsvml", "libamdlibm", "libalm.", NULL};
	static const char *const libc[] = {"libc.", "libc-", "ld-musl", NULL};
	static const char *const blocked[] = {"libopenblas", "libblis", "libmkl", "libatlas", "libflexiblas", NULL};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (begins_with_one_of(name, mpi))
		return MODULE_MPI;
	if (begins_with_one_of(name, libm))
		return MODULE_LIBM;
	if (begins_with_one_of(name, libc))
		return MODULE_LIBC;
	return begins_with_one_of(name, blocked) ? MODULE_BLOCKED : MODULE_PROGRAM;
}

/* ---- bodies ---- */

static struct loop_body *keep(const struct loop_body *b)
{
	size_t size = offsetof(struct loop_body, op) + b->n * sizeof(b->op[0]);
	struct loop_body *copy = malloc(size);

	if (copy)
		memcpy(copy, b, size);
	return copy;
}

/* A module of this rank as another rank numbers it. */
static uint32_t module_at(const struct rank_work *w, uint32_t module, uint32_t rank)
{
	const struct trace_module *here = &trace_get_rank(w->tree->trace, w->rank)->defs.module[module];
	const struct trace_defs *d = &trace_get_rank(w->tree->trace, rank)->defs;

	for (uint32_t i = 0; i < d->n_module; i++)
		if (!strcmp(d->module[i].path, here->path) && !strcmp(d->module[i].build_id, here->build_id))
			return i;
	return NOWHERE;
}

/* By the machine code in this rank's page of samples, or in the page of a lender. */
static bool find_body(struct rank_work *w, const struct trace_place *p)
{
	uint32_t lender = w->rank % LENDERS, module;
	struct errbuf why;

	if (loop_body_find(&w->s, p->module, p->offset, w->scratch) == 0)
		return true;
	if (lender == w->rank)
		return false;
	if (!w->lenders->asked[lender]) {
		w->lenders->asked[lender] = true;
		trace_samples_read(w->tree->trace, lender, &w->lenders->s[lender], &why);
	}
	module = module_at(w, p->module, lender);
	return module != NOWHERE && loop_body_find(&w->lenders->s[lender], module, p->offset, w->scratch) == 0;
}

/* Places of the same loop are one body. A place that cannot be decoded is a body of its own. Places of no block are not
 * looked at: the samples of an excerpt lie at few places of the run. */
static int find_bodies(struct rank_work *w)
{
	w->body = calloc(w->s.n_place + 1u, sizeof(*w->body));
	w->body_of = malloc((w->s.n_place + 1u) * sizeof(*w->body_of));
	w->scratch = malloc(sizeof(*w->scratch));
	if (!w->body || !w->body_of || !w->scratch)
		return -1;
	for (uint32_t i = 0; i < w->s.n_place; i++)
		w->body_of[i] = NOWHERE;
	for (uint32_t i = 0; i < w->s.n; i++)
		if (w->leaf[i] != NOWHERE)
			w->body_of[w->s.sample[i].place] = 0;
	for (uint32_t i = 0; i < w->s.n_place; i++) {
		const struct trace_place *p = &w->s.place[i];
		struct body one = {.module = p->module, .first = p->offset, .last = p->offset};
		bool found;
		uint32_t k;

		if (w->body_of[i] == NOWHERE)
			continue;
		found = find_body(w, p);
		if (found) {
			one.first = w->scratch->op[0].offset;
			one.last = w->scratch->op[w->scratch->n - 1].offset;
		}
		for (k = w->n_body; k-- > 0;) /* the neighbours come first: places are in order */
			if (w->body[k].module == one.module && w->body[k].first == one.first && w->body[k].last == one.last)
				break;
		if (k == NOWHERE) {
			k = w->n_body++;
			one.code = found ? keep(w->scratch) : NULL;
			w->body[k] = one;
		}
		w->body_of[i] = k;
	}
	return 0;
}

/* ---- which block a sample lies in ---- */

/* Samples of the gap before this event. Samples inside the call belong to no block. */
static uint32_t place_samples(struct rank_work *w, uint32_t next, uint64_t event, uint32_t leaf)
{
	while (next < w->s.n && w->s.sample[next].event < event)
		next++;
	for (; next < w->s.n && w->s.sample[next].event == event; next++) {
		const struct trace_sample *s = &w->s.sample[next];

		if (!(s->flags & (TSAMPLE_IN_MPI | TSAMPLE_BORDER)) &&
		    w->module_kind[w->s.place[s->place].module] != MODULE_MPI)
			w->leaf[next] = leaf;
	}
	return next;
}

static int walk(struct rank_work *w, struct profile_blocks *out, struct off_cpu *sleep, struct errbuf *err)
{
	struct timed_walk t;
	uint64_t n = 0, enter, leave, gap, before = 0;
	const struct trace_proc *p = &trace_get_rank(w->tree->trace, w->rank)->defs.proc;
	bool naps = (double)p->poll_ticks * p->ns_per_tick > NAP_NS * (double)p->polls;
	uint32_t next = 0;
	int rv;

	if (timed_walk_begin(&t, w->tree, w->rank, true, err) != 0)
		return -1;
	while ((rv = timed_walk_next(&t, err)) == 1) {
		uint32_t leaf = t.leaf->leaf_id;

		next = place_samples(w, next, n++, leaf);
		if (!t.known)
			continue;
		own_iter_when(t.times, &enter, &leave, &gap);
		out->block[leaf].wall_ns += (double)t.ev.gap_ns;
		out->block[out->n_leaf].wall_ns += (double)t.ev.dur_ns;
		if (naps && !(own_iter_polled(t.times) > 0))
			off_cpu_drop(sleep, (double)before, (double)enter - (double)gap);
		off_cpu_add(sleep, leaf, (double)enter - (double)gap, (double)enter);
		off_cpu_add(sleep, out->n_leaf, (double)enter, (double)leave);
		before = leave;
	}
	timed_walk_end(&t);
	return rv;
}

/* ---- what they say ---- */

static int by_leaf_and_body(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	if (x->body != y->body)
		return x->body < y->body ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

static int by_body_alone(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->body != y->body)
		return x->body < y->body ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

static int model(struct rank_work *w, const struct body *b, const struct sorted *g, uint32_t n, struct cost_model_branches *branches,
		 struct cost_model_result *use)
{
	enum module_kind kind = w->module_kind[b->module];

	memset(use, 0, sizeof(*use));
	if (kind == MODULE_LIBM) {
		use->share[CLASS_LIBM] = 1;
		return 0;
	}
	if (!b->code)
		return 0; /* says nothing */
	for (uint32_t i = 0; i < n; i++) {
		const struct trace_sample *s = &w->s.sample[g[i].sample];

		w->hit[i] = (struct loop_sample){w->s.place[s->place].offset, s->reg};
	}
	switch (memset_copy(b->code, w->hit, n, w->cache, kind == MODULE_LIBC, use)) {
	case 0:
		break;
	case 1:
		return 0;
	default:
		return -1;
	}
	return cost_model(b->code, w->hit, n, w->cache, kind == MODULE_BLOCKED, branches, use);
}

static int model_bodies(struct rank_work *w)
{
	for (uint32_t i = 0, n; i < w->n_sorted; i += n) {
		struct body *b = &w->body[w->by_body[i].body];

		for (n = 1; i + n < w->n_sorted && w->by_body[i + n].body == w->by_body[i].body; n++)
			;
		b->branches.often = calloc(b->code ? b->code->n : 1, sizeof(*b->branches.often));
		if (!b->branches.often || model(w, b, &w->by_body[i], n, &b->branches, &b->use) < 0)
			return -1;
	}
	return 0;
}

static double level_share(const double share[CLASS_N], int level)
{
	switch (level) {
	case PROFILE_L2:
		return share[CLASS_STREAM_L2] + share[CLASS_RANDOM_L2] + share[CLASS_FILL_L2] + share[CLASS_COPY_L2];
	case PROFILE_L3:
		return share[CLASS_STREAM_L3] + share[CLASS_RANDOM_L3] + share[CLASS_FILL_L3] + share[CLASS_COPY_L3];
	default:
		return share[CLASS_STREAM_MEM] + share[CLASS_RANDOM_MEM] + share[CLASS_STRIDE_MEM] +
		       share[CLASS_FILL_MEM] + share[CLASS_COPY_MEM];
	}
}

static void add_group(struct rank_work *w, struct profile_block *b, const struct sorted *g, uint32_t n, struct cost_model_result *use)
{
	double known = 0;

	for (int c = 0; c < CLASS_N; c++)
		known += use->share[c];
	for (uint32_t i = 0; i < n; i++) {
		const struct trace_sample *s = &w->s.sample[g[i].sample];

		b->busy_ns += (double)s->cpu_ns;
		if (!s->thread) {
			b->first++;
			b->first_ns += (double)s->cpu_ns;
			for (int c = 0; c < TCOUNTER_N; c++)
				b->counter[c] += (double)s->counter[c];
		}
	}
	if (known <= 0)
		return;
	b->n += n;
	for (int l = 0; l < PROFILE_LEVELS; l++) {
		double part = n * level_share(use->share, l);

		b->bytes[l] += use->bytes[l] > 0 ? part * use->bytes[l] : 0;
		b->level[l] += use->bytes[l] > 0 ? part : 0;
	}
	b->chain += n * use->share[CLASS_SCALAR_CHAIN];
	b->rows += use->row > 0 ? n * use->share[CLASS_SCALAR_CHAIN] / use->row : 0;
	b->vector += n * use->share[CLASS_VECTOR] * use->vector;
	b->vectors += use->vector > 0 ? n * use->share[CLASS_VECTOR] : 0;
	for (int c = 0; c < CLASS_N; c++)
		b->share[c] += n * use->share[c];
}

static int add_blocks(struct rank_work *w, struct profile_blocks *out)
{
	struct cost_model_result use;

	for (uint32_t i = 0, n; i < w->n_sorted; i += n) {
		const struct sorted *g = &w->sorted[i];
		struct body *b = &w->body[g->body];

		for (n = 1; i + n < w->n_sorted && g[n].body == g->body && g[n].leaf == g->leaf; n++)
			;
		use = b->use;
		if (n >= GROUP_MIN && model(w, b, g, n, b->branches.known ? &b->branches : NULL, &use) < 0)
			return -1;
		add_group(w, &out->block[g->leaf], g, n, &use);
	}
	return 0;
}

static int sort_samples(struct rank_work *w)
{
	w->sorted = calloc(w->s.n + 1u, sizeof(*w->sorted));
	w->by_body = calloc(w->s.n + 1u, sizeof(*w->by_body));
	w->hit = calloc(w->s.n + 1u, sizeof(*w->hit));
	if (!w->sorted || !w->by_body || !w->hit)
		return -1;
	for (uint32_t i = 0; i < w->s.n; i++)
		if (w->leaf[i] != NOWHERE)
			w->sorted[w->n_sorted++] = (struct sorted){w->leaf[i], w->body_of[w->s.sample[i].place], i};
	memcpy(w->by_body, w->sorted, w->n_sorted * sizeof(*w->sorted));
	if (w->n_sorted) {
		qsort(w->sorted, w->n_sorted, sizeof(*w->sorted), by_leaf_and_body);
		qsort(w->by_body, w->n_sorted, sizeof(*w->by_body), by_body_alone);
	}
	return 0;
}

/* ---- a rank ---- */

static void choose_caches(struct rank_work *w)
{
	static const uint64_t usual[TSAMPLE_LEVELS] = {32u << 10, 1u << 20, 32u << 20};

	for (int i = 0; i < TSAMPLE_LEVELS; i++)
		w->cache[i] = w->s.cache[i] ? w->s.cache[i] : usual[i];
}

static int work_begin(struct rank_work *w)
{
	const struct trace_defs *d = &trace_get_rank(w->tree->trace, w->rank)->defs;

	choose_caches(w);
	w->module_kind = malloc(d->n_module + 1u);
	w->leaf = malloc((w->s.n + 1u) * sizeof(*w->leaf));
	if (!w->module_kind || !w->leaf)
		return -1;
	for (uint32_t i = 0; i < d->n_module; i++)
		w->module_kind[i] = (uint8_t)kind_of_module(d->module[i].path);
	for (uint32_t i = 0; i < w->s.n; i++)
		w->leaf[i] = NOWHERE;
	return 0;
}

static void work_free(struct rank_work *w)
{
	for (uint32_t i = 0; w->body && i < w->n_body; i++) {
		free(w->body[i].code);
		free(w->body[i].branches.often);
	}
	free(w->body);
	free(w->body_of);
	free(w->module_kind);
	free(w->leaf);
	free(w->sorted);
	free(w->by_body);
	free(w->hit);
	free(w->scratch);
	trace_samples_free(&w->s);
}

static int rank_collect(const struct skel_tree *tree, uint32_t rank, struct lenders *lenders, struct profile_blocks *out, struct errbuf *err)
{
	struct rank_work w = {.tree = tree, .rank = rank, .lenders = lenders};
	double ns_per_tick = trace_get_rank(tree->trace, rank)->defs.proc.ns_per_tick, *asleep = NULL;
	struct off_cpu *sleep = NULL;
	struct errbuf why;
	int rv = -1;

	/* Damaged, they are like samples that were not taken. */
	if (trace_samples_read(tree->trace, rank, &w.s, &why) <= 0)
		return 0;
	asleep = calloc(out->n_leaf + 2u, sizeof(*asleep));
	sleep = off_cpu_create(&w.s, ns_per_tick, out->n_leaf);
	if (!sleep || !asleep || work_begin(&w) < 0) {
		err_set(err, "no memory for the samples of rank %u", rank);
		goto out;
	}
	if (walk(&w, out, sleep, err) < 0)
		goto out;
	if (find_bodies(&w) < 0 || sort_samples(&w) < 0 || model_bodies(&w) < 0 || add_blocks(&w, out) < 0) {
		err_set(err, "no memory for the samples of rank %u", rank);
		goto out;
	}
	off_cpu_share(sleep, asleep);
	for (uint32_t i = 0; i <= out->n_leaf; i++)
		out->block[i].asleep_ns += asleep[i];
	out->counters = out->n_ranks++ ? out->counters & w.s.counters : w.s.counters;
	rv = 0;
out:
	free(asleep);
	off_cpu_destroy(sleep);
	work_free(&w);
	return rv;
}

int profile_blocks_collect(const struct skel_tree *tree, struct profile_blocks *out, struct errbuf *err)
{
	struct lenders *lenders = calloc(1, sizeof(*lenders));
	int rv = -1;

	*out = (struct profile_blocks){.n_leaf = tree->n_leaf};
	out->block = calloc(tree->n_leaf + 2u, sizeof(*out->block));
	if (!lenders || !out->block) {
		err_set(err, "no memory for the blocks of %u calls", tree->n_leaf);
		goto out;
	}
	for (uint32_t r = 0; r < tree->n_ranks; r++)
		if (rank_collect(tree, r, lenders, out, err) < 0)
			goto out;
	rv = 0;
out:
	for (uint32_t i = 0; lenders && i < LENDERS; i++)
		trace_samples_free(&lenders->s[i]);
	free(lenders);
	if (rv < 0)
		profile_blocks_free(out);
	return rv;
}

void profile_blocks_free(struct profile_blocks *b)
{
	free(b->block);
	*b = (struct profile_blocks){0};
}
