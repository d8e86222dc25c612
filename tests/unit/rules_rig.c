/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rules_rig.h. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/rules_rig.h"

static void put(struct rig *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct rig *g, const char *fmt, ...)
{
	char text[8192];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	g->log = realloc(g->log, g->len + (size_t)n + 1);
	memcpy(g->log + g->len, text, (size_t)n + 1);
	g->len += (size_t)n;
}

static int found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	struct rig *g = arg;

	g->found++;
	if (!g->quiet)
		put(g, "%s%s", f->type->name, f->untimed ? " untimed" : "");
	for (uint32_t i = 0; i < f->action->src->n_set; i++) {
		const struct rules_set *s = &f->action->src->set[i];
		uint8_t type = f->type->param[s->slot - RA_N].type;
		union rules_value v;

		if (!engine_finding_value(e, f, i, &v))
			return err_set(err, "no memory");
		if (!strcmp(s->name, "duration") || !strcmp(s->name, "impact_time"))
			g->sum += (uint64_t)v.i;
		if (g->quiet || !strcmp(s->name, "description") || !strcmp(s->name, "advice"))
			continue;
		if (type == RT_STRING)
			put(g, " %s=%s", s->name, engine_text(e, v.i));
		else if (type == RT_DOUBLE)
			put(g, " %s=%g", s->name, v.d);
		else
			put(g, " %s=%" PRId64, s->name, v.i);
	}
	if (!g->quiet)
		put(g, "\n");
	return 0;
}

void rig_open(struct rig *g, const char *rules, const struct engine_options *o)
{
	struct engine_options own = o ? *o : (struct engine_options){0};

	*g = (struct rig){.rules = NULL};
	own.found = found;
	own.arg = g;
	g->rules = *rules == '@' ? rules_load(rules + 1, &g->err) : rules_load_text("t", rules, strlen(rules), &g->err);
	if (!g->rules)
		fail_msg("%s", g->err.text);
	g->plan = plan_create(g->rules, &g->err);
	assert_non_null(g->plan);
	g->engine = engine_create(g->plan, &own, &g->err);
	assert_non_null(g->engine);
	put(g, "%s", "");
}

void rig_close(struct rig *g)
{
	engine_destroy(g->engine);
	plan_destroy(g->plan);
	rules_free(g->rules);
	free(g->log);
}

int rig_event(struct rig *g, const char *type, uint32_t rank, uint64_t start, uint64_t duration, ...)
{
	const struct rules_struct *t = rules_find(g->rules, type);
	union rules_value v[RULES_MAX_PARAMS] = {{0}};
	struct engine_simple s = {.start_ns = start, .finish_ns = start + duration, .rank = rank, .site = -1, .event = -1,
				  .function = engine_string(g->engine, type)};
	const char *name;
	va_list ap;

	assert_non_null(t);
	va_start(ap, duration);
	while ((name = va_arg(ap, const char *))) {
		int slot = rules_slot(t, name), value = va_arg(ap, int);

		if (!strcmp(name, "untimed"))
			s.untimed = true;
		else if (slot < 0)
			fail_msg("%s has no %s", type, name);
		else
			v[slot - RA_N].i = value;
	}
	va_end(ap);
	return engine_event(g->engine, t->id, &s, v, &g->err);
}

static void must(struct rig *g, int rv)
{
	if (rv < 0)
		fail_msg("%s", g->err.text);
}

void rig_send(struct rig *g, uint32_t rank, uint64_t start, uint64_t duration, int dest, int tag, int comm)
{
	must(g, rig_event(g, "function_call_send_operation", rank, start, duration, "source", (int)rank, "dest", dest, "tag", tag,
			  "comm", comm, "is_blocking", 1, "wait_event", (int)start, "wait_count", 1, "wait_start_time", (int)start, "wait_finish_time",
			  (int)(start + duration), NULL));
}

void rig_recv(struct rig *g, uint32_t rank, uint64_t start, uint64_t duration, int source, int tag, int comm)
{
	must(g, rig_event(g, "function_call_receive_operation", rank, start, duration, "source", source, "dest", (int)rank, "tag",
			  tag, "comm", comm, "is_blocking", 1, "wait_event", (int)start, "wait_count", 1, "wait_start_time", (int)start, "wait_finish_time",
			  (int)(start + duration), NULL));
}

void rig_collective(struct rig *g, const char *type, uint32_t rank, uint64_t start, uint64_t finish, int instance, int size,
		    int root)
{
	must(g, rig_event(g, type, rank, start, finish - start, "comm", 0, "instance", instance, "size", size, "root", root,
			  "is_root", (int)rank == root, "is_blocking", 1, "wait_start_time", (int)start, "wait_finish_time",
			  (int)finish, NULL));
}

const char *rig_log(struct rig *g)
{
	g->len = 0;
	return g->log;
}
