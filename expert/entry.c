/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the structures: see entry.h. */
#include <stdlib.h>
#include <string.h>

#include "expert/engine_impl.h"

#define SLAB_BYTES (256u << 10)

int entry_pool_refill(struct engine *e, uint32_t type)
{
	struct type_pool *pool = &e->pool[type];
	size_t size = entry_size(&e->p->type[type]), n = SLAB_BYTES / size ? SLAB_BYTES / size : 1;
	char *slab;

	if (e->n_slab == e->cap_slab) {
		uint32_t cap = e->cap_slab ? 2 * e->cap_slab : 16;
		void **s = realloc(e->slab, cap * sizeof(*s));

		if (!s)
			return err_set(e->err, "no memory for what the rules remember");
		e->slab = s;
		e->cap_slab = cap;
	}
	slab = malloc(n * size);
	if (!slab)
		return err_set(e->err, "no memory for what the rules remember");
	e->slab[e->n_slab++] = slab;
	for (size_t i = n; i-- > 0;) {
		struct entry *x = (struct entry *)(slab + i * size);

		x->also = pool->free;
		pool->free = x;
	}
	return 0;
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
		for (uint32_t i = 0; i < x->n_member; i++)
			entry_release(e, x->member[i]);
		if (x->member != x->member_in)
			free(x->member);
		x->also = e->pool[x->type].free;
		e->pool[x->type].free = x;
	}
}

/* Those that are not too deep themselves: what states are made of must not grow without an end. */
int entry_add_members(struct engine *e, struct entry *x, struct entry *const *member, uint32_t n)
{
	x->member = x->member_in;
	if (n > 2) {
		x->member = malloc(n * sizeof(*x->member));
		if (!x->member) {
			x->member = x->member_in;
			return err_set(e->err, "no memory for what the rules remember");
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (member[i]->depth + 1 >= ENTRY_DEPTH)
			continue;
		if (member[i]->depth >= x->depth)
			x->depth = member[i]->depth + 1;
		member[i]->refs++;
		x->member[x->n_member++] = member[i];
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
