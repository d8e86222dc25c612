/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of blocking receives in which the message was not sent yet: see timeline.h. */
#include <stdlib.h>

#include "common/array.h"
#include "trace/timeline/timeline_impl.h"

#define LATE_MAX (4u << 20) /* of all ranks, 24 bytes each */

struct timeline_lates {
	struct timeline_late *late;
	uint32_t n, cap;
};

void timeline_late_free(struct timeline *tl)
{
	for (uint32_t r = 0; tl->lates && r < tl->n_ranks; r++)
		free(tl->lates[r].late);
	free(tl->lates);
	tl->lates = NULL;
}

int timeline_late_add(struct timeline *tl, const struct trace_message *m, uint64_t sent_ns)
{
	enum trace_state state = timeline_state(&trace_get_rank(tl->t, m->dst)->defs, m->recv_sym);
	struct timeline_late own = {.state = (uint8_t)state};
	struct timeline_lates *k;

	if (m->post_event != m->recv_event || !m->timed || tl->n_late == LATE_MAX ||
	    (state != TSTATE_RECEIVING && state != TSTATE_SENDING)) /* other calls wait as a whole */
		return 0;
	own.t0_ns = timeline_of_local(tl, m->dst, m->recv_enter_ns);
	own.t1_ns = timeline_of_local(tl, m->dst, m->recv_ns);
	own.t1_ns = sent_ns < own.t1_ns ? sent_ns : own.t1_ns;
	if (own.t1_ns <= own.t0_ns)
		return 0;
	if (!tl->lates && !(tl->lates = calloc(tl->n_ranks, sizeof(*tl->lates))))
		return -1;
	k = &tl->lates[m->dst];
	if (ARRAY_ROOM(k->late, k->cap, k->n + 1) != 0)
		return -1;
	k->late[k->n++] = own;
	tl->n_late++;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct timeline_late *x = a, *y = b;

	return (x->t0_ns > y->t0_ns) - (x->t0_ns < y->t0_ns);
}

void timeline_late_sort(struct timeline *tl)
{
	for (uint32_t r = 0; tl->lates && r < tl->n_ranks; r++)
		if (tl->lates[r].n)
			qsort(tl->lates[r].late, tl->lates[r].n, sizeof(*tl->lates[r].late), by_begin);
}

const struct timeline_late *timeline_late(const struct timeline *tl, uint32_t rank, uint32_t *n)
{
	*n = tl->lates ? tl->lates[rank].n : 0;
	return *n ? tl->lates[rank].late : NULL;
}
