/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The binary packs of the page, which data.js reads. uv and sv are those of common/buf.h; times are in ns.
 *
 * levels: rank by rank, step by step, four bytes: the shares of waiting, working, sending and receiving in 1/255. The
 * rest up to 255 is unknown time.
 *
 * spans: the spans of a window that begins at t0. Each rank with spans has uv rank, uv n, uv number of the first call
 * + 1 (0: not known), uv length of the rest, sv begin of the first span - t0. Each span has uv kind, uv time since the
 * span before (work), uv duration. Kind 0 is unknown time. Kinds 1 to 4 are the states (imported traces). Kinds from 5
 * on are calls: entry kind - 5 of "sigs". A kind that is as many higher as "sigs" has entries is such a call that begins
 * with waiting, and has a further uv: for how long.
 *
 * messages: each message has uv src, uv dst, sv sent - sent of the message before (the first: - t0), sv received -
 * sent, uv bytes, sv tag.
 *
 * marks: loop by loop, mark by mark: uv begin - end of the mark before (the first: - 0), uv duration.
 *
 * ranks: rank by rank, for each function of "fns": uv calls, uv ns in these calls.
 *
 * pairs: each pair with messages has uv src, uv dst (in blocks of 2^shift ranks), uv messages, uv bytes.
 */
#ifndef PRECEDENT_TRACE_VIEW_PACK_H
#define PRECEDENT_TRACE_VIEW_PACK_H

#include "trace/functions.h"
#include "trace/view/view.h"

#define VIEW_KIND_UNKNOWN 0
#define VIEW_KIND_STATE   1
#define VIEW_KIND_CALL    5

/* A place in the program: function and call site. */
struct view_place {
	uint16_t fn;           /* enum trace_fn */
	uint32_t site;         /* index in the dictionary's sites */
	uint64_t calls;
	double ns, max_ns;     /* total of all ranks; largest total of one rank */
	uint32_t max_rank;
};

struct view_rank_stat {
	uint64_t events, untimed;
	double mpi_ns;
};

struct view {
	const struct view_input *in;
	uint32_t n_ranks;
	uint64_t end_ns;
	/* dictionary */
	uint32_t **kind;         /* number of each rank's symbols */
	struct view_place *place;
	uint32_t n_place, n_site, n_sig, n_fn;
	uint32_t *sig_place;     /* of each entry of sigs */
	char **site_name;
	uint32_t fn_id[TRACE_FN_N]; /* index in "fns" + 1; 0: not called */
	struct buf sig_words;    /* texts of the sigs, each with a NUL */
	/* totals per rank and function: n_ranks x n_fn */
	uint64_t *fn_calls;
	double *fn_ns;
	struct view_rank_stat *rank;
	uint64_t events, untimed;
};

/* dict.c: numbers the signatures of all ranks. */
int view_dict_build(struct view *v, struct errbuf *err);
void view_dict_free(struct view *v);

/* late.c: waits of blocking receives for messages that are not sent yet. view_late_of: duration of the wait, which begins with
 * the call; 0: none. The others move that time from the state of the call to waiting. */
int view_late_build(struct view *v, struct errbuf *err);
uint64_t view_late_of(const struct view *v, const struct timeline_span *s);
void view_late_totals(const struct view *v, uint32_t rank, double seconds[TSTATE_N]);
void view_late_levels(const struct view *v, uint32_t rank, uint64_t t0, uint64_t t1, uint32_t n, float (*share)[TSTATE_N]);

/* stats.c: calls from the structure, times from the pages of times, in one pass. */
int view_stats_build(struct view *v, struct errbuf *err);
void view_stats_put_ranks(const struct view *v, struct buf *out);

/* spans.c: all calls from the start of the run until the budget is used up, in columns of equal duration. */
struct view_columns {
	uint32_t n;              /* columns of width_ns each, from 0 on */
	double width_ns;
	uint64_t end_ns;         /* end of the last column; the end of the run if all calls fit */
	uint64_t n_span;
	struct buf *column;      /* n packs of spans */
};
int view_columns_build(struct view *v, uint64_t budget, struct view_columns *c, struct errbuf *err);
void view_columns_free(struct view_columns *c);

/* exchange.c: messages until the budget is used up, and totals per pair of ranks. */
struct view_exchange {
	uint64_t n, bytes;       /* all messages */
	uint64_t n_kept, end_ns; /* the pack has all messages sent before end_ns */
	uint32_t shift;          /* of the pairs: blocks of 2^shift ranks */
	struct buf messages, pairs;
};
int view_exchange_build(struct view *v, uint64_t budget, struct view_exchange *x, struct errbuf *err);
void view_exchange_free(struct view_exchange *x);

/* loops.c: the marks of loops on the time line. */
int view_marks_build(struct view *v, struct buf *out, struct errbuf *err);

/* Steps of the whole run that the page has for each rank. */
uint32_t view_steps(const struct view *v);

static inline void view_progress(const struct view *v, const char *what, double done, double total)
{
	if (v->in->progress)
		v->in->progress(what, done, total);
}

#endif
