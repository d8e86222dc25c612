/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of ranks that many ranks of a trace define alike, held once. Each of n ranks lists the n ranks of
 * MPI_COMM_WORLD: 67 MB at 4,096 ranks.
 */
#ifndef PRECEDENT_TRACE_SHARED_GROUPS_H
#define PRECEDENT_TRACE_SHARED_GROUPS_H

#include <stdint.h>

#include "common/hash_table.h"
#include "trace/format/defs.h"

struct shared_groups {
	struct trace_group *group;
	uint32_t n, cap;
	struct hash_table known;
};

/* Replace the list of the group by the shared one, and free its own. If memory runs out, the group keeps its own. */
void shared_groups_take(struct shared_groups *s, struct trace_group *g);
/* No group that was taken may be used later. */
void shared_groups_free(struct shared_groups *s);

#endif
