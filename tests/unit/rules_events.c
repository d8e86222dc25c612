/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rules_events.h. */
#include "tests/unit/rules_events.h"

#include <stdlib.h>
#include <string.h>

static void put(struct rules_log *g, int64_t v)
{
	g->n = realloc(g->n, (g->count + 1) * sizeof(*g->n));
	g->n[g->count++] = v;
}

static int simple(void *arg, uint32_t type, const union rules_value *v)
{
	(void)type;
	put(arg, v[RA_RANK].i);
	put(arg, v[RA_EVENT].i);
	return 0;
}

int rules_log_found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	put(arg, f->rule_number);
	put(arg, f->untimed);
	for (uint32_t i = 0; i < f->action->src->n_set; i++) {
		union rules_value v;

		if (!engine_finding_value(e, f, i, &v))
			return err_set(err, "no memory");
		if (f->type->param[f->action->src->set[i].slot - RA_N].type != RT_STRING)
			put(arg, v.i);
	}
	return engine_finding_events(e, f, simple, arg);
}

/* ---- events ---- */

static uint32_t draw(struct rules_events *d, uint32_t n)
{
	d->seed = d->seed * 1103515245u + 12345u;
	return (d->seed >> 12) % n;
}

static int64_t draw_param(struct rules_events *d, const struct rules_param *p)
{
	static const char *const sizes[] = {"size", "peers", "wait_count", "hosts", "ranks_on_host", "ranks_on_set"};

	if (p->type == RT_TIME)
		return (int64_t)d->now + draw(d, 60) - 10;
	if (p->type == RT_BOOLEAN)
		return draw(d, 2);
	if (p->type == RT_STRING)
		return 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (!strcmp(p->name, sizes[i]))
			return 1 + draw(d, 3);
	if (!strcmp(p->name, "bytes"))
		return draw(d, 5000);
	if (!strcmp(p->name, "tag"))
		return (int64_t)draw(d, 4) - 1;
	return draw(d, 3);
}

uint32_t rules_event(struct rules_events *d, struct engine_simple *s, union rules_value *v)
{
	const struct rules *r = d->rules;
	const struct rules_struct *t;

	do {
		uint32_t k = draw(d, 8);

		t = k < 2 ? rules_find(r, SEND) : k < 4 ? rules_find(r, RECV) : r->type[draw(d, r->n_type)];
	} while (!t->builtin || t->category != SC_EVENT);
	d->now += draw(d, 20);
	*s = (struct engine_simple){.start_ns = d->now, .finish_ns = d->now + draw(d, 50), .rank = draw(d, 3),
				    .site = (int64_t)draw(d, 3) - 1, .event = draw(d, 1000000), .untimed = draw(d, 30) == 0};
	for (uint32_t i = 0; i < t->n_param; i++)
		v[i].i = draw_param(d, &t->param[i]);
	return t->id;
}
