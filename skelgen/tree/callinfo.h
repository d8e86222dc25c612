/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to single parameters of recorded calls, and global numbers of communicators, datatypes, windows and files.
 * Each rank numbers its objects locally. The same object has the same global number on every rank. Two windows of
 * one communicator may share a global number if their lifetimes do not overlap. The same holds for files.
 */
#ifndef PRECEDENT_SKELGEN_TREE_CALLINFO_H
#define PRECEDENT_SKELGEN_TREE_CALLINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/tree/tree.h"
#include "trace/functions.h"

/* The nth scalar parameter of that kind, or `missing`. */
int64_t call_scalar(const struct trace_defs *d, uint32_t sym, uint8_t kind, uint32_t nth, int64_t missing);
/* The nth array parameter of that kind; NULL with *n = 0 when there is none (or it is empty). */
const int64_t *call_array(const struct trace_defs *d, uint32_t sym, uint8_t kind, uint32_t nth, uint32_t *n);
/* The scalar parameter of that name, or `missing`. */
int64_t call_named(const struct trace_defs *d, uint32_t sym, const char *name, int64_t missing);
static inline const char *call_name(const struct trace_defs *d, uint32_t sym)
{
	return trace_fn[d->sigs.sig[sym].fn].name;
}

/* Does this call on a file wait for the other processes that opened it? */
bool call_file_waits(const char *name);

struct skel_globals {
	uint32_t n_ranks;
	/* Of each rank: global numbers by local number. */
	uint32_t **comm, **type, **win, **file;
	uint32_t n_comm, n_type, n_win, n_file;
	/* A rank that knows it, and its local number there. */
	struct skel_global_def {
		uint32_t rank, local;
	} *comm_def, *type_def;
};

int skel_globals_build(const struct skel_tree *tree, struct skel_globals *out, struct errbuf *err);
void skel_globals_free(struct skel_globals *g);
const struct trace_comm *skel_global_comm(const struct skel_tree *t, const struct skel_globals *g, uint32_t id);
const struct trace_type *skel_global_type(const struct skel_tree *t, const struct skel_globals *g, uint32_t id);

static inline const struct trace_defs *skel_defs(const struct skel_tree *t, uint32_t rank)
{
	return &trace_get_rank(t->trace, rank)->defs;
}

#endif
