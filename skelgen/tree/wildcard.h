/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The message that a wildcard receive got. Blocking receives and probes record source and tag themselves. For a
 * nonblocking receive, the call that completed the receive records them. To find that call, the request slots are
 * followed through the run.
 */
#ifndef PRECEDENT_SKELGEN_TREE_WILDCARD_H
#define PRECEDENT_SKELGEN_TREE_WILDCARD_H

#include "common/errbuf.h"
#include "skelgen/tree/callinfo.h"
#include "skelgen/tree/tree.h"

/* Sources and tags of the executions of one leaf on one rank, as runs of equal ones. TRACE_ANY_SOURCE and
 * TRACE_ANY_TAG where nothing completed it. */
struct wildcard_runs {
	uint32_t n, cap;
	struct wildcard_run {
		uint64_t end;
		int64_t source, tag;
	} *run;
};

struct skel_wildcards {
	uint32_t n_leaf;
	struct wildcard_runs **leaf; /* by leaf_id; NULL: none; else by index of the rank */
	uint32_t *n_rank;            /* by leaf_id */
	uint64_t resolved, open;
};

int skel_wildcards_resolve(const struct skel_tree *tree, struct skel_wildcards *out, struct errbuf *err);
void skel_wildcards_free(struct skel_wildcards *w);

/* Source and tag that execution occ of a receive or probe, with this symbol, takes. w may be NULL. */
struct call_match {
	int64_t source, tag;
};
struct call_match skel_call_match(const struct skel_wildcards *w, const struct skel_node *leaf, uint32_t index,
				  uint64_t occ, const struct trace_defs *d, uint32_t sym);

/* Request slots that a call of class TC_WAIT completed, or a TC_START call started, in order. Borrowed. */
const int64_t *call_done_slots(const struct trace_defs *d, uint32_t sym, uint32_t *n);
const int64_t *call_request_slots(const struct trace_defs *d, uint32_t sym, uint32_t *n);

#endif
