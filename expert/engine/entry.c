/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the structures: see entry.h. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/engine/engine_impl.h"

#define SLAB_BYTES (256u << 10)

int entry_pool_refill(struct engine *e, uint32_t type)
{
	const struct plan_type *t = &e->p->type[type];
	struct type_pool *pool = &e->pool[type];
	size_t size = t->n_line * (size_t)ENTRY_LINE, n = SLAB_BYTES / size ? SLAB_BYTES / size : 1;
	char *slab;

	if (ARRAY_ROOM(e->slab, e->cap_slab, e->n_slab + 1) != 0)
		return err_set(e->err, "no memory for what the rules remember");
	slab = aligned_alloc(ENTRY_LINE, n * size);
	if (!slab)
		return err_set(e->err, "no memory for what the rules remember");
	e->slab[e->n_slab++] = slab;
	for (size_t i = n; i-- > 0;) {
		struct entry *x = (struct entry *)(slab + i * size);

		for (uint32_t k = 0; k < t->n_link; k++)
			entry_link(x, t->n_slot + k * LINK_VALUES)->bucket = NULL; /* and is again when it goes */
		x->also = pool->free;
		pool->free = x;
	}
	return 0;
}

static void let_members_go(struct engine *e, struct entry *x)
{
	struct entry *const *member = entry_member(x);

	for (uint32_t i = 0; i < x->n_member; i++)
		entry_release(e, member[i]);
	if (x->n_member > 2)
		free(x->member.many);
}

void entry_bury_all(struct engine *e)
{
	while (e->grave) {
		struct entry *x = e->grave;

		e->grave = x->also;
		if (x->refs) { /* a later action of the rule that let it go holds it again */
			x->buried = false;
			continue;
		}
		if (x->n_member)
			let_members_go(e, x);
		x->also = e->pool[x->type].free;
		e->pool[x->type].free = x;
	}
}

/* Adds the members that are not too deep. The limit keeps the members of states from growing without an end. */
int entry_add_members(struct engine *e, struct entry *x, struct entry *const *member, uint32_t n)
{
	struct entry **m = x->member.in;
	uint32_t kept = 0;

	if (n > 2) {
		m = malloc(n * sizeof(*m));
		if (!m)
			return err_set(e->err, "no memory for what the rules remember");
	}
	for (uint32_t i = 0; i < n; i++) {
		if (member[i]->depth + 1 >= ENTRY_DEPTH)
			continue;
		if (member[i]->depth >= x->depth)
			x->depth = member[i]->depth + 1;
		member[i]->refs++;
		m[kept++] = member[i];
	}
	x->n_member = kept;
	if (kept > 2) {
		x->member.many = m;
	} else if (n > 2) {
		memcpy(x->member.in, m, kept * sizeof(*m));
		free(m);
	}
	return 0;
}

void entry_pools_free(struct engine *e)
{
	for (uint32_t i = 0; i < e->n_slab; i++)
		free(e->slab[i]);
	free(e->slab);
	free(e->pool);
}
