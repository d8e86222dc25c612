/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See open_receives.h. */
#include "skelgen/pieces/open_receives.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"

#define COMPARED 64 /* envelopes of later receives are not compared: their order counts as a whole */

int open_receives_add(struct open_receives *o, const struct open_receive *r)
{
	open_receives_remove(o, r->slot);
	if (ARRAY_ROOM(o->at, o->cap, o->n + 1) != 0)
		return -1;
	o->at[o->n++] = *r;
	o->changed = true;
	return 0;
}

bool open_receives_remove(struct open_receives *o, int64_t slot)
{
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->at[i].slot != slot)
			continue;
		o->changed = true;
		memmove(o->at + i, o->at + i + 1, (--o->n - i) * sizeof *o->at);
		return true;
	}
	return false;
}

uint64_t open_receives_state(struct open_receives *o)
{
	uint64_t sum = 0;

	if (!o->changed)
		return o->state;
	for (uint32_t i = 0; i < o->n; i++) {
		uint64_t w[2] = {o->at[i].call, i < COMPARED ? 0 : i};

		for (uint32_t j = 0; j < i && i < COMPARED; j++)
			w[1] += o->at[j].envelope == o->at[i].envelope;
		sum += XXH3_64bits(w, sizeof w) | 1;
	}
	o->state = sum;
	o->changed = false;
	return sum;
}

void open_receives_free(struct open_receives *o)
{
	free(o->at);
	*o = (struct open_receives){0};
}
