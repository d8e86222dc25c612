/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the program's own functions: see own.h. */
#include "spank/tracer/own.h"

#include <string.h>

#include "spank/tracer/handles.h"
#include "spank/tracer/record.h"
#include "trace/functions.h"

static int64_t own_index(const char *name, int *slow)
{
	int32_t i = hmap_get(&handles.op, (uint64_t)(uintptr_t)name + 1);

	if (__builtin_expect(i >= 0, 1))
		return i;
	*slow = 1;
	return own_define(name);
}

void own_call(const struct own_call *o)
{
	uint16_t fn = o->is_return ? FN_Precedent_return : FN_Precedent_call;
	struct rec_call c;
	int64_t *v;

	if (o->version != OWN_VERSION || o->n > OWN_VALUES_MAX || !rec_enter(&c, o->ra, o->cfa))
		return;
	rec_start(&c, (struct rec_inside){SPILL_CALL(fn, 0), 0, REC_PEERS(0, 0), 0});
	if (!rec_leave(&c, true))
		return;
	v = c.self->v;
	v[0] = own_index(o->name, &c.slow);
	v[1] = (int64_t)o->n;
	memcpy(v + 2, o->value, o->n * sizeof(*v));
	rec_event(&c, fn, (uint32_t)o->n + 2);
}
