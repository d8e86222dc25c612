/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See pipe.h. */
#include "expert/engine/pipe.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "expert/engine/channel.h"
#include "expert/engine/relay.h"

struct record {
	uint32_t type, n_param;
	struct engine_simple s;
	union rules_value v[];
};

struct pipe {
	struct engine *e;        /* of the caller: its rules, or those behind the relay */
	struct relay *relay;     /* NULL: the rules are not divided */
	struct engine *first;    /* that events come to: e, or the one before the relay */
	struct channel *feed;    /* to it; NULL: it is the caller's thread */
	bool failed;             /* in the caller's thread, ... */
	struct errbuf err;       /* ... and so */
};

/* -1 with the reason. */
static int look_at(void *arg, const char *data, size_t used, struct errbuf *err)
{
	for (size_t at = 0; at < used;) {
		const struct record *r = (const struct record *)(data + at);

		if (engine_event(arg, r->type, &r->s, r->v, err) < 0)
			return -1;
		at += sizeof(*r) + r->n_param * sizeof(*r->v);
	}
	return 0;
}

uint32_t pipe_threads(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 2;

	return n < 2 ? 1 : 3;
}

struct pipe *pipe_create(struct engine *e)
{
	struct pipe *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->e = e;
	p->relay = relay_create(e);
	p->first = p->relay ? relay_first(p->relay) : e;
	if (!p->relay || engine_threads(e) > 2)
		p->feed = channel_create(&(struct channel_use){.full = CHANNEL_BYTES, .threads = p->relay ? 3 : 2, .eat = look_at,
							       .arg = p->first});
	if (p->relay || p->feed)
		return p;
	free(p);
	return NULL;
}

int pipe_event(struct pipe *p, uint32_t type, const struct engine_simple *s, const union rules_value *param, struct errbuf *err)
{
	uint32_t n = engine_wants(p->first, type) ? engine_rules(p->first)->type[type]->n_param : 0;
	struct record *r;

	if (!p->feed) {
		if (engine_event(p->first, type, s, param, err) == 0)
			return 0;
		p->failed = true;
		p->err = *err;
		return -1;
	}
	r = channel_room(p->feed, sizeof(*r) + n * sizeof(*param));
	if (!r)
		return err_set(err, "no memory for what the rules look at");
	r->type = type;
	r->n_param = n;
	r->s = *s;
	memcpy(r->v, param, n * sizeof(*param));
	return channel_pass_on(p->feed, err);
}

int pipe_close(struct pipe *p, struct errbuf *err)
{
	int rv;

	if (!p)
		return 0;
	rv = channel_close(p->feed, &p->err) < 0 || p->failed ? -1 : 0;
	if (rv == 0)
		rv = engine_finish(p->first, &p->err);
	if (relay_close(p->relay, &p->err) < 0) /* of an earlier event */
		rv = -1;
	if (rv < 0)
		*err = p->err;
	free(p);
	return rv;
}
